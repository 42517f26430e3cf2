/*-------------------------------------------------------------------------
 *
 * json_entries.c
 *	  Copying consecutive entries from one JsonbContainer to another.
 *
 * Both directions between the flat form and the stored form of a document
 * consist of this.  jsonb keeps lengths in its entries, but every 32nd holds
 * where it ends; and it aligns numerics and containers.  So entries change a
 * little when they move to another number or to another alignment, while
 * almost all of their data can be copied as it is.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "json_form.h"

/*
 * Copy count entries, from number `from` of source to number `to` of target;
 * the ends of the entries before them are in *source_end and *target_end,
 * which move on.
 */
void
entries_copy(EntryTarget *target, uint32 to, uint64 *target_end,
			 const JEntry *source, uint32 from, uint64 *source_end,
			 uint32 count)
{
	uint64		shift = *target_end - *source_end;
	uint64		end = *source_end;

	while (count > 0)
	{
		uint32		room = JB_OFFSET_STRIDE - from % JB_OFFSET_STRIDE;

		if (target->offsets)
			room = Min(room, JB_OFFSET_STRIDE - to % JB_OFFSET_STRIDE);
		if (from % JB_OFFSET_STRIDE == 0 ||
			(target->offsets && to % JB_OFFSET_STRIDE == 0))
		{
			JEntry		entry = source[from];
			uint64		start = end;

			end = JBE_HAS_OFF(entry) ? JBE_OFFLENFLD(entry) :
				start + JBE_OFFLENFLD(entry);
			target->entries[to] =
				entry_make(target->offsets, to, entry & JENTRY_TYPEMASK,
						   (end - start) & JENTRY_OFFLENMASK,
						   (end + shift) & JENTRY_OFFLENMASK);
			room = 1;
		}
		else
		{
			uint64		sum = 0;

			room = Min(room, count);
			for (uint32 i = 0; i < room; i++)
			{
				JEntry		entry = source[from + i];

				target->entries[to + i] = entry & ~JENTRY_HAS_OFF;
				sum += JBE_OFFLENFLD(entry);
			}
			end += sum;
		}
		from += room;
		to += room;
		count -= room;
	}
	*target_end = end + shift;
	*source_end = end;
}

/* Bytes of count entries that hold lengths, from number `from` on. */
uint32
entries_sum(const JEntry *entries, uint32 from, uint32 count)
{
	uint32		sum = 0;

	for (uint32 i = from; i < from + count; i++)
		sum += JBE_OFFLENFLD(entries[i]);
	return sum;
}

/* Copy the data of the entries up to *source_end; false without room. */
static bool
copy_data(EntryTarget *target, uint64 target_end, const EntrySource *source,
		  uint32 start, uint64 source_end)
{
	if (source_end < start || source_end > source->size ||
		target_end > target->size)
		return false;
	memcpy(target->data + target->end, source->data + start,
		   source_end - start);
	target->end = target_end;
	return true;
}

/* Copy one aligned value, whose alignment changes. */
static bool
copy_aligned(EntryTarget *target, uint32 to, const EntrySource *source,
			 uint32 from, uint64 *start)
{
	EntryCursor cursor = {source->entries, from, *start};
	uint32		at;
	uint32		length;
	uint32		type = entry_next(&cursor, &at, &length);
	uint32		pad = FORM_ALIGN(at) - at;
	uint32		aligned = FORM_ALIGN(target->end);
	uint32		before = target->end;

	if (cursor.end < at || cursor.end > source->size || length < pad ||
		(uint64) aligned + (length - pad) > target->size)
		return false;
	memset(target->data + target->end, 0, aligned - target->end);
	memcpy(target->data + aligned, source->data + at + pad, length - pad);
	target->end = aligned + (length - pad);
	target->entries[to] = entry_make(target->offsets, to, type,
									 target->end - before, target->end);
	*start = cursor.end;
	return true;
}

/*
 * Append count values, from number `from` of source on, where *start is the
 * end of the one before, to the target, as number `to` and on.  Returns false
 * when they take more space than there is; the entries are written then.
 */
bool
values_copy(EntryTarget *target, uint32 to, const EntrySource *source,
			uint32 from, uint64 *start, uint32 count)
{
	uint64		target_end = target->end;
	uint64		end = *start;
	uint32		free = 0;		/* values before the first aligned one */

	if ((target->end - *start) % sizeof(uint32) == 0)
		free = count;
	while (free < count &&
		   !entry_is_aligned(source->entries[from + free] & JENTRY_TYPEMASK))
		free++;
	entries_copy(target, to, &target_end, source->entries, from, &end, free);
	if (!copy_data(target, target_end, source, *start, end))
		return false;
	*start = end;
	if (free == count)
		return true;
	return copy_aligned(target, to + free, source, from + free, start) &&
		values_copy(target, to + free + 1, source, from + free + 1, start,
					count - free - 1);
}
