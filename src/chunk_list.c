/*-------------------------------------------------------------------------
 *
 * chunk_list.c
 *	  A growing list of chunks.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "chunk_list.h"

/* An empty list in the current memory context. */
void
chunk_list_init(ChunkList *list)
{
	list->context = CurrentMemoryContext;
	list->places = NULL;
	list->count = 0;
	list->capacity = 0;
}

/* Append a chunk. */
void
chunk_list_add(ChunkList *list, const ItemPointerData *tid, uint32 chunk_id)
{
	if (list->count == list->capacity)
	{
		list->capacity = Max(16, list->capacity * 2);
		if (list->places == NULL)
			list->places = MemoryContextAlloc(list->context,
											  list->capacity *
											  sizeof(ChunkPlace));
		else
			list->places = repalloc_huge(list->places,
										 list->capacity *
										 sizeof(ChunkPlace));
	}
	list->places[list->count].tid = *tid;
	list->places[list->count].chunk_id = chunk_id;
	list->count++;
}

/* Take a chunk out, if it is there; the last ones are found first. */
void
chunk_list_remove(ChunkList *list, const ItemPointerData *tid)
{
	for (int i = list->count - 1; i >= 0; i--)
	{
		if (!ItemPointerEquals(&list->places[i].tid,
							   unconstify(ItemPointerData *, tid)))
			continue;
		list->places[i] = list->places[--list->count];
		break;
	}
}

static int
compare_places(const void *a, const void *b)
{
	const ChunkPlace *x = a;
	const ChunkPlace *y = b;

	return ItemPointerCompare((ItemPointer) &x->tid, (ItemPointer) &y->tid);
}

/* Sort by place. */
void
chunk_list_sort(ChunkList *list)
{
	if (list->count > 1)
		qsort(list->places, list->count, sizeof(ChunkPlace), compare_places);
}

/* Is the chunk in a list that was sorted? */
bool
chunk_list_contains(const ChunkList *sorted, const ItemPointerData *tid)
{
	ChunkPlace	place = {*tid, 0};

	return sorted->count > 0 &&
		bsearch(&place, sorted->places, sorted->count, sizeof(ChunkPlace),
				compare_places) != NULL;
}
