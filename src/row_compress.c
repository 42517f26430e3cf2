/*-------------------------------------------------------------------------
 *
 * row_compress.c
 *	  Compression of values that may stay in the row.
 *
 * Stock compresses a value whole before it moves it out of the row, and then
 * stores what it has.  A tree is compressed frame by frame, so that most of
 * that work would be done twice: here a value that is too long for the row
 * even when compressed is to be found out cheaply.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/toast_internals.h"

#include "codec.h"
#include "row.h"
#include "row_compress.h"
#include "settings.h"

/* No method of stock's compresses better than this. */
#define BEST_RATIO		255

/* Longer values are judged by their first bytes before all is compressed. */
#define SAMPLE_SIZE		16384

/*
 * Could the value, compressed, be at most limit bytes long?  Judges a long
 * one by its first bytes: what they compress to is a part of the whole.
 */
static bool
may_compress_to(struct varlena *value, char method, Size limit)
{
	Size		size = VARSIZE_ANY_EXHDR(value);
	struct varlena *sample;
	Datum		packed;
	bool		result;

	if (size / BEST_RATIO > limit)
		return false;
	if (size <= 4 * SAMPLE_SIZE)
		return true;
	sample = palloc(VARHDRSZ + SAMPLE_SIZE);
	SET_VARSIZE(sample, VARHDRSZ + SAMPLE_SIZE);
	memcpy(VARDATA(sample), VARDATA_ANY(value), SAMPLE_SIZE);
	packed = toast_compress_datum(PointerGetDatum(sample), method);
	result = DatumGetPointer(packed) != NULL &&
		VARSIZE(DatumGetPointer(packed)) <= limit;
	if (DatumGetPointer(packed) != NULL)
		pfree(DatumGetPointer(packed));
	pfree(sample);
	return result;
}

/*
 * What toast_compress_datum() makes of the value by lz4 if that takes at most
 * limit bytes, else NULL, which costs no more than to fill those bytes.
 */
static Datum
compress_within(struct varlena *value, Size limit)
{
	Size		size = VARSIZE_ANY_EXHDR(value);
	struct varlena *packed;
	Size		stored;

	if (size / BEST_RATIO > limit)
		return PointerGetDatum(NULL);
	limit = Min(limit, size - 3);	/* stock demands to save as much */
	packed = palloc(limit);
	stored = codec_lz4_within(VARDATA_ANY(value), size,
							  (char *) packed + VARHDRSZ_COMPRESSED,
							  limit - VARHDRSZ_COMPRESSED);
	if (stored == 0)
	{
		pfree(packed);
		return PointerGetDatum(NULL);
	}
	SET_VARSIZE_COMPRESSED(packed, stored + VARHDRSZ_COMPRESSED);
	TOAST_COMPRESS_SET_SIZE_AND_COMPRESS_METHOD(packed, size,
												TOAST_LZ4_COMPRESSION_ID);
	return PointerGetDatum(packed);
}

/*
 * What toast_compress_datum() makes of a column's value, if that could be at
 * most limit bytes long, else NULL.  If the value's tree would be one frame
 * by the same method, the result serves for that, and is returned whatever
 * its length.
 */
Datum
row_compress(Form_pg_attribute attr, Datum datum, char method, Size limit)
{
	struct varlena *value = (struct varlena *) DatumGetPointer(datum);
	int			codec;
	RopeLimits	limits;

	if (!CompressionMethodIsValid(method))
		method = default_toast_compression;
	codec = method == TOAST_LZ4_COMPRESSION ? CODEC_LZ4 : CODEC_PGLZ;
	settings_limits(&limits);
	if (VARSIZE_ANY_EXHDR(value) > limits.frame_size ||
		codec != row_column_codec(attr))
	{
		if (codec == CODEC_LZ4)
			return compress_within(value, limit);
		if (!may_compress_to(value, method, limit))
			return PointerGetDatum(NULL);
	}
	return toast_compress_datum(datum, method);
}
