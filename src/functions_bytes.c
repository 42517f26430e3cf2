/*-------------------------------------------------------------------------
 *
 * functions_bytes.c
 *	  SQL functions that change bytea and text: ||, overlay(), set_byte(),
 *	  set_bit().
 *
 * Each of them takes the value undetoasted and returns an edit of it
 * (edit.h), if it is a tree of ours and the result goes into a column; if
 * not, and where the server's function would raise an error, that is called.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "fmgr.h"
#include "mb/pg_wchar.h"
#include "utils/fmgrprotos.h"
#include "utils/memutils.h"

#include "bytes_call.h"
#include "document.h"
#include "edit.h"
#include "toast_am.h"

/*
 * Two parts of one value, with what edits have made of them, one behind the
 * other; false when they are no such parts.
 */
static bool
join(const TreePointer *left, Datum right, Datum *result)
{
	TreePointer pointer;
	Document   *document;
	bool		ok;

	if (!toast_am_pointer(right, &pointer))
		return false;
	document = document_overlay(left);
	ok = document_append(document, &pointer);
	if (ok)
		*result = document_edit(document, left->size + pointer.size);
	document_close(document);
	return ok;
}

/* Put the second argument behind the first, whichever is a tree. */
static Datum
concatenate(FunctionCallInfo fcinfo, PGFunction stock)
{
	Datum		values[2] = {PG_GETARG_DATUM(0), PG_GETARG_DATUM(1)};
	Size		sizes[2];
	int			tree;
	TreePointer pointer;
	TreePointer other;
	struct varlena *added;
	BytesRange	range = {0};
	Size		size;
	Datum		result;

	if (!edit_is_wanted(fcinfo))
		return stock(fcinfo);
	for (int i = 0; i < 2; i++)
		sizes[i] = toast_raw_datum_size(values[i]) - VARHDRSZ;
	tree = sizes[0] >= sizes[1] ? 0 : 1;
	if (!toast_am_pointer(values[tree], &pointer) ||
		sizes[0] + sizes[1] > MaxAllocSize - VARHDRSZ)
		return stock(fcinfo);
	if (tree == 0 ? join(&pointer, values[1], &result) :
		toast_am_pointer(values[0], &other) && join(&other, values[1], &result))
		return result;
	added = PG_DETOAST_DATUM_PACKED(values[1 - tree]);
	size = VARSIZE_ANY_EXHDR(added);
	if (size == 0)
		return values[tree];
	range.start = range.end = tree == 0 ? pointer.size : 0;
	return bytes_call_splice(&pointer, range, VARDATA_ANY(added), size);
}

PG_FUNCTION_INFO_V1(pg_toaster_byteacat);
Datum
pg_toaster_byteacat(PG_FUNCTION_ARGS)
{
	return concatenate(fcinfo, byteacat);
}

PG_FUNCTION_INFO_V1(pg_toaster_textcat);
Datum
pg_toaster_textcat(PG_FUNCTION_ARGS)
{
	return concatenate(fcinfo, textcat);
}

/* Bytes or characters of what is put into a value. */
static int64
length_of(const struct varlena *added, bool characters)
{
	return characters ?
		pg_mbstrlen_with_len(VARDATA_ANY(added), VARSIZE_ANY_EXHDR(added)) :
		VARSIZE_ANY_EXHDR(added);
}

/*
 * overlay(): from is counted from 1.  Where the server would raise an error or
 * repeat bytes, it is asked.
 */
static Datum
overlay(FunctionCallInfo fcinfo, PGFunction stock, bool has_length,
		bool characters)
{
	int64		from = PG_GETARG_INT32(2);
	TreePointer pointer;
	struct varlena *added;
	int64		length;

	if (!edit_is_wanted(fcinfo) || from <= 0 ||
		!toast_am_pointer(PG_GETARG_DATUM(0), &pointer))
		return stock(fcinfo);
	added = PG_DETOAST_DATUM_PACKED(PG_GETARG_DATUM(1));
	length = has_length ? PG_GETARG_INT32(3) : length_of(added, characters);
	if (length < 0 || from + length > PG_INT32_MAX ||
		pointer.size + VARSIZE_ANY(added) > MaxAllocSize - VARHDRSZ)
		return stock(fcinfo);
	return bytes_call_splice(&pointer,
							 bytes_call_range(&pointer, from - 1, length,
											  characters),
							 VARDATA_ANY(added), VARSIZE_ANY_EXHDR(added));
}

PG_FUNCTION_INFO_V1(pg_toaster_byteaoverlay);
Datum
pg_toaster_byteaoverlay(PG_FUNCTION_ARGS)
{
	return overlay(fcinfo, byteaoverlay, true, false);
}

PG_FUNCTION_INFO_V1(pg_toaster_byteaoverlay_no_len);
Datum
pg_toaster_byteaoverlay_no_len(PG_FUNCTION_ARGS)
{
	return overlay(fcinfo, byteaoverlay_no_len, false, false);
}

PG_FUNCTION_INFO_V1(pg_toaster_textoverlay);
Datum
pg_toaster_textoverlay(PG_FUNCTION_ARGS)
{
	return overlay(fcinfo, textoverlay, true, true);
}

PG_FUNCTION_INFO_V1(pg_toaster_textoverlay_no_len);
Datum
pg_toaster_textoverlay_no_len(PG_FUNCTION_ARGS)
{
	return overlay(fcinfo, textoverlay_no_len, false, true);
}

PG_FUNCTION_INFO_V1(pg_toaster_byteaSetByte);
Datum
pg_toaster_byteaSetByte(PG_FUNCTION_ARGS)
{
	int64		index = PG_GETARG_INT32(1);
	char		byte = PG_GETARG_INT32(2);
	TreePointer pointer;

	if (!edit_is_wanted(fcinfo) || index < 0 ||
		!toast_am_pointer(PG_GETARG_DATUM(0), &pointer) ||
		index >= pointer.size)
		return byteaSetByte(fcinfo);
	return bytes_call_splice(&pointer,
							 bytes_call_range(&pointer, index, 1, false),
							 &byte, 1);
}

PG_FUNCTION_INFO_V1(pg_toaster_byteaSetBit);
Datum
pg_toaster_byteaSetBit(PG_FUNCTION_ARGS)
{
	int64		index = PG_GETARG_INT64(1);
	int32		bit = PG_GETARG_INT32(2);
	TreePointer pointer;
	char		byte;

	if (!edit_is_wanted(fcinfo) || index < 0 ||
		!toast_am_pointer(PG_GETARG_DATUM(0), &pointer) ||
		index / 8 >= pointer.size || (bit != 0 && bit != 1))
		return byteaSetBit(fcinfo);
	byte = bytes_call_byte(&pointer, index / 8);
	byte = (byte & ~(1 << index % 8)) | bit << index % 8;
	return bytes_call_splice(&pointer,
							 bytes_call_range(&pointer, index / 8, 1, false),
							 &byte, 1);
}
