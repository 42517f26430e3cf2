/*-------------------------------------------------------------------------
 *
 * bytes_call.c
 *	  What the SQL functions on bytea and text have in common.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/heaptoast.h"
#include "mb/pg_wchar.h"

#include "bytes_call.h"
#include "document.h"
#include "edit.h"
#include "text_marks.h"
#include "text_scan.h"
#include "toast_am.h"

/* Parts up to that size are read through what the session keeps. */
#define KEPT_PART	(64 * 1024)

/* Parts up to that size are read, rather than made by an edit. */
#define SHORT_PART	(4 * TOAST_TUPLE_TARGET)

/* Where characters of UTF-8 stand, by the marks that the session keeps. */
static BytesRange
marked_range(const TreePointer *pointer, int64 first, int64 count)
{
	Document   *document = document_open(pointer);
	int64		last;
	BytesRange	range;

	range.missing = first;
	range.start = text_marks_skip(document, &range.missing);
	if (count >= pointer->size - range.start)
		range.end = pointer->size;
	else
	{
		last = first + count;
		range.end = text_marks_skip(document, &last);
	}
	document_close(document);
	return range;
}

/*
 * Where count bytes or characters, from first on (counted from 0), stand in
 * the value; as many of them as there are.  Characters of several bytes are
 * counted from the start of the value.
 */
BytesRange
bytes_call_range(const TreePointer *pointer, int64 first, int64 count,
				 bool characters)
{
	BytesRange	range;
	TextScan   *scan;
	int64		most;

	if (!characters || text_scan_single_byte())
	{
		range.start = Min(first, pointer->size);
		range.end = range.start + Min(count, pointer->size - range.start);
		range.missing = first - range.start;
		return range;
	}

	/* a character has a byte at least */
	if (first == 0 && count >= pointer->size)
		return (BytesRange) {0, pointer->size, 0};
	most = Min(first, pointer->size) + Min(count, pointer->size);
	if (GetDatabaseEncoding() == PG_UTF8 && !text_scan_is_front(most))
		return marked_range(pointer, first, count);
	scan = text_scan_begin(pointer, most);
	range.start = text_scan_skip(scan, &first);
	range.missing = first;
	if (count >= pointer->size - range.start)
		range.end = pointer->size;
	else
		range.end = text_scan_skip(scan, &count);
	text_scan_end(scan);
	return range;
}

/* One byte of the value. */
int
bytes_call_byte(const TreePointer *pointer, uint32 offset)
{
	Document   *document = document_open(pointer);
	unsigned char byte;

	document_read(document, offset, 1, (char *) &byte);
	document_close(document);
	return byte;
}

/* The bytes of the range, as a flat value. */
static Datum
read_range(Datum datum, const TreePointer *pointer, BytesRange range)
{
	uint32		size = range.end - range.start;
	struct varlena *part;
	Document   *document;

	if (size > KEPT_PART)
		return PointerGetDatum(detoast_attr_slice((struct varlena *)
												  DatumGetPointer(datum),
												  range.start, size));
	part = palloc(VARHDRSZ + size);
	SET_VARSIZE(part, VARHDRSZ + size);
	document = document_open(pointer);
	document_read(document, range.start, size, VARDATA(part));
	document_close(document);
	return PointerGetDatum(part);
}

/* An edit: the bytes of the range alone. */
static Datum
keep_range(const TreePointer *pointer, BytesRange range)
{
	Document   *document = document_overlay(pointer);
	Datum		result;

	if (range.end < pointer->size)
		document_splice(document, range.end, pointer->size - range.end,
						NULL, 0);
	if (range.start > 0)
		document_splice(document, 0, range.start, NULL, 0);
	result = document_edit(document, range.end - range.start);
	document_close(document);
	return result;
}

/*
 * The bytes of the range, of a tree that is the first argument of a function;
 * an edit if they are many and one is wanted.
 */
Datum
bytes_call_keep(FunctionCallInfo fcinfo, const TreePointer *pointer,
				BytesRange range)
{
	Datum		datum = PG_GETARG_DATUM(0);

	if (range.end - range.start <= SHORT_PART || !edit_is_wanted(fcinfo))
		return read_range(datum, pointer, range);
	if (range.start == 0 && range.end == pointer->size)
		return datum;
	return keep_range(pointer, range);
}

/*
 * A part of the first argument: count bytes or characters from first on
 * (counted from 0, or before the start).  The server's function is called if
 * this is no tree of ours.
 */
Datum
bytes_call_cut(FunctionCallInfo fcinfo, PGFunction stock, int64 first,
			   int64 count, bool characters)
{
	TreePointer pointer;
	BytesRange	range;

	if (first < 0)
	{
		if (count != BYTES_CALL_REST)
			count += first;
		first = 0;
	}
	if (!toast_am_pointer(PG_GETARG_DATUM(0), &pointer))
		return stock(fcinfo);
	range = bytes_call_range(&pointer, first, Max(count, 0), characters);
	if (characters && range.start < range.end && range.end == pointer.size)
		text_scan_check_end(&pointer);
	return bytes_call_keep(fcinfo, &pointer, range);
}

/* An edit: the value with these bytes in the place of the range. */
Datum
bytes_call_splice(const TreePointer *pointer, BytesRange range,
				  const char *bytes, uint32 size)
{
	uint32		remove = range.end - range.start;
	Document   *document = document_overlay(pointer);
	Datum		result;

	document_splice(document, range.start, remove, bytes, size);
	result = document_edit(document, pointer->size - remove + size);
	document_close(document);
	return result;
}
