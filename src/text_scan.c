/*-------------------------------------------------------------------------
 *
 * text_scan.c
 *	  Going through text that is kept as a tree, character by character.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "mb/pg_wchar.h"
#include "miscadmin.h"

#include "document.h"
#include "text_marks.h"
#include "text_scan.h"

/* Bytes that are looked at between two checks for interrupts. */
#define READ_SIZE		(64 * 1024)

/* The same, from the end. */
#define END_SIZE		(8 * 1024)

/* Bytes of UTF-8 that are counted at a time. */
#define RUN_SIZE		512

struct TextScan
{
	Document   *document;
	bool		streams;		/* it is nobody else's */
	uint32		size;			/* of the value, as far as it is needed */
	uint32		offset;			/* of the next character */
	uint32		start;			/* of what is in the buffer */
	uint32		filled;			/* and how much that is */
	char		buffer[READ_SIZE];
};

/* Is every character one byte? */
bool
text_scan_single_byte(void)
{
	return pg_database_encoding_max_length() == 1;
}

/* Do so many characters at most stand in what is read at once? */
bool
text_scan_is_front(int64 most)
{
	return most <= READ_SIZE / pg_database_encoding_max_length();
}

/*
 * Start at the first character of the text that the pointer names, to skip
 * at most so many.  What is near the front is read through the document that
 * the session keeps, and no more than that is read.
 */
TextScan *
text_scan_begin(const TreePointer *pointer, int64 most)
{
	int			longest = pg_database_encoding_max_length();
	TextScan   *scan = palloc(sizeof(TextScan));

	scan->size = pointer->size;
	scan->streams = !text_scan_is_front(most);
	if (!scan->streams)
		scan->size = Min(scan->size, most * longest);
	scan->document = scan->streams ? document_stream_open(pointer) :
		document_open(pointer);
	scan->offset = scan->start = scan->filled = 0;
	return scan;
}

void
text_scan_end(TextScan *scan)
{
	if (scan->streams)
		document_stream_close(scan->document);
	else
		document_close(scan->document);
	pfree(scan);
}

/* Have so many bytes from the next character on in the buffer. */
static void
fill(TextScan *scan, uint32 size)
{
	CHECK_FOR_INTERRUPTS();
	scan->start = scan->offset;
	scan->filled = size;
	document_read(scan->document, scan->start, scan->filled, scan->buffer);
}

/*
 * Skip characters of UTF-8, at most count of them, that stand in the bytes.
 * Returns how many bytes they take, and sets *count to what is left of it.
 * What follows the first byte of a character is taken with it.
 */
static uint32
skip_utf8(const char *bytes, uint32 size, int64 *count)
{
	uint32		offset = 0;

	while (size - offset >= RUN_SIZE)
	{
		uint32		found = text_marks_count(bytes + offset, RUN_SIZE);

		if (found > *count)
			break;
		*count -= found;
		offset += RUN_SIZE;
	}
	for (; offset < size; offset++)
	{
		if ((bytes[offset] & 0xC0) == 0x80)
			continue;
		if (*count == 0)
			break;
		(*count)--;
	}
	return offset;
}

/*
 * The same in any encoding, of characters that begin in the bytes; one that
 * may go on behind them is left, unless these are the last bytes.
 */
static uint32
skip_any(const char *bytes, uint32 size, bool last, int64 *count)
{
	int			encoding = GetDatabaseEncoding();
	uint32		offset = 0;

	while (offset < size && *count > 0)
	{
		int			length;

		if (!last && size - offset < MAX_MULTIBYTE_CHAR_LEN)
			break;
		length = pg_encoding_mblen(encoding, bytes + offset);
		if (length > size - offset)
			report_invalid_encoding(encoding, bytes + offset, size - offset);
		offset += length;
		(*count)--;
	}
	return offset;
}

/*
 * Skip so many characters, or as many as there are; *count is set to how many
 * there are not.  Returns the offset of what follows them.
 */
uint32
text_scan_skip(TextScan *scan, int64 *count)
{
	bool		utf8 = GetDatabaseEncoding() == PG_UTF8;

	while (scan->offset < scan->size)
	{
		uint32		end = scan->start + scan->filled;
		const char *bytes;

		/* a character that is cut is read again with what follows it */
		if (end - scan->offset < MAX_MULTIBYTE_CHAR_LEN && end < scan->size)
			fill(scan, Min(READ_SIZE, scan->size - scan->offset));
		end = scan->start + scan->filled;
		bytes = scan->buffer + (scan->offset - scan->start);
		if (utf8)
			scan->offset += skip_utf8(bytes, end - scan->offset, count);
		else
			scan->offset += skip_any(bytes, end - scan->offset,
									 end == scan->size, count);
		if (*count == 0 && scan->offset < end)
			break;
	}
	return scan->offset;
}

/*
 * Raise the server's error if the text ends within a character of UTF-8, as
 * its functions do when they come to it.
 */
void
text_scan_check_end(const TreePointer *pointer)
{
	uint32		size = Min(pointer->size, MAX_MULTIBYTE_CHAR_LEN);
	char		bytes[MAX_MULTIBYTE_CHAR_LEN];
	Document   *document;

	if (GetDatabaseEncoding() != PG_UTF8)
		return;
	document = document_open(pointer);
	document_read(document, pointer->size - size, size, bytes);
	document_close(document);
	for (uint32 at = size; at-- > 0;)
	{
		if ((bytes[at] & 0xC0) == 0x80)
			continue;
		if (pg_encoding_mblen(PG_UTF8, bytes + at) > size - at)
			report_invalid_encoding(PG_UTF8, bytes + at, size - at);
		break;
	}
}

/*
 * Where the last so many characters of UTF-8 begin, found from the end: 0 if
 * there are not more of them.
 */
static uint32
find_last(const TreePointer *pointer, int64 count)
{
	TextScan   *scan = text_scan_begin(pointer, pointer->size);
	uint32		end = pointer->size;

	while (end > 0 && count > 0)
	{
		uint32		size = Min(end, END_SIZE);

		scan->offset = end - size;
		fill(scan, size);
		while (size > 0 && count > 0)
		{
			count -= (scan->buffer[--size] & 0xC0) != 0x80;
			end--;
		}
	}
	text_scan_end(scan);
	return end;
}

/*
 * Where the last so many characters begin; 0 if there are not more of them.
 * What stands before them is not read, unless the encoding has characters
 * whose beginnings cannot be told from their other bytes.
 */
uint32
text_scan_last(const TreePointer *pointer, int64 count)
{
	TextScan   *scan;
	uint32		offset;

	if (text_scan_single_byte())
		return pointer->size - Min(count, pointer->size);
	text_scan_check_end(pointer);
	if (GetDatabaseEncoding() == PG_UTF8)
		return find_last(pointer, count);
	count = text_scan_length(pointer) - count;
	scan = text_scan_begin(pointer, pointer->size);
	count = Max(count, 0);
	offset = text_scan_skip(scan, &count);
	text_scan_end(scan);
	return offset;
}

/* Skip all characters; *count is set as by text_scan_skip(). */
static void
skip_all(const TreePointer *pointer, int64 *count)
{
	TextScan   *scan;
	Document   *document;

	if (GetDatabaseEncoding() == PG_UTF8)
	{
		document = document_open(pointer);
		(void) text_marks_skip(document, count);
		document_close(document);
		return;
	}
	scan = text_scan_begin(pointer, pointer->size);
	(void) text_scan_skip(scan, count);
	text_scan_end(scan);
}

/* How many characters the text has. */
int64
text_scan_length(const TreePointer *pointer)
{
	int64		left = PG_INT64_MAX;

	if (text_scan_single_byte())
		return pointer->size;
	skip_all(pointer, &left);
	text_scan_check_end(pointer);
	return PG_INT64_MAX - left;
}

/* What is looked for; Horspool's variant of the search of Boyer and Moore. */
typedef struct Needle
{
	const char *bytes;
	uint32		size;
	uint32		shifts[256];	/* by the byte that its last one met */
} Needle;

static void
set_needle(Needle *needle, const char *bytes, uint32 size)
{
	needle->bytes = bytes;
	needle->size = size;
	for (int i = 0; i < lengthof(needle->shifts); i++)
		needle->shifts[i] = size;
	for (uint32 i = 0; i < size - 1; i++)
		needle->shifts[(unsigned char) bytes[i]] = size - 1 - i;
}

/* Where the needle stands first in the bytes; their size if nowhere. */
static uint32
find_needle(const Needle *needle, const char *bytes, uint32 size)
{
	uint32		last = needle->size - 1;

	for (uint32 at = 0; at + last < size;
		 at += needle->shifts[(unsigned char) bytes[at + last]])
	{
		if (bytes[at + last] == needle->bytes[last] &&
			memcmp(bytes + at, needle->bytes, last) == 0)
			return at;
	}
	return size;
}

/*
 * Where some bytes, 1 to TEXT_SCAN_NEEDLE, stand first in the value: counted
 * from 1, in characters of UTF-8 or in bytes.  0 when they do not.
 */
int64
text_scan_find(const TreePointer *pointer, const char *bytes, uint32 size,
			   bool utf8)
{
	Document   *document;
	Needle		needle;
	char	   *buffer;
	uint32		offset = 0;		/* of what is to be read next */
	uint32		kept = 0;		/* bytes before it in the buffer */
	int64		position = 1;	/* of the buffer's start */
	bool		found = false;

	Assert(size > 0 && size <= TEXT_SCAN_NEEDLE);
	if (size > pointer->size)
		return 0;
	document = document_stream_open(pointer);
	set_needle(&needle, bytes, size);
	buffer = palloc(READ_SIZE + size);
	while (offset < pointer->size && !found)
	{
		uint32		part = Min(READ_SIZE, pointer->size - offset);
		uint32		filled = kept + part;
		uint32		done;

		CHECK_FOR_INTERRUPTS();
		document_read(document, offset, part, buffer + kept);
		offset += part;
		done = find_needle(&needle, buffer, filled);
		found = done < filled;
		if (!found)
			done -= Min(filled, size - 1);
		position += utf8 ? text_marks_count(buffer, done) : done;
		kept = filled - done;
		memmove(buffer, buffer + done, kept);
	}
	pfree(buffer);
	document_stream_close(document);
	return found ? position : 0;
}
