/*-------------------------------------------------------------------------
 *
 * functions_part.c
 *	  SQL functions that take a part of bytea or text, or look for one:
 *	  substr(), left(), right(), get_byte(), get_bit(), length(), position(),
 *	  starts_with().
 *
 * Each of them takes the value undetoasted.  If it is a tree of ours, what is
 * needed of it is read, a piece at a time; if not, the server's function is
 * called.  Where the result goes into a column, a long part is an edit.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "mb/pg_wchar.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"

#include "bytes_call.h"
#include "document.h"
#include "text_scan.h"
#include "toast_am.h"

/* substr() and substring() of so many bytes or characters. */
static Datum
cut_length(FunctionCallInfo fcinfo, PGFunction stock, bool characters)
{
	int64		from = PG_GETARG_INT32(1);
	int64		length = PG_GETARG_INT32(2);

	if (length < 0)
		return stock(fcinfo);
	return bytes_call_cut(fcinfo, stock, from - 1, length, characters);
}

/* The same to the end. */
static Datum
cut_rest(FunctionCallInfo fcinfo, PGFunction stock, bool characters)
{
	int64		from = PG_GETARG_INT32(1);

	return bytes_call_cut(fcinfo, stock, from - 1, BYTES_CALL_REST,
						  characters);
}

PG_FUNCTION_INFO_V1(pg_toaster_bytea_substr);
Datum
pg_toaster_bytea_substr(PG_FUNCTION_ARGS)
{
	return cut_length(fcinfo, bytea_substr, false);
}

PG_FUNCTION_INFO_V1(pg_toaster_bytea_substr_no_len);
Datum
pg_toaster_bytea_substr_no_len(PG_FUNCTION_ARGS)
{
	return cut_rest(fcinfo, bytea_substr_no_len, false);
}

PG_FUNCTION_INFO_V1(pg_toaster_text_substr);
Datum
pg_toaster_text_substr(PG_FUNCTION_ARGS)
{
	return cut_length(fcinfo, text_substr, true);
}

PG_FUNCTION_INFO_V1(pg_toaster_text_substr_no_len);
Datum
pg_toaster_text_substr_no_len(PG_FUNCTION_ARGS)
{
	return cut_rest(fcinfo, text_substr_no_len, true);
}

/* left(text, n): a negative n is what is left out, at the end. */
PG_FUNCTION_INFO_V1(pg_toaster_text_left);
Datum
pg_toaster_text_left(PG_FUNCTION_ARGS)
{
	int64		count = PG_GETARG_INT32(1);
	BytesRange	range = {0};
	TreePointer pointer;

	if (count >= 0 || !toast_am_pointer(PG_GETARG_DATUM(0), &pointer))
		return bytes_call_cut(fcinfo, text_left, 0, count, true);
	range.end = text_scan_last(&pointer, -count);
	return bytes_call_keep(fcinfo, &pointer, range);
}

/* right(text, n): the same from the other side. */
PG_FUNCTION_INFO_V1(pg_toaster_text_right);
Datum
pg_toaster_text_right(PG_FUNCTION_ARGS)
{
	int64		count = PG_GETARG_INT32(1);
	BytesRange	range = {0};
	TreePointer pointer;

	/* the least integer has no opposite; what then is left to the server */
	if (count == PG_INT32_MIN ||
		!toast_am_pointer(PG_GETARG_DATUM(0), &pointer))
		return text_right(fcinfo);
	if (count < 0)
		return bytes_call_cut(fcinfo, text_right, -count, BYTES_CALL_REST,
							  true);
	range.start = text_scan_last(&pointer, count);
	range.end = pointer.size;
	return bytes_call_keep(fcinfo, &pointer, range);
}

PG_FUNCTION_INFO_V1(pg_toaster_byteaGetByte);
Datum
pg_toaster_byteaGetByte(PG_FUNCTION_ARGS)
{
	int64		index = PG_GETARG_INT32(1);
	TreePointer pointer;

	if (index < 0 || !toast_am_pointer(PG_GETARG_DATUM(0), &pointer) ||
		index >= pointer.size)
		return byteaGetByte(fcinfo);
	PG_RETURN_INT32(bytes_call_byte(&pointer, index));
}

PG_FUNCTION_INFO_V1(pg_toaster_byteaGetBit);
Datum
pg_toaster_byteaGetBit(PG_FUNCTION_ARGS)
{
	int64		index = PG_GETARG_INT64(1);
	TreePointer pointer;

	if (index < 0 || !toast_am_pointer(PG_GETARG_DATUM(0), &pointer) ||
		index / 8 >= pointer.size)
		return byteaGetBit(fcinfo);
	PG_RETURN_INT32(bytes_call_byte(&pointer, index / 8) >> index % 8 & 1);
}

/* length(text), char_length(text): characters are counted as they are read. */
PG_FUNCTION_INFO_V1(pg_toaster_textlen);
Datum
pg_toaster_textlen(PG_FUNCTION_ARGS)
{
	TreePointer pointer;

	if (!toast_am_pointer(PG_GETARG_DATUM(0), &pointer))
		return textlen(fcinfo);
	PG_RETURN_INT32(text_scan_length(&pointer));
}

/*
 * Is text found by its bytes?  Not if a collation takes different bytes for
 * the same, and not where the bytes of one character may stand within others.
 */
static bool
is_found_by_bytes(Oid collation)
{
	return (text_scan_single_byte() || GetDatabaseEncoding() == PG_UTF8) &&
		OidIsValid(collation) && get_collation_isdeterministic(collation);
}

/* Where the second argument stands in the first one. */
static Datum
find(FunctionCallInfo fcinfo, PGFunction stock, bool utf8)
{
	TreePointer pointer;
	struct varlena *needle;
	uint32		size;

	if (!toast_am_pointer(PG_GETARG_DATUM(0), &pointer))
		return stock(fcinfo);
	needle = PG_DETOAST_DATUM_PACKED(PG_GETARG_DATUM(1));
	size = VARSIZE_ANY_EXHDR(needle);
	if (size == 0)
		PG_RETURN_INT32(1);
	if (size > TEXT_SCAN_NEEDLE)
		return stock(fcinfo);
	PG_RETURN_INT32(text_scan_find(&pointer, VARDATA_ANY(needle), size,
								   utf8));
}

/* position(text in text), strpos() */
PG_FUNCTION_INFO_V1(pg_toaster_textpos);
Datum
pg_toaster_textpos(PG_FUNCTION_ARGS)
{
	if (!is_found_by_bytes(PG_GET_COLLATION()))
		return textpos(fcinfo);
	return find(fcinfo, textpos, GetDatabaseEncoding() == PG_UTF8);
}

/* position(bytea in bytea) */
PG_FUNCTION_INFO_V1(pg_toaster_byteapos);
Datum
pg_toaster_byteapos(PG_FUNCTION_ARGS)
{
	return find(fcinfo, byteapos, false);
}

/* starts_with(), text ^@ text */
PG_FUNCTION_INFO_V1(pg_toaster_text_starts_with);
Datum
pg_toaster_text_starts_with(PG_FUNCTION_ARGS)
{
	Oid			collation = PG_GET_COLLATION();
	TreePointer pointer;
	text	   *prefix;
	uint32		size;
	Document   *document;
	bool		result;

	if (!toast_am_pointer(PG_GETARG_DATUM(0), &pointer) ||
		!OidIsValid(collation) || !get_collation_isdeterministic(collation))
		return text_starts_with(fcinfo);
	prefix = PG_GETARG_TEXT_PP(1);
	size = VARSIZE_ANY_EXHDR(prefix);
	if (size == 0 || size > pointer.size)
		PG_RETURN_BOOL(size == 0);
	if (size > TEXT_SCAN_NEEDLE)
		return text_starts_with(fcinfo);
	document = document_open(&pointer);
	result = memcmp(document_view(document, 0, size), VARDATA_ANY(prefix),
					size) == 0;
	document_close(document);
	PG_RETURN_BOOL(result);
}
