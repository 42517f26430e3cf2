/*-------------------------------------------------------------------------
 *
 * text_marks.c
 *	  Where characters of UTF-8 stand in trees that a session reads.
 *
 * Characters are counted by their first bytes, so that counts of parts add
 * up, wherever they are cut.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "document_parts.h"
#include "text_marks.h"

/* Ropes whose marks are kept. */
#define KEPT_ROPES		4

/* Bytes of the rope between two marks, and that are read at a time. */
#define STEP			4096
#define READ_STEPS		16

typedef struct TextMarks
{
	MemoryContext context;		/* of all below; NULL: nothing */
	char	   *root;			/* of the rope */
	Size		root_size;
	uint32	   *marks;			/* characters before each STEP of it */
	uint32		known;			/* the last mark that is set */
	uint64		used;			/* when last, for replacement */
} TextMarks;

static TextMarks kept[KEPT_ROPES];
static uint64 clock_now;

/* The rope that an open document shows. */
static Document *
rope_of(Document *document)
{
	return document->rope != NULL ? document->rope : document;
}

/* The marks of a rope; if there are none, such that know nothing. */
static TextMarks *
get_marks(const Document *rope)
{
	TextMarks  *marks = &kept[0];
	MemoryContext context;

	for (int i = 0; i < KEPT_ROPES; i++)
	{
		if (kept[i].context != NULL &&
			kept[i].root_size == rope->root_size &&
			memcmp(kept[i].root, rope->root, rope->root_size) == 0)
		{
			kept[i].used = ++clock_now;
			return &kept[i];
		}
		if (kept[i].used < marks->used)
			marks = &kept[i];
	}
	if (marks->context != NULL)
		MemoryContextDelete(marks->context);
	marks->context = NULL;
	context = AllocSetContextCreate(TopMemoryContext, "toaster text",
									ALLOCSET_DEFAULT_SIZES);
	marks->root = MemoryContextAlloc(context, rope->root_size);
	memcpy(marks->root, rope->root, rope->root_size);
	marks->root_size = rope->root_size;
	marks->marks = MemoryContextAlloc(context, (rope->source.size / STEP + 1) *
									  sizeof(uint32));
	marks->marks[0] = 0;
	marks->known = 0;
	marks->used = ++clock_now;
	marks->context = context;
	return marks;
}

/*
 * Set marks up to the offset, or until more characters than number were
 * found.
 */
static void
extend(TextMarks *marks, const Document *rope, uint32 offset, uint32 number)
{
	uint32		last = offset / STEP;
	Document   *stream;
	char	   *buffer;

	if (marks->known >= last || marks->marks[marks->known] > number)
		return;
	stream = document_stream_open(&rope->pointer);
	buffer = palloc(READ_STEPS * STEP);
	while (marks->known < last && marks->marks[marks->known] <= number)
	{
		uint32		steps = Min(READ_STEPS, last - marks->known);

		CHECK_FOR_INTERRUPTS();
		document_read(stream, marks->known * STEP, steps * STEP, buffer);
		for (uint32 i = 0; i < steps; i++)
		{
			marks->marks[marks->known + 1] = marks->marks[marks->known] +
				text_marks_count(buffer + i * STEP, STEP);
			marks->known++;
		}
	}
	pfree(buffer);
	document_stream_close(stream);
}

/* How many characters of the rope begin before the offset. */
static uint32
count_before(TextMarks *marks, Document *rope, uint32 offset)
{
	uint32		rest = offset % STEP;
	char		bytes[STEP];

	extend(marks, rope, offset, PG_UINT32_MAX);
	document_read(rope, offset - rest, rest, bytes);
	return marks->marks[offset / STEP] + text_marks_count(bytes, rest);
}

/* Where the character of that number begins; size if that is not here. */
static uint32
find_beginning(const char *bytes, uint32 size, uint32 number)
{
	for (uint32 i = 0; i < size; i++)
	{
		if ((bytes[i] & 0xC0) != 0x80 && number-- == 0)
			return i;
	}
	return size;
}

/* The same in the rope, before limit. */
static uint32
find_in_rope(TextMarks *marks, Document *rope, uint32 number, uint32 limit)
{
	uint32		low = 0;
	uint32		high;
	uint32		part;
	char		bytes[STEP];

	extend(marks, rope, limit, number);
	high = Min(marks->known, limit / STEP);
	while (low < high)
	{
		uint32		middle = high - (high - low) / 2;

		if (marks->marks[middle] <= number)
			low = middle;
		else
			high = middle - 1;
	}
	part = Min(STEP, limit - low * STEP);
	document_read(rope, low * STEP, part, bytes);
	return low * STEP +
		find_beginning(bytes, part, number - marks->marks[low]);
}

/*
 * Skip characters of the part of a value that is a range of the rope.
 * Returns the offset in that part of what follows; its size, with *count set
 * to what is left, if they are not all there.
 */
static uint32
skip_range(Document *rope, const TablePiece *piece, int64 *count)
{
	TextMarks  *marks = get_marks(rope);
	uint32		before = count_before(marks, rope, piece->offset);
	uint32		limit = piece->offset + piece->size;
	uint32		offset = limit;

	if (*count <= piece->size)
		offset = find_in_rope(marks, rope, before + *count, limit);
	if (offset < limit)
		*count = 0;
	else
		*count -= count_before(marks, rope, limit) - before;
	return offset - piece->offset;
}

/* The same of a part that is in memory. */
static uint32
skip_bytes(const TablePiece *piece, int64 *count)
{
	uint32		found = text_marks_count(piece->bytes, piece->size);

	if (*count >= found)
	{
		*count -= found;
		return piece->size;
	}
	found = find_beginning(piece->bytes, piece->size, *count);
	*count = 0;
	return found;
}

/*
 * Skip so many characters of the value that an open document shows, or as
 * many as there are; *count is set to how many there are not.  Returns the
 * offset of what follows them.
 */
uint32
text_marks_skip(Document *document, int64 *count)
{
	Document   *rope = rope_of(document);
	TablePiece	whole = {NULL, 0, document->source.size, 0};
	const TablePiece *pieces = &whole;
	int			number = document->source.size > 0 ? 1 : 0;

	if (document->table != NULL)
	{
		pieces = document->table->pieces;
		number = document->table->count;
	}
	for (int i = 0; i < number; i++)
	{
		uint32		offset = pieces[i].bytes != NULL ?
			skip_bytes(&pieces[i], count) :
			skip_range(rope, &pieces[i], count);

		if (offset < pieces[i].size)
			return pieces[i].start + offset;
	}
	return document->source.size;
}
