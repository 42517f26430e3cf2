/*-------------------------------------------------------------------------
 *
 * functions_splice.c
 *	  toaster.splice(), toaster.append(), toaster.truncate(): what SQL lacks
 *	  to change bytea and text like a file.
 *
 * In any expression they make a flat value.  Where the result goes into a
 * column and the value is a tree of ours, they make an edit (edit.h).
 *
 * Offsets are counted from 0, in bytes or, of text, in characters.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/htup_details.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/memutils.h"

#include "bytes_call.h"
#include "compat.h"
#include "edit.h"
#include "toast_am.h"

extern Datum pg_toaster_byteacat(PG_FUNCTION_ARGS);
extern Datum pg_toaster_textcat(PG_FUNCTION_ARGS);

/* What is counted must not be less than nothing. */
static void
check_count(int64 count, const char *message)
{
	if (count < 0)
		ereport(ERROR,
				(errcode(ERRCODE_SUBSTRING_ERROR),
				 errmsg_internal("%s", message)));
}

static void
check_offset(int64 offset, int64 missing, bool characters)
{
	if (missing > 0)
		ereport(ERROR,
				(errcode(ERRCODE_SUBSTRING_ERROR),
				 errmsg("offset %lld is beyond the end of the value",
						(long long) offset),
				 characters ?
				 errdetail("The value has %lld characters.",
						   (long long) (offset - missing)) :
				 errdetail("The value has %lld bytes.",
						   (long long) (offset - missing))));
}

/* Is the result a value that can be? */
static void
check_size(Size size)
{
	if (size > MaxAllocSize - VARHDRSZ)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("requested length too large")));
}

/* Where some bytes or characters stand in a flat value. */
static BytesRange
flat_range(const struct varlena *value, int64 offset, int64 count,
		   bool characters)
{
	const char *bytes = VARDATA_ANY(value);
	int64		size = VARSIZE_ANY_EXHDR(value);
	int64		length = characters ? pg_mbstrlen_with_len(bytes, size) : size;
	BytesRange	range;

	range.missing = Max(offset - length, 0);
	offset = Min(offset, length);
	count = Min(count, length - offset);
	range.start = offset;
	range.end = offset + count;
	if (characters)
	{
		range.start = pg_mbcharcliplen(bytes, size, offset);
		range.end = range.start +
			pg_mbcharcliplen(bytes + range.start, size - range.start, count);
	}
	return range;
}

/* The flat value with other bytes in the place of the range. */
static Datum
splice_flat(const struct varlena *value, BytesRange range,
			const struct varlena *added)
{
	const char *bytes = VARDATA_ANY(value);
	Size		rest = VARSIZE_ANY_EXHDR(value) - range.end;
	Size		inserted = VARSIZE_ANY_EXHDR(added);
	Size		size = VARHDRSZ + range.start + inserted + rest;
	struct varlena *result = palloc(size);
	char	   *target = VARDATA(result);

	SET_VARSIZE(result, size);
	memcpy(target, bytes, range.start);
	memcpy(target + range.start, VARDATA_ANY(added), inserted);
	memcpy(target + range.start + inserted, bytes + range.end, rest);
	return PointerGetDatum(result);
}

/* splice(value, offset, remove_count, insert) */
static Datum
splice_value(FunctionCallInfo fcinfo, bool characters)
{
	Datum		datum = PG_GETARG_DATUM(0);
	int64		offset = PG_GETARG_INT64(1);
	int64		count = PG_GETARG_INT64(2);
	struct varlena *added;
	struct varlena *value = NULL;
	TreePointer pointer;
	bool		edit;
	BytesRange	range;

	check_count(offset, "negative offset not allowed");
	check_count(count, "negative count not allowed");
	edit = edit_is_wanted(fcinfo) && toast_am_pointer(datum, &pointer);
	if (edit)
		range = bytes_call_range(&pointer, offset, count, characters);
	else
	{
		value = PG_DETOAST_DATUM_PACKED(datum);
		range = flat_range(value, offset, count, characters);
	}
	check_offset(offset, range.missing, characters);
	check_size(toast_raw_datum_size(datum) - VARHDRSZ -
			   (range.end - range.start) +
			   toast_raw_datum_size(PG_GETARG_DATUM(3)) - VARHDRSZ);
	added = PG_DETOAST_DATUM_PACKED(PG_GETARG_DATUM(3));
	if (!edit)
		return splice_flat(value, range, added);
	if (range.start == range.end && VARSIZE_ANY_EXHDR(added) == 0)
		return datum;
	return bytes_call_splice(&pointer, range, VARDATA_ANY(added),
							 VARSIZE_ANY_EXHDR(added));
}

PG_FUNCTION_INFO_V1(pg_toaster_splice_bytea);
Datum
pg_toaster_splice_bytea(PG_FUNCTION_ARGS)
{
	return splice_value(fcinfo, false);
}

PG_FUNCTION_INFO_V1(pg_toaster_splice_text);
Datum
pg_toaster_splice_text(PG_FUNCTION_ARGS)
{
	return splice_value(fcinfo, true);
}

/* append(value, piece): as ||, with an error of its own. */
static void
check_append(FunctionCallInfo fcinfo)
{
	check_size(toast_raw_datum_size(PG_GETARG_DATUM(0)) - VARHDRSZ +
			   toast_raw_datum_size(PG_GETARG_DATUM(1)) - VARHDRSZ);
}

PG_FUNCTION_INFO_V1(pg_toaster_append_bytea);
Datum
pg_toaster_append_bytea(PG_FUNCTION_ARGS)
{
	check_append(fcinfo);
	return pg_toaster_byteacat(fcinfo);
}

PG_FUNCTION_INFO_V1(pg_toaster_append_text);
Datum
pg_toaster_append_text(PG_FUNCTION_ARGS)
{
	check_append(fcinfo);
	return pg_toaster_textcat(fcinfo);
}

/* The front of a flat value, or of any that is not edited. */
static Datum
front_of_bytea(PG_FUNCTION_ARGS)
{
	return PointerGetDatum(PG_GETARG_BYTEA_P_SLICE(0, 0,
												   Min(PG_GETARG_INT64(1),
													   MaxAllocSize)));
}

static Datum
front_of_text(PG_FUNCTION_ARGS)
{
	int64		length = Min(PG_GETARG_INT64(1), MaxAllocSize);

	return DirectFunctionCall2(text_left, PG_GETARG_DATUM(0),
							   Int32GetDatum(length));
}

/* truncate(value, length): the front of it; never longer than it was. */
PG_FUNCTION_INFO_V1(pg_toaster_truncate_bytea);
Datum
pg_toaster_truncate_bytea(PG_FUNCTION_ARGS)
{
	check_count(PG_GETARG_INT64(1), "negative length not allowed");
	return bytes_call_cut(fcinfo, front_of_bytea, 0, PG_GETARG_INT64(1),
						  false);
}

PG_FUNCTION_INFO_V1(pg_toaster_truncate_text);
Datum
pg_toaster_truncate_text(PG_FUNCTION_ARGS)
{
	check_count(PG_GETARG_INT64(1), "negative length not allowed");
	return bytes_call_cut(fcinfo, front_of_text, 0, PG_GETARG_INT64(1), true);
}
