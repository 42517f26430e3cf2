/*-------------------------------------------------------------------------
 *
 * tid_list.c
 *	  A growing list of chunks.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "tid_list.h"

/* An empty list in the current memory context. */
void
tid_list_init(TidList *list)
{
	list->context = CurrentMemoryContext;
	list->tids = NULL;
	list->count = 0;
	list->capacity = 0;
}

/* Append a chunk. */
void
tid_list_add(TidList *list, const ItemPointerData *tid)
{
	if (list->count == list->capacity)
	{
		list->capacity = Max(16, list->capacity * 2);
		if (list->tids == NULL)
			list->tids = MemoryContextAlloc(list->context,
											list->capacity * sizeof(*tid));
		else
			list->tids = repalloc_huge(list->tids,
									   list->capacity * sizeof(*tid));
	}
	list->tids[list->count++] = *tid;
}

static int
compare_tids(const void *a, const void *b)
{
	return ItemPointerCompare((ItemPointer) a, (ItemPointer) b);
}

/* Sort by place. */
void
tid_list_sort(TidList *list)
{
	if (list->count > 1)
		qsort(list->tids, list->count, sizeof(ItemPointerData),
			  compare_tids);
}

/* Is the chunk in a list that was sorted? */
bool
tid_list_contains(const TidList *sorted, const ItemPointerData *tid)
{
	return sorted->count > 0 &&
		bsearch(tid, sorted->tids, sorted->count, sizeof(ItemPointerData),
				compare_tids) != NULL;
}
