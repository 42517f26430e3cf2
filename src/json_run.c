/*-------------------------------------------------------------------------
 *
 * json_run.c
 *	  The members of a run, or of a plain container, as a list.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "json_head.h"
#include "json_run.h"

/* Set a member's value to that of an entry, whose data end at end. */
static void
load_value(Document *document, const Run *run, const char *data,
		   EntryCursor *cursor, uint32 size, RunMember *member)
{
	uint32		start;
	uint32		length;
	uint32		pad = 0;
	bool		plain = run->node.container &&
		(run->word & FORM_SPECIAL) == 0;

	if (!plain && JBE_HAS_OFF(cursor->entries[cursor->index]))
		json_raise_damaged(document, "Entry of a run has an offset");
	member->type = entry_next(cursor, &start, &length);
	if (entry_is_aligned(member->type))
		pad = FORM_ALIGN(start) - start;
	if (cursor->end < start || cursor->end > size || length < pad ||
		member->type > JENTRY_ISCONTAINER)
		json_raise_damaged(document,
						   "Value reaches past the end of the head");
	member->value = data + start + pad;
	member->size = length - pad;
	member->stub = NULL;
	if (member->type != JENTRY_ISCONTAINER)
		return;
	if (member->size < sizeof(uint32))
		json_raise_damaged(document, "Container has a wrong size");
	if ((*(const uint32 *) member->value & FORM_SPECIAL) == 0)
		return;
	member->stub = (const JsonStub *) member->value;
	if (plain || member->size != sizeof(JsonStub))
		json_raise_damaged(document, "Long member is malformed");
}

/* Load a run or a plain container. */
void
json_run_load(Document *document, const EditNode *node, Run *run)
{
	uint32		size = node->head_size;
	uint32		left = node->stored_size - node->head_size;
	const char *data;
	EntryCursor keys;
	EntryCursor values;
	uint64		header;

	run->node = *node;
	run->head = MemoryContextAllocHuge(CurrentMemoryContext, size);
	document_read(document, node->offset, size, run->head);
	run->word = *(const uint32 *) run->head;
	run->count = run->word & JB_CMASK;
	header = sizeof(uint32) +
		(uint64) form_entries(run->word) * sizeof(JEntry);
	if (header > size)
		json_raise_damaged(document, "Run is too short");
	data = run->head + header;
	size -= header;
	run->members = MemoryContextAllocHuge(CurrentMemoryContext,
										  (run->count + 1) * sizeof(RunMember));
	keys.entries = (const JEntry *) (run->head + sizeof(uint32));
	keys.index = keys.end = 0;
	for (uint32 i = 0; i < run->count; i++)
	{
		RunMember  *member = &run->members[i];
		uint32		start;

		memset(member, 0, sizeof(RunMember));
		member->old = i;
		if (!node->object)
			continue;
		(void) entry_next(&keys, &start, &member->key_size);
		if (keys.end < start || keys.end > size)
			json_raise_damaged(document,
							   "Key reaches past the end of the head");
		member->key = data + start;
	}
	values = keys;
	for (uint32 i = 0; i < run->count; i++)
	{
		RunMember  *member = &run->members[i];

		load_value(document, run, data, &values, size, member);
		if (member->stub == NULL)
			continue;
		if (member->stub->stored_size > left ||
			member->stub->flat_size > JENTRY_OFFLENMASK)
			json_raise_damaged(document,
							   "Long member reaches past the end of its run");
		left -= member->stub->stored_size;
	}
	if (left != 0)
		json_raise_damaged(document, "Long members do not add up");
}

/* Bytes of the head of a run with those members, without padding. */
uint64
json_run_size(bool object, const RunMember *members, uint32 count)
{
	uint64		size = 0;

	for (uint32 i = 0; object && i < count; i++)
		size += members[i].key_size;
	for (uint32 i = 0; i < count; i++)
	{
		if (entry_is_aligned(members[i].type))
			size = (size + 3) & ~(uint64) 3;
		size += members[i].size;
	}
	return sizeof(uint32) + (uint64) count * (object ? 2 : 1) *
		sizeof(JEntry) + size;
}

/* Describe a run of those members. */
void
json_run_measure(bool object, const RunMember *members, uint32 count,
				 Part *part)
{
	memset(part, 0, sizeof(Part));
	part->count = count;
	part->head_size = FORM_ALIGN(json_run_size(object, members, count));
	part->stored_size = part->head_size;
	for (uint32 i = 0; i < count; i++)
	{
		const RunMember *member = &members[i];
		const JsonStub *stub = member->stub;

		part->keys_size += member->key_size;
		if (stub == NULL)
			span_add(&part->span, entry_is_aligned(member->type),
					 member->size);
		else
		{
			part->stored_size += stub->stored_size;
			part->has_long = true;
			span_add(&part->span,
					 entry_is_aligned(stub->word & JENTRY_TYPEMASK),
					 stub->flat_size);
		}
	}
	if (object && count > 0)
	{
		part->key = members[0].key;
		part->key_size = members[0].key_size;
	}
}

/* Is the member one of the run whose head is rewritten? */
static inline bool
is_of(const Run *old, const RunMember *member)
{
	return old != NULL && member->old >= 0 && member->old < old->count;
}

/* The entries of a run: those of keys, if it is an object, and of values. */
static JEntry *
make_entries(bool object, const RunMember *members, uint32 count)
{
	JEntry	   *entries = MemoryContextAllocHuge(CurrentMemoryContext,
												 (2 * (Size) count + 1) *
												 sizeof(JEntry));
	JEntry	   *values = object ? entries + count : entries;
	uint32		end = 0;

	for (uint32 i = 0; object && i < count; i++)
	{
		entries[i] = entry_make(false, i, JENTRY_ISSTRING,
								members[i].key_size, 0);
		end += members[i].key_size;
	}
	for (uint32 i = 0; i < count; i++)
	{
		uint32		start = end;

		if (entry_is_aligned(members[i].type))
			end = FORM_ALIGN(end);
		end += members[i].size;
		values[i] = entry_make(false, i, members[i].type, end - start, 0);
	}
	return entries;
}

/* Rewrite the entries of all keys or of all values. */
static void
rewrite_entries(HeadRewrite *rewrite, const Run *old, const RunMember *members,
				uint32 count, const JEntry *entries)
{
	uint32		next = 0;

	for (uint32 i = 0; i < count; i++)
	{
		if (!is_of(old, &members[i]))
		{
			json_rewrite_put(rewrite, &entries[i], sizeof(JEntry));
			continue;
		}
		json_rewrite_drop(rewrite, (members[i].old - next) * sizeof(JEntry));
		json_rewrite_set(rewrite, &entries[i], sizeof(JEntry));
		next = members[i].old + 1;
	}
	if (old != NULL)
		json_rewrite_drop(rewrite, (old->count - next) * sizeof(JEntry));
}

static void
rewrite_keys(HeadRewrite *rewrite, const Run *old, const RunMember *members,
			 uint32 count)
{
	uint32		next = 0;

	for (uint32 i = 0; i < count; i++)
	{
		if (!is_of(old, &members[i]))
		{
			json_rewrite_put(rewrite, members[i].key, members[i].key_size);
			continue;
		}
		while (next < members[i].old)
			json_rewrite_drop(rewrite, old->members[next++].key_size);
		json_rewrite_keep(rewrite, old->members[next++].key_size);
	}
	while (old != NULL && next < old->count)
		json_rewrite_drop(rewrite, old->members[next++].key_size);
}

/* Rewrite the values of a run; its data are at a multiple of 4. */
static void
rewrite_values(HeadRewrite *rewrite, const Run *old,
			   const RunMember *members, uint32 count)
{
	for (uint32 i = 0; i < count; i++)
	{
		const RunMember *member = &members[i];
		uint32		pad = 0;
		uint32		old_pad;

		if (entry_is_aligned(member->type))
			pad = FORM_ALIGN(rewrite->end) - rewrite->end;
		if (!is_of(old, member))
		{
			json_rewrite_put_zeros(rewrite, pad);
			json_rewrite_put(rewrite, member->value, member->size);
			continue;
		}
		if (member->old > 0)
		{
			const RunMember *before = &old->members[member->old - 1];

			json_rewrite_drop(rewrite, before->value + before->size -
							  (old->head + rewrite->at));
		}
		old_pad = member->value - (old->head + rewrite->at);
		json_rewrite_keep(rewrite, Min(pad, old_pad));
		if (old_pad > pad)
			json_rewrite_drop(rewrite, old_pad - pad);
		else
			json_rewrite_put_zeros(rewrite, pad - old_pad);
		json_rewrite_keep(rewrite, member->size);
	}
}

/*
 * Add the patches that make a head of the members of a part: in the place of
 * the old one, if there is one; at offset, if not.
 */
void
json_run_write(const Run *old, const RunMember *members, const EditPart *to,
			   bool object, PatchList *patches)
{
	uint32		count = to->part.count;
	JEntry	   *entries = make_entries(object, members, count);
	uint32		word = count | (object ? JB_FOBJECT : JB_FARRAY);
	HeadRewrite rewrite;

	if (to->part.has_long ||
		(old != NULL && count > 0 &&
		 (old->node.container || (old->word & FORM_SPECIAL) != 0)))
		word |= FORM_SPECIAL;
	json_rewrite_begin(&rewrite, patches, to->offset,
					   old == NULL ? NULL : old->head,
					   old == NULL ? 0 : old->node.head_size,
					   to->part.head_size);
	if (old == NULL)
		json_rewrite_put(&rewrite, &word, sizeof(word));
	else
		json_rewrite_set(&rewrite, &word, sizeof(word));
	if (object)
		rewrite_entries(&rewrite, old, members, count, entries);
	rewrite_entries(&rewrite, old, members, count,
					object ? entries + count : entries);
	if (object)
		rewrite_keys(&rewrite, old, members, count);
	rewrite_values(&rewrite, old, members, count);
	json_rewrite_drop(&rewrite, rewrite.old_size - rewrite.at);
	json_rewrite_put_zeros(&rewrite, rewrite.size - rewrite.end);
	json_rewrite_end(&rewrite);
}
