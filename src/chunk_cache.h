/*-------------------------------------------------------------------------
 *
 * chunk_cache.h
 *	  Copies of pages of TOAST relations that small chunks were read from.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PG_TOASTER_CHUNK_CACHE_H
#define PG_TOASTER_CHUNK_CACHE_H

#include "postgres.h"

#include "chunk_store.h"

extern bool chunk_cache_get(Oid relid, ItemPointer tid, Chunk *chunk);
extern bool chunk_cache_wants(Oid relid, BlockNumber block, Page page);
extern void chunk_cache_begin(Oid relid, BlockNumber block, Page page);
extern void chunk_cache_add(const Chunk *chunk, Page page);
extern void chunk_cache_reset(void);
extern void chunk_cache_init(void);

#endif							/* PG_TOASTER_CHUNK_CACHE_H */
