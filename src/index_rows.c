/*-------------------------------------------------------------------------
 *
 * index_rows.c
 *	  The rows of one of our relations, as the scans for an index see them.
 *
 * Locking: the page at hand stays pinned from its first row to its last,
 * which keeps pruning away from the HOT chains in it; it is share-locked only
 * while the chains are followed.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/index.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "index_rows.h"
#include "pointer.h"

/*
 * Set up everything but rows->heap, the scan, which the caller has begun when
 * it takes the first row.
 */
void
index_rows_begin(IndexRows *rows, Relation table, Relation index,
				 IndexInfo *info, bool chunks)
{
	rows->table = table;
	rows->index = index;
	rows->info = info;
	rows->chunks = chunks;
	rows->block = InvalidBlockNumber;
	rows->slot = MakeSingleTupleTableSlot(RelationGetDescr(table),
										  &TTSOpsBufferHeapTuple);
	rows->estate = CreateExecutorState();
	rows->econtext = GetPerTupleExprContext(rows->estate);
	rows->predicate = ExecPrepareQual(info->ii_Predicate, rows->estate);
}

/* End the scan and release what index_rows_begin() made. */
void
index_rows_end(IndexRows *rows)
{
	ExecDropSingleTupleTableSlot(rows->slot);
	table_endscan(&rows->heap->rs_base);
	FreeExecutorState(rows->estate);

	/* FormIndexDatum() and we have put states of that executor there */
	rows->info->ii_ExpressionsState = NIL;
	rows->info->ii_PredicateState = NULL;
}

/* Find the roots of the HOT chains in the page at hand. */
static void
find_roots(IndexRows *rows)
{
	Buffer		buffer = rows->heap->rs_cbuf;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	heap_get_root_tuples(BufferGetPage(buffer), rows->roots);
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
	rows->block = rows->heap->rs_cblock;
}

/*
 * Step to the next row; false at the end.  The roots are found at the first
 * row of a page, not when one is needed, since the chain of an update that
 * aborts meanwhile may be cut.
 */
bool
index_rows_next(IndexRows *rows)
{
	CHECK_FOR_INTERRUPTS();
	if (!heap_getnextslot(&rows->heap->rs_base, ForwardScanDirection,
						  rows->slot))
		return false;
	rows->tuple = ExecFetchSlotHeapTuple(rows->slot, false, NULL);
	if (rows->heap->rs_cblock != rows->block)
		find_roots(rows);
	return true;
}

/* Does the index have to do with this row at all? */
bool
index_rows_concerned(IndexRows *rows)
{
	Datum		chunk_id;
	bool		isnull;

	if (!rows->chunks)
		return true;
	chunk_id = heap_getattr(rows->tuple, 1, RelationGetDescr(rows->table),
							&isnull);
	return !isnull && address_is_indexed(DatumGetObjectId(chunk_id));
}

/*
 * Set *tid to the TID under which the row is indexed.  Members may have been
 * added to chains after the roots of the page were found, where the lock on
 * the table allows it: look again before calling it damage.
 */
void
index_rows_tid(IndexRows *rows, ItemPointer tid)
{
	OffsetNumber offset = ItemPointerGetOffsetNumber(&rows->tuple->t_self);

	*tid = rows->tuple->t_self;
	if (!HeapTupleIsHeapOnly(rows->tuple))
		return;
	if (!OffsetNumberIsValid(rows->roots[offset - 1]))
		find_roots(rows);
	if (!OffsetNumberIsValid(rows->roots[offset - 1]))
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg_internal("heap-only tuple (%u,%u) is in no chain",
								 ItemPointerGetBlockNumber(tid), offset),
				 errdetail_internal("It belongs to relation \"%s\".",
									RelationGetRelationName(rows->table))));
	ItemPointerSetOffsetNumber(tid, rows->roots[offset - 1]);
}

/*
 * Compute the values to index from the row in slot; false when the predicate
 * excludes it.  They live in the memory of the row.
 */
bool
index_rows_evaluate(IndexRows *rows, TupleTableSlot *slot)
{
	rows->econtext->ecxt_scantuple = slot;
	if (rows->predicate != NULL && !ExecQual(rows->predicate, rows->econtext))
		return false;
	FormIndexDatum(rows->info, slot, rows->estate, rows->values,
				   rows->isnull);
	return true;
}
