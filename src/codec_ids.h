/*-------------------------------------------------------------------------
 *
 * codec_ids.h
 *	  The compression methods as they stand in nodes.
 *
 * Numbers on disk: never reuse one.  Kept apart from codec.h so that
 * node_format.c needs no server.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PG_TOASTER_CODEC_IDS_H
#define PG_TOASTER_CODEC_IDS_H

#define CODEC_NONE		0
#define CODEC_PGLZ		1
#define CODEC_LZ4		2
#define CODEC_ZSTD		3
#define CODEC_COUNT		4

#endif							/* PG_TOASTER_CODEC_IDS_H */
