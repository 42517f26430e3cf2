/*-------------------------------------------------------------------------
 *
 * codec.c
 *	  Compression of frames by lz4, pglz or zstd.
 *
 * A frame is to fill a given number of bytes, so that chunks fill pages.
 * lz4 can be asked for exactly that; for the others the number of bytes to
 * take is estimated and, when they do not fit, reduced.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <lz4.h>
#include <zstd.h>

#include "common/pg_lzcompress.h"

#include "codec.h"

/* zstd's fastest regular level; frames are too small to profit from more. */
#define ZSTD_LEVEL	1

static const char *const codec_names[CODEC_COUNT] = {
	"none", "pglz", "lz4", "zstd"
};

/* Name of a method as shown to users. */
const char *
codec_name(int codec)
{
	return codec >= 0 && codec < CODEC_COUNT ? codec_names[codec] : "unknown";
}

/* Bytes that compressing size bytes can need at most. */
Size
codec_bound(int codec, Size size)
{
	switch (codec)
	{
		case CODEC_PGLZ:
			return PGLZ_MAX_OUTPUT(size);
		case CODEC_LZ4:
			return LZ4_compressBound(size);
		case CODEC_ZSTD:
			return ZSTD_compressBound(size);
		default:
			return size;
	}
}

/* All of source by pglz or zstd; 0 when the method gives up. */
static Size
compress_whole(int codec, const char *source, Size size, char *target)
{
	if (codec == CODEC_PGLZ)
	{
		int32		stored = pglz_compress(source, size, target,
										   PGLZ_strategy_always);

		return stored < 0 ? 0 : stored;
	}
	else
	{
		Size		stored = ZSTD_compress(target, ZSTD_compressBound(size),
										   source, size, ZSTD_LEVEL);

		return ZSTD_isError(stored) ? 0 : stored;
	}
}

/*
 * Compress the first *size bytes of source into target, or as many of them
 * as fit in capacity bytes; *size is set to the number taken.  target has
 * codec_bound(codec, *size) bytes.
 *
 * Returns the bytes stored, or 0 when compression does not save at least
 * one byte in 64; *size is unchanged then.
 */
Size
codec_compress(int codec, const char *source, Size *size,
			   char *target, Size capacity)
{
	Size		taken = *size;
	Size		stored = 0;

	if (codec == CODEC_NONE || taken == 0)
		return 0;
	if (codec == CODEC_LZ4)
	{
		int			n = (int) taken;

		stored = LZ4_compress_destSize(source, target, &n, (int) capacity);
		taken = n;
	}
	else
	{
		for (int attempt = 0; attempt < 4; attempt++)
		{
			stored = compress_whole(codec, source, taken, target);
			if (stored <= capacity)
				break;
			/* aim a little below, for the ratio is not the same everywhere */
			taken = (Size) ((double) taken * capacity / stored * 0.97);
			if (taken == 0)
				break;
		}
		if (stored > capacity)
			stored = 0;
	}
	if (stored == 0 || stored > taken - taken / 64)
		return 0;
	*size = taken;
	return stored;
}

/*
 * Compress all of source by lz4 into target, or give up as soon as it turns
 * out not to fit in capacity bytes, and return 0.
 */
Size
codec_lz4_within(const char *source, Size size, char *target, Size capacity)
{
	return LZ4_compress_default(source, target, (int) size, (int) capacity);
}

/* The first wanted bytes of a zstd frame. */
static bool
zstd_prefix(const char *stored, Size stored_size, char *target, Size wanted)
{
	ZSTD_DStream *stream = ZSTD_createDStream();
	ZSTD_inBuffer in = {stored, stored_size, 0};
	ZSTD_outBuffer out = {target, wanted, 0};

	if (stream == NULL)
		return false;
	while (out.pos < out.size)
	{
		Size		before = in.pos + out.pos;
		Size		rc = ZSTD_decompressStream(stream, &out, &in);

		if (ZSTD_isError(rc) || in.pos + out.pos == before)
			break;
	}
	ZSTD_freeDStream(stream);
	return out.pos == out.size;
}

/*
 * How many of a frame's stored bytes are enough to decompress its first
 * wanted bytes.  Each sequence of lz4 gives more bytes than it takes but for
 * the lengths of long literals, a byte for 255; the last literals may be as
 * long as the frame.
 */
Size
codec_prefix(int codec, Size wanted, Size stored_size, Size frame_size)
{
	Size		enough = stored_size;

	if (wanted == frame_size)
		return stored_size;
	if (codec == CODEC_LZ4)
		enough = LZ4_compressBound(wanted) + frame_size / 255;
	else if (codec == CODEC_PGLZ)
		enough = pglz_maximum_compressed_size(wanted, stored_size);
	else if (codec == CODEC_NONE)
		enough = wanted;
	return Min(enough, stored_size);
}

/*
 * Decompress the first wanted bytes of a frame into target, which has room
 * for just as many, from as many stored bytes as codec_prefix() says.
 * Returns false when they are damaged.
 */
bool
codec_decompress(int codec, const char *stored, Size stored_size,
				 char *target, Size wanted, Size frame_size)
{
	switch (codec)
	{
		case CODEC_NONE:
			if (wanted > stored_size)
				return false;
			memcpy(target, stored, wanted);
			return true;
		case CODEC_PGLZ:
			return pglz_decompress(stored, stored_size, target, wanted,
								   wanted == frame_size) == (int32) wanted;
		case CODEC_LZ4:
			if (wanted == frame_size)
				return LZ4_decompress_safe(stored, target, stored_size,
										   wanted) == (int) wanted;
			return LZ4_decompress_safe_partial(stored, target, stored_size,
											   wanted, wanted) ==
				(int) wanted;
		case CODEC_ZSTD:
			if (wanted == frame_size)
				return ZSTD_decompress(target, wanted, stored,
									   stored_size) == wanted;
			return zstd_prefix(stored, stored_size, target, wanted);
		default:
			return false;
	}
}
