/*-------------------------------------------------------------------------
 *
 * tid_list.h
 *	  A growing list of chunks.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PG_TOASTER_TID_LIST_H
#define PG_TOASTER_TID_LIST_H

#include "postgres.h"

#include "storage/itemptr.h"

typedef struct TidList
{
	MemoryContext context;		/* where tids are */
	ItemPointerData *tids;
	int			count;
	int			capacity;
} TidList;

extern void tid_list_init(TidList *list);
extern void tid_list_add(TidList *list, const ItemPointerData *tid);
extern void tid_list_sort(TidList *list);
extern bool tid_list_contains(const TidList *sorted,
							  const ItemPointerData *tid);

#endif							/* PG_TOASTER_TID_LIST_H */
