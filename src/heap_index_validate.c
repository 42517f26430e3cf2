/*-------------------------------------------------------------------------
 *
 * heap_index_validate.c
 *	  The scans that validate indexes on our relations.
 *
 * The last step of a concurrent build: whatever a second snapshot sees and
 * the index lacks is inserted, by a merge of the rows with the sorted TIDs
 * of the index.  That snapshot keeps the chunks of all these rows, so that
 * none of the precautions of heap_index_build.c is needed.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "catalog/index.h"
#include "commands/progress.h"
#include "pgstat.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "compat.h"
#include "heap_index_build.h"
#include "index_rows.h"

/* The TIDs in the index under validation, in order, merged with the rows. */
typedef struct IndexCursor
{
	Tuplesortstate *sort;
	bool		started;
	bool		ended;
	ItemPointerData tid;		/* at hand when started and not ended */
	BlockNumber block;			/* the page that passed[] is of */
	bool		passed[MaxHeapTuplesPerPage];	/* by line pointer */
} IndexCursor;


/* Step to the next TID in the index. */
static void
cursor_next(IndexCursor *cursor)
{
	int64		encoded;

	cursor->started = true;
	cursor->ended = !compat_tuplesort_next_int64(cursor->sort, &encoded);
	if (!cursor->ended)
		itemptr_decode(&cursor->tid, encoded);
}

/*
 * Is tid in the index?  Rows come in the order of their own TIDs, but are
 * looked for under those of their chains' roots, which within a page may go
 * backwards: hence what was passed in the page is remembered.
 */
static bool
cursor_find(IndexCursor *cursor, ItemPointer tid)
{
	BlockNumber block = ItemPointerGetBlockNumber(tid);

	if (cursor->block != block)
	{
		memset(cursor->passed, 0, sizeof(cursor->passed));
		cursor->block = block;
	}
	if (!cursor->started)
		cursor_next(cursor);
	while (!cursor->ended && ItemPointerCompare(&cursor->tid, tid) < 0)
	{
		if (ItemPointerGetBlockNumber(&cursor->tid) == block)
			cursor->passed[ItemPointerGetOffsetNumber(&cursor->tid) - 1] = true;
		cursor_next(cursor);
	}
	return cursor->passed[ItemPointerGetOffsetNumber(tid) - 1] ||
		(!cursor->ended && ItemPointerEquals(&cursor->tid, tid));
}

/*
 * Index the row at hand under tid.  Uniqueness is checked even if the row
 * was updated since: who made a HOT update relied on this entry, and the
 * check looks at the whole chain.
 */
static void
validate_insert(IndexRows *rows, ItemPointer tid, ValidateIndexState *state)
{
	MemoryContextReset(rows->econtext->ecxt_per_tuple_memory);
	if (!index_rows_evaluate(rows, rows->slot))
		return;
	index_insert(rows->index, rows->values, rows->isnull, tid, rows->table,
				 rows->info->ii_Unique ? UNIQUE_CHECK_YES : UNIQUE_CHECK_NO,
				 false, rows->info);
	state->tups_inserted += 1;
}

/* Both validate scans. */
static void
validate_index_of(Relation table, Relation index, IndexInfo *info,
				  bool chunks, Snapshot snapshot, ValidateIndexState *state)
{
	IndexRows	rows;
	IndexCursor cursor;
	ItemPointerData tid;
	BlockNumber reported = InvalidBlockNumber;

	memset(&cursor, 0, sizeof(cursor));
	cursor.sort = state->tuplesort;
	cursor.block = InvalidBlockNumber;
	index_rows_begin(&rows, table, index, info, chunks);

	/* from block 0 on, for the merge: never a synchronized scan */
	rows.heap = (HeapScanDesc) table_beginscan_strat(table, snapshot, 0, NULL,
													 true, false);
	pgstat_progress_update_param(PROGRESS_SCAN_BLOCKS_TOTAL,
								 rows.heap->rs_nblocks);
	while (index_rows_next(&rows))
	{
		state->htups += 1;
		if (reported != rows.block)
			pgstat_progress_update_param(PROGRESS_SCAN_BLOCKS_DONE,
										 rows.block);
		reported = rows.block;
		if (!index_rows_concerned(&rows))
			continue;
		index_rows_tid(&rows, &tid);
		if (!cursor_find(&cursor, &tid))
			validate_insert(&rows, &tid, state);
	}
	index_rows_end(&rows);
}

/*
 * index_validate_scan of toaster: insert what snapshot sees and the index
 * does not have.  The snapshot keeps the chunks of all these rows.
 */
void
heap_index_validate_scan(Relation table, Relation index, IndexInfo *info,
						 Snapshot snapshot, ValidateIndexState *state)
{
	validate_index_of(table, index, info, false, snapshot, state);
}

/* The same of toaster_chunks. */
void
heap_index_validate_chunks(Relation table, Relation index, IndexInfo *info,
						   Snapshot snapshot, ValidateIndexState *state)
{
	validate_index_of(table, index, info, true, snapshot, state);
}
