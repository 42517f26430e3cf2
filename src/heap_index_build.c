/*-------------------------------------------------------------------------
 *
 * heap_index_build.c
 *	  The scans that build indexes on our relations.
 *
 * heap's own cannot be used: they read with heap_getnext(), which refuses
 * every relation whose access method is not heap itself.  Letting a relation
 * pass for heap while they run was rejected: the relcache entry is rebuilt
 * when another session grants a right on the table or creates a second index,
 * and from then on the running build fails.  So these are scans of our own,
 * over heap_getnextslot(), with heap's rules for what is indexed and how.
 * The scan descriptor itself, begun by us or handed in, is heap's.
 *
 * What is indexed
 *	1. A build that keeps writers out reads every row version and indexes
 *	   what any snapshot, old or new, can still see.  A concurrent build
 *	   indexes what its own MVCC snapshot sees, and heap_index_validate.c adds
 *	   later ones.
 *	2. A HOT chain has one entry, under the TID of its root line pointer, with
 *	   the values of its last member.  Where an older member may still be
 *	   visible to somebody, the index is marked as broken for old snapshots.
 *	3. Only versions that are alive take part in uniqueness checks.  Where a
 *	   transaction in progress decides about that, wait for it.
 *	4. In a TOAST relation only chunks with an indexed address exist as far
 *	   as the index is concerned: all others are counted and nothing else.
 *
 * Versions that vanish
 *	The horizon of rule 1 is fixed at the start, while the chunks of a dead
 *	version are pruned as soon as nobody needs them any more: what keeps
 *	writers from the table keeps nobody from the TOAST relation.  Hence, for
 *	a version that may become removable during the build, what the index needs
 *	is detoasted before anything is evaluated; then it is asked again, with a
 *	horizon taken afterwards, whether somebody can see the version.
 *
 *	A version that is gone by then is not indexed.  No snapshot of a
 *	transaction that could use the index sees it: such a snapshot would have
 *	held the horizon back, and with it the chunks.  Its chain loses nothing
 *	either: of a chain only the last member is evaluated, and where that is
 *	removable all members are.  An entry of NULLs was rejected as dead weight.
 *	Asking afterwards also covers chunks whose place has been given to another
 *	value in the meantime.
 *
 * Locking: the caller holds ShareLock on the table, or ShareUpdateExclusiveLock
 * for concurrent builds and for summarizing ranges of an index.  The page at
 * hand stays pinned from its first row to its last, which keeps pruning away
 * from the HOT chains in it; it is share-locked only while headers are judged.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/relscan.h"
#include "access/sysattr.h"
#include "access/xact.h"
#include "catalog/catalog.h"
#include "catalog/index.h"
#include "commands/progress.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/bitmapset.h"
#include "optimizer/optimizer.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "storage/procarray.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "compat.h"
#include "heap_index_build.h"
#include "index_rows.h"
#include "row.h"

/* A build. */
typedef struct IndexBuild
{
	IndexRows	rows;
	bool		judging;		/* all versions are read: judge them */
	TransactionId horizon;		/* when judging */
	bool		anyvisible;
	bool		unique;			/* uniqueness or exclusion is checked */
	bool		progress;
	BlockNumber reported;		/* blocks done */
	Bitmapset  *columns;		/* that the index needs, as in sysattr.h */
	TupleTableSlot *flat;		/* a version with detoasted values */
	double		live;			/* rows counted */
} IndexBuild;

/* What is to be done with a row version. */
typedef struct Verdict
{
	bool		indexed;
	bool		counted;		/* as ANALYZE would */
	bool		alive;			/* for uniqueness checks */
	bool		fleeting;		/* may become removable while we look */
	bool		breaks_chain;	/* old snapshots must not use the index */
	TransactionId other;		/* of another session, in progress */
	bool		wait;			/* for it, then judge again */
} Verdict;

/*-------------------------------------------------------------------------
 * Judging row versions
 *-------------------------------------------------------------------------
 */

/* Somebody is inserting the row. */
static void
judge_insert(IndexBuild *build, Verdict *verdict)
{
	HeapTupleHeader header = build->rows.tuple->t_data;
	TransactionId xmin = HeapTupleHeaderGetXmin(header);
	bool		ours = TransactionIdIsCurrentTransactionId(xmin);

	/* should the transaction commit, the row must be in the index */
	verdict->indexed = true;
	verdict->alive = true;
	verdict->counted = ours || build->anyvisible;
	verdict->fleeting = !ours;

	/* should it abort, the row is no duplicate of anything */
	if (!ours && !build->anyvisible)
	{
		verdict->other = xmin;
		verdict->wait = build->unique;
	}
}

/* Somebody is deleting or updating the row. */
static void
judge_delete(IndexBuild *build, Verdict *verdict)
{
	HeapTuple	tuple = build->rows.tuple;
	TransactionId xmax = HeapTupleHeaderGetUpdateXid(tuple->t_data);
	bool		hot = HeapTupleIsHotUpdated(tuple);

	if (build->anyvisible)
	{
		verdict->indexed = true;
		verdict->counted = true;
		verdict->fleeting = true;
	}
	else if (TransactionIdIsCurrentTransactionId(xmax))
	{
		/* if we abort, so does the index: the deletion is as good as done */
		verdict->indexed = !hot;
		verdict->breaks_chain = hot;
	}
	else
	{
		/*
		 * Whether a duplicate of the row is one, and which member of its
		 * chain is the last, is up to the other transaction.
		 */
		verdict->indexed = true;
		verdict->counted = true;
		verdict->fleeting = true;
		verdict->other = xmax;
		verdict->wait = build->unique || hot;
	}
}

/* Judge the version at hand, as things are at this moment. */
static void
judge(IndexBuild *build, Verdict *verdict)
{
	HeapTuple	tuple = build->rows.tuple;
	Buffer		buffer = build->rows.heap->rs_cbuf;

	memset(verdict, 0, sizeof(*verdict));
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	switch (HeapTupleSatisfiesVacuum(tuple, build->horizon, buffer))
	{
		case HEAPTUPLE_DEAD:
			break;
		case HEAPTUPLE_LIVE:
			verdict->indexed = true;
			verdict->counted = true;
			verdict->alive = true;
			/* the lock of this mode does not keep writers out */
			verdict->fleeting = build->anyvisible;
			break;
		case HEAPTUPLE_RECENTLY_DEAD:
			/* old snapshots see it, unless a newer member stands for it */
			verdict->indexed = !HeapTupleIsHotUpdated(tuple);
			verdict->breaks_chain = HeapTupleIsHotUpdated(tuple);
			verdict->fleeting = true;
			break;
		case HEAPTUPLE_INSERT_IN_PROGRESS:
			judge_insert(build, verdict);
			break;
		case HEAPTUPLE_DELETE_IN_PROGRESS:
			judge_delete(build, verdict);
			break;
	}
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
}

/*
 * Tell of another session's write to a locked table.  System catalogs are
 * the exception: locks on them are released before commit.
 */
static void
warn_of_writer(IndexBuild *build, TransactionId xid)
{
	Relation	table = build->rows.table;

	if (!IsSystemRelation(table))
		ereport(WARNING,
				(errcode(ERRCODE_WARNING),
				 errmsg_internal("transaction %u writes to table \"%s\"",
								 xid, RelationGetRelationName(table)),
				 errdetail_internal("An index is being built on it.")));
}

/*
 * Judge the version at hand for good: wait for whom the verdict depends on.
 * What does not concern the index is counted and never waited for.
 */
static void
judge_finally(IndexBuild *build, Verdict *verdict)
{
	bool		concerned = index_rows_concerned(&build->rows);

	for (;;)
	{
		judge(build, verdict);
		if (!concerned)
		{
			verdict->indexed = false;
			verdict->breaks_chain = false;
			return;
		}
		if (!TransactionIdIsValid(verdict->other))
			return;
		warn_of_writer(build, verdict->other);
		if (!verdict->wait)
			return;
		XactLockTableWait(verdict->other, build->rows.table,
						  &build->rows.tuple->t_self, XLTW_InsertIndexUnique);
		CHECK_FOR_INTERRUPTS();
	}
}

/* The verdict on a row that an MVCC snapshot has found visible. */
static void
judge_visible(IndexBuild *build, Verdict *verdict)
{
	memset(verdict, 0, sizeof(*verdict));
	verdict->indexed = index_rows_concerned(&build->rows);
	verdict->counted = true;
	verdict->alive = true;
}

/*-------------------------------------------------------------------------
 * Versions that vanish
 *-------------------------------------------------------------------------
 */

/* The columns that key columns, expressions and the predicate refer to. */
static Bitmapset *
index_columns(IndexInfo *info)
{
	Bitmapset  *columns = NULL;

	for (int i = 0; i < info->ii_NumIndexAttrs; i++)
	{
		int			number = info->ii_IndexAttrNumbers[i];

		/* 0 is an expression here, but the whole row in the set */
		if (number != 0)
			columns = bms_add_member(columns, number -
									 FirstLowInvalidHeapAttributeNumber);
	}
	pull_varattnos((Node *) info->ii_Expressions, 1, &columns);
	pull_varattnos((Node *) info->ii_Predicate, 1, &columns);
	return columns;
}

/* Does the index need a value of this row that is stored out of line? */
static bool
needs_chunks(IndexBuild *build)
{
	TupleDesc	desc = RelationGetDescr(build->rows.table);
	TupleTableSlot *slot = build->rows.slot;
	bool		any = false;
	int			member = -1;

	if (!HeapTupleHasExternal(build->rows.tuple))
		return false;
	while (!any && (member = bms_next_member(build->columns, member)) >= 0)
	{
		int			number = member + FirstLowInvalidHeapAttributeNumber;
		bool		isnull;
		Datum		value;

		if (number == 0)
			any = true;
		else if (number > 0 && TupleDescAttr(desc, number - 1)->attlen == -1)
		{
			value = slot_getattr(slot, number, &isnull);
			any = !isnull && VARATT_IS_EXTERNAL(DatumGetPointer(value));
		}
	}
	return any;
}

/*
 * Can nobody see the version at hand any more?  If chunks are missing, its
 * committed deletion is reason enough: horizons may go backwards, chunks do
 * not come back.
 */
static bool
version_is_gone(IndexBuild *build, bool complete)
{
	TransactionId horizon;
	HTSV_Result status;
	Buffer		buffer = build->rows.heap->rs_cbuf;

	horizon = GetOldestNonRemovableTransactionId(build->rows.table);
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	status = HeapTupleSatisfiesVacuum(build->rows.tuple, horizon, buffer);
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
	return status == HEAPTUPLE_DEAD ||
		(status == HEAPTUPLE_RECENTLY_DEAD && !complete);
}

/*
 * Put the version at hand, with its values detoasted, into a slot and return
 * that; NULL when the version is gone.  The values live in the memory of the
 * row.  A version that is not gone though a chunk is missing is damaged: it
 * is returned as it is, for whatever needs the chunk to raise the error.
 */
static TupleTableSlot *
copy_fleeting(IndexBuild *build)
{
	IndexRows  *rows = &build->rows;
	TupleTableSlot *flat = build->flat;
	MemoryContext oldcontext;
	bool		complete;

	ExecClearTuple(flat);
	oldcontext = MemoryContextSwitchTo(rows->econtext->ecxt_per_tuple_memory);
	complete = row_flatten(rows->table, rows->tuple, flat->tts_values,
						   flat->tts_isnull);
	MemoryContextSwitchTo(oldcontext);
	if (version_is_gone(build, complete))
		return NULL;
	return complete ? ExecStoreVirtualTuple(flat) : rows->slot;
}

/*-------------------------------------------------------------------------
 * Building
 *-------------------------------------------------------------------------
 */

/* How many blocks the scan reads, with all its workers. */
static BlockNumber
blocks_total(HeapScanDesc heap)
{
	if (heap->rs_base.rs_parallel != NULL)
		return ((ParallelBlockTableScanDesc)
				heap->rs_base.rs_parallel)->phs_nblocks;
	return heap->rs_nblocks;
}

/* How many it has read; workers may be ahead of that. */
static BlockNumber
blocks_done(HeapScanDesc heap)
{
	BlockNumber start = heap->rs_startblock;

	if (heap->rs_base.rs_parallel != NULL)
		start = ((ParallelBlockTableScanDesc)
				 heap->rs_base.rs_parallel)->phs_startblock;
	if (heap->rs_cblock >= start)
		return heap->rs_cblock - start;

	/* a synchronized scan starts in the middle and wraps around */
	return blocks_total(heap) - start + heap->rs_cblock;
}

/* Report progress, if it is wanted and there was any. */
static void
build_report(IndexBuild *build, BlockNumber done)
{
	if (!build->progress || done == build->reported)
		return;
	pgstat_progress_update_param(PROGRESS_SCAN_BLOCKS_DONE, done);
	build->reported = done;
}

/*
 * Begin the scan, unless the caller (a parallel build, amcheck) has done so.
 * Returns the snapshot to unregister at the end, or NULL.
 */
static Snapshot
build_begin_scan(IndexBuild *build, TableScanDesc scan, bool allow_sync)
{
	Relation	table = build->rows.table;
	Snapshot	registered = NULL;

	build->horizon = InvalidTransactionId;
	if (!build->rows.info->ii_Concurrent)
		build->horizon = GetOldestNonRemovableTransactionId(table);
	if (scan == NULL)
	{
		Snapshot	snapshot = SnapshotAny;

		if (build->rows.info->ii_Concurrent)
			snapshot = registered = RegisterSnapshot(GetTransactionSnapshot());
		scan = table_beginscan_strat(table, snapshot, 0, NULL, true,
									 allow_sync);
	}
	else
		Assert(allow_sync);
	build->rows.heap = (HeapScanDesc) scan;
	build->judging = scan->rs_snapshot == SnapshotAny;
	Assert(build->judging == TransactionIdIsValid(build->horizon));
	Assert(build->judging || IsMVCCSnapshot(scan->rs_snapshot));
	Assert(build->judging || !build->anyvisible);
	return registered;
}

/*
 * Judge and evaluate the row at hand; true when the access method is to be
 * given its values.
 */
static bool
build_evaluate(IndexBuild *build, Verdict *verdict)
{
	IndexRows  *rows = &build->rows;
	TupleTableSlot *slot = rows->slot;

	if (build->judging)
		judge_finally(build, verdict);
	else
		judge_visible(build, verdict);
	if (verdict->counted)
		build->live += 1;
	if (verdict->breaks_chain)
		rows->info->ii_BrokenHotChain = true;
	if (!verdict->indexed)
		return false;

	MemoryContextReset(rows->econtext->ecxt_per_tuple_memory);
	if (verdict->fleeting && needs_chunks(build))
		slot = copy_fleeting(build);
	return slot != NULL && index_rows_evaluate(rows, slot);
}

/* Give every row to be indexed to the index access method. */
static void
build_rows(IndexBuild *build, IndexBuildCallback callback,
		   void *callback_state)
{
	IndexRows  *rows = &build->rows;
	ItemPointerData tid;
	Verdict		verdict;

	while (index_rows_next(rows))
	{
		build_report(build, blocks_done(rows->heap));
		if (!build_evaluate(build, &verdict))
			continue;
		index_rows_tid(rows, &tid);
		callback(rows->index, &tid, rows->values, rows->isnull, verdict.alive,
				 callback_state);
	}
}

/* Both builds; the arguments are those of the table AM's callback. */
static double
build_index(Relation table, Relation index, IndexInfo *info, bool chunks,
			bool allow_sync, bool anyvisible, bool progress,
			BlockNumber start, BlockNumber count,
			IndexBuildCallback callback, void *callback_state,
			TableScanDesc scan)
{
	IndexBuild	build;
	Snapshot	registered;

	memset(&build, 0, sizeof(build));
	index_rows_begin(&build.rows, table, index, info, chunks);
	build.anyvisible = anyvisible;
	build.unique = info->ii_Unique || info->ii_ExclusionOps != NULL;
	Assert(!(build.anyvisible && build.unique));
	build.progress = progress;
	build.reported = InvalidBlockNumber;
	build.columns = index_columns(info);
	build.flat = MakeSingleTupleTableSlot(RelationGetDescr(table),
										  &TTSOpsVirtual);

	registered = build_begin_scan(&build, scan, allow_sync);
	if (progress)
		pgstat_progress_update_param(PROGRESS_SCAN_BLOCKS_TOTAL,
									 blocks_total(build.rows.heap));
	/* a synchronized scan always reads the whole relation */
	Assert(!allow_sync || (start == 0 && count == InvalidBlockNumber));
	if (!allow_sync)
		heap_setscanlimits(&build.rows.heap->rs_base, start, count);

	build_rows(&build, callback, callback_state);

	build_report(&build, blocks_total(build.rows.heap));
	ExecDropSingleTupleTableSlot(build.flat);
	bms_free(build.columns);
	index_rows_end(&build.rows);
	if (registered != NULL)
		UnregisterSnapshot(registered);
	return build.live;
}

/*
 * index_build_range_scan of toaster: give every row to be indexed of count
 * blocks from start to callback.  Returns the number of live rows.
 */
double
heap_index_build_range_scan(Relation table, Relation index, IndexInfo *info,
							bool allow_sync, bool anyvisible, bool progress,
							BlockNumber start, BlockNumber count,
							IndexBuildCallback callback,
							void *callback_state, TableScanDesc scan)
{
	return build_index(table, index, info, false, allow_sync, anyvisible,
					   progress, start, count, callback, callback_state,
					   scan);
}

/*
 * The same of toaster_chunks.  Rows that the index does not hold count as
 * live rows all the same.
 */
double
heap_index_build_chunks(Relation table, Relation index, IndexInfo *info,
						bool allow_sync, bool anyvisible, bool progress,
						BlockNumber start, BlockNumber count,
						IndexBuildCallback callback, void *callback_state,
						TableScanDesc scan)
{
	return build_index(table, index, info, true, allow_sync, anyvisible,
					   progress, start, count, callback, callback_state,
					   scan);
}
