/*-------------------------------------------------------------------------
 *
 * codec.h
 *	  Compression of frames by lz4, pglz or zstd.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PG_TOASTER_CODEC_H
#define PG_TOASTER_CODEC_H

#include "postgres.h"

#include "codec_ids.h"

extern const char *codec_name(int codec);
extern Size codec_bound(int codec, Size size);
extern Size codec_prefix(int codec, Size wanted, Size stored_size,
						 Size frame_size);
extern Size codec_compress(int codec, const char *source, Size *size,
						   char *target, Size capacity);
extern Size codec_lz4_within(const char *source, Size size, char *target,
							 Size capacity);
extern bool codec_decompress(int codec, const char *stored, Size stored_size,
							 char *target, Size wanted, Size frame_size);

#endif							/* PG_TOASTER_CODEC_H */
