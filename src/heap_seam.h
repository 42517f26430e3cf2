/*-------------------------------------------------------------------------
 *
 * heap_seam.h
 *	  Writing rows through heap without its own TOASTing.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PG_TOASTER_HEAP_SEAM_H
#define PG_TOASTER_HEAP_SEAM_H

#include "postgres.h"

#include "access/heapam.h"
#include "access/rewriteheap.h"

#include "compat.h"

extern void heap_seam_insert(Relation rel, HeapTuple tuple, CommandId cid,
							 int options, BulkInsertState bistate);
extern void heap_seam_multi_insert(Relation rel, TupleTableSlot **slots,
								   int count, CommandId cid, int options,
								   BulkInsertState bistate);
extern TM_Result heap_seam_update(Relation rel, ItemPointer otid,
								  HeapTuple tuple, CommandId cid,
								  Snapshot crosscheck, bool wait,
								  TM_FailureData *tmfd,
								  LockTupleMode *lockmode,
								  CompatUpdateIndexes *update_indexes);
extern TM_Result heap_seam_delete(Relation rel, ItemPointer tid,
								  CommandId cid, Snapshot crosscheck,
								  bool wait, TM_FailureData *tmfd,
								  bool changing_part);
extern void heap_seam_rewrite(RewriteState state, Relation new_rel,
							  HeapTuple old_tuple, HeapTuple new_tuple);
extern void heap_seam_end_rewrite(RewriteState state, Relation new_rel);
extern TM_Result heap_seam_update_node(Relation toastrel, ItemPointer otid,
									   HeapTuple tuple, CommandId cid);
extern void heap_seam_prune(Relation toastrel, Buffer buffer);

#endif							/* PG_TOASTER_HEAP_SEAM_H */
