/*-------------------------------------------------------------------------
 *
 * chunk_list.h
 *	  A growing list of chunks.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PG_TOASTER_CHUNK_LIST_H
#define PG_TOASTER_CHUNK_LIST_H

#include "postgres.h"

#include "storage/itemptr.h"

/* Where a chunk is, and what its chunk_id must be. */
typedef struct ChunkPlace
{
	ItemPointerData tid;
	uint32		chunk_id;
} ChunkPlace;

typedef struct ChunkList
{
	MemoryContext context;		/* where places are */
	ChunkPlace *places;
	int			count;
	int			capacity;
} ChunkList;

extern void chunk_list_init(ChunkList *list);
extern void chunk_list_add(ChunkList *list, const ItemPointerData *tid,
						   uint32 chunk_id);
extern void chunk_list_remove(ChunkList *list, const ItemPointerData *tid);
extern void chunk_list_sort(ChunkList *list);
extern bool chunk_list_contains(const ChunkList *sorted,
								const ItemPointerData *tid);

#endif							/* PG_TOASTER_CHUNK_LIST_H */
