/*-------------------------------------------------------------------------
 *
 * tid_set.h
 *	  A set of chunks.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PG_TOASTER_TID_SET_H
#define PG_TOASTER_TID_SET_H

#include "postgres.h"

#include "storage/itemptr.h"

typedef struct TidSet TidSet;

extern TidSet *tid_set_create(void);
extern void tid_set_add(TidSet *set, ItemPointer tid);
extern bool tid_set_contains(TidSet *set, ItemPointer tid);

#endif							/* PG_TOASTER_TID_SET_H */
