/*-------------------------------------------------------------------------
 *
 * functions_bytes.c
 *	  SQL functions that change bytea and text: ||, overlay(), substr(),
 *	  set_byte(), set_bit(), left(), right().
 *
 * Each of them takes the value undetoasted and returns an edit of it
 * (edit.h), if it is a tree of ours; if not, and where the server's function
 * would raise an error, that is called.  The planner puts them where the
 * result goes into a column only.
 *
 * Positions in text are characters: with a multibyte encoding only || is ours.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/heaptoast.h"
#include "common/int.h"
#include "fmgr.h"
#include "mb/pg_wchar.h"
#include "utils/fmgrprotos.h"
#include "utils/memutils.h"

#include "document.h"
#include "toast_am.h"

/* Parts up to that size are read, rather than made by an edit. */
#define SHORT_PART	((int64) (4 * TOAST_TUPLE_TARGET))

/* Is the datum a tree of ours?  Sets its size. */
static bool
is_tree(Datum datum, TreePointer *pointer)
{
	struct varlena *value = (struct varlena *) DatumGetPointer(datum);

	if (!VARATT_IS_EXTERNAL_ONDISK(value) || !edit_possible())
		return false;
	pointer_read(value, pointer);
	return toast_am_is_ours(pointer);
}

/* The value with insert bytes in the place of remove others. */
static Datum
splice_value(const TreePointer *pointer, uint32 offset, uint32 remove,
	   const char *bytes, uint32 insert)
{
	Document   *document = document_overlay(pointer);
	Datum		result;

	document_splice(document, offset, remove, bytes, insert);
	result = document_edit(document, pointer->size - remove + insert);
	document_close(document);
	return result;
}

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

	if (!is_tree(right, &pointer))
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
	Size		size;
	Datum		result;

	for (int i = 0; i < 2; i++)
		sizes[i] = toast_raw_datum_size(values[i]) - VARHDRSZ;
	tree = sizes[0] >= sizes[1] ? 0 : 1;
	if (!is_tree(values[tree], &pointer) ||
		sizes[0] + sizes[1] > MaxAllocSize - VARHDRSZ)
		return stock(fcinfo);
	if (tree == 0 ? join(&pointer, values[1], &result) :
		is_tree(values[0], &other) && join(&other, values[1], &result))
		return result;
	added = PG_DETOAST_DATUM_PACKED(values[1 - tree]);
	size = VARSIZE_ANY_EXHDR(added);
	if (size == 0)
		return values[tree];
	return splice_value(&pointer, tree == 0 ? pointer.size : 0, 0,
				  VARDATA_ANY(added), size);
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

/*
 * overlay(): from is counted from 1.  Where the server would raise an error or
 * repeat bytes, it is asked.
 */
static Datum
overlay(FunctionCallInfo fcinfo, PGFunction stock, bool has_length)
{
	int64		from = PG_GETARG_INT32(2);
	TreePointer pointer;
	struct varlena *added;
	int64		length;
	uint32		offset;

	if (!is_tree(PG_GETARG_DATUM(0), &pointer) || from <= 0)
		return stock(fcinfo);
	added = PG_DETOAST_DATUM_PACKED(PG_GETARG_DATUM(1));
	length = has_length ? PG_GETARG_INT32(3) : VARSIZE_ANY_EXHDR(added);
	if (length < 0 || from + length > PG_INT32_MAX ||
		pointer.size + VARSIZE_ANY(added) > MaxAllocSize - VARHDRSZ)
		return stock(fcinfo);
	offset = Min(from - 1, pointer.size);
	return splice_value(&pointer, offset, Min(length, pointer.size - offset),
				  VARDATA_ANY(added), VARSIZE_ANY_EXHDR(added));
}

PG_FUNCTION_INFO_V1(pg_toaster_byteaoverlay);
Datum
pg_toaster_byteaoverlay(PG_FUNCTION_ARGS)
{
	return overlay(fcinfo, byteaoverlay, true);
}

PG_FUNCTION_INFO_V1(pg_toaster_byteaoverlay_no_len);
Datum
pg_toaster_byteaoverlay_no_len(PG_FUNCTION_ARGS)
{
	return overlay(fcinfo, byteaoverlay_no_len, false);
}

/* Are characters of text bytes? */
static bool
single_byte(void)
{
	return pg_database_encoding_max_length() == 1;
}

PG_FUNCTION_INFO_V1(pg_toaster_textoverlay);
Datum
pg_toaster_textoverlay(PG_FUNCTION_ARGS)
{
	if (!single_byte())
		return textoverlay(fcinfo);
	return overlay(fcinfo, textoverlay, true);
}

PG_FUNCTION_INFO_V1(pg_toaster_textoverlay_no_len);
Datum
pg_toaster_textoverlay_no_len(PG_FUNCTION_ARGS)
{
	if (!single_byte())
		return textoverlay_no_len(fcinfo);
	return overlay(fcinfo, textoverlay_no_len, false);
}

/*
 * The bytes between two offsets; the server's function is called if there is
 * no such tree, or they are few.
 */
static Datum
cut(FunctionCallInfo fcinfo, PGFunction stock, int64 start, int64 end)
{
	Datum		datum = PG_GETARG_DATUM(0);
	TreePointer pointer;
	Document   *document;
	Datum		result;

	if (!is_tree(datum, &pointer))
		return stock(fcinfo);
	start = Max(start, 0);
	end = Min(end, pointer.size);
	if (end - start <= SHORT_PART)
		return stock(fcinfo);
	if (start == 0 && end == pointer.size)
		return datum;
	document = document_overlay(&pointer);
	if (end < pointer.size)
		document_splice(document, end, pointer.size - end, NULL, 0);
	if (start > 0)
		document_splice(document, 0, start, NULL, 0);
	result = document_edit(document, end - start);
	document_close(document);
	return result;
}

/* substr() and substring() of so many bytes. */
static Datum
cut_length(FunctionCallInfo fcinfo, PGFunction stock)
{
	int64		from = PG_GETARG_INT32(1);
	int64		length = PG_GETARG_INT32(2);

	if (length < 0)
		return stock(fcinfo);
	return cut(fcinfo, stock, from - 1, from - 1 + length);
}

PG_FUNCTION_INFO_V1(pg_toaster_bytea_substr);
Datum
pg_toaster_bytea_substr(PG_FUNCTION_ARGS)
{
	return cut_length(fcinfo, bytea_substr);
}

PG_FUNCTION_INFO_V1(pg_toaster_bytea_substr_no_len);
Datum
pg_toaster_bytea_substr_no_len(PG_FUNCTION_ARGS)
{
	return cut(fcinfo, bytea_substr_no_len,
			   (int64) PG_GETARG_INT32(1) - 1, PG_INT64_MAX);
}

PG_FUNCTION_INFO_V1(pg_toaster_text_substr);
Datum
pg_toaster_text_substr(PG_FUNCTION_ARGS)
{
	if (!single_byte())
		return text_substr(fcinfo);
	return cut_length(fcinfo, text_substr);
}

PG_FUNCTION_INFO_V1(pg_toaster_text_substr_no_len);
Datum
pg_toaster_text_substr_no_len(PG_FUNCTION_ARGS)
{
	if (!single_byte())
		return text_substr_no_len(fcinfo);
	return cut(fcinfo, text_substr_no_len,
			   (int64) PG_GETARG_INT32(1) - 1, PG_INT64_MAX);
}

/* left(text, n): a negative n counts from the end. */
PG_FUNCTION_INFO_V1(pg_toaster_text_left);
Datum
pg_toaster_text_left(PG_FUNCTION_ARGS)
{
	int64		count = PG_GETARG_INT32(1);

	if (!single_byte())
		return text_left(fcinfo);
	if (count < 0)
		count += toast_raw_datum_size(PG_GETARG_DATUM(0)) - VARHDRSZ;
	return cut(fcinfo, text_left, 0, count);
}

/* right(text, n): the same from the other side. */
PG_FUNCTION_INFO_V1(pg_toaster_text_right);
Datum
pg_toaster_text_right(PG_FUNCTION_ARGS)
{
	int64		size = toast_raw_datum_size(PG_GETARG_DATUM(0)) - VARHDRSZ;
	int64		count = PG_GETARG_INT32(1);

	if (!single_byte())
		return text_right(fcinfo);
	return cut(fcinfo, text_right, count < 0 ? -count : size - count, size);
}

PG_FUNCTION_INFO_V1(pg_toaster_byteaSetByte);
Datum
pg_toaster_byteaSetByte(PG_FUNCTION_ARGS)
{
	int64		index = PG_GETARG_INT32(1);
	char		byte = PG_GETARG_INT32(2);
	TreePointer pointer;

	if (!is_tree(PG_GETARG_DATUM(0), &pointer) || index < 0 ||
		index >= pointer.size)
		return byteaSetByte(fcinfo);
	return splice_value(&pointer, index, 1, &byte, 1);
}

PG_FUNCTION_INFO_V1(pg_toaster_byteaSetBit);
Datum
pg_toaster_byteaSetBit(PG_FUNCTION_ARGS)
{
	int64		index = PG_GETARG_INT64(1);
	int32		bit = PG_GETARG_INT32(2);
	TreePointer pointer;
	Document   *document;
	char		byte;
	Datum		result;

	if (!is_tree(PG_GETARG_DATUM(0), &pointer) || index < 0 ||
		index / 8 >= pointer.size || (bit != 0 && bit != 1))
		return byteaSetBit(fcinfo);
	document = document_overlay(&pointer);
	document_read(document, index / 8, 1, &byte);
	byte = (byte & ~(1 << index % 8)) | bit << index % 8;
	document_splice(document, index / 8, 1, &byte, 1);
	result = document_edit(document, pointer.size);
	document_close(document);
	return result;
}
