/*-------------------------------------------------------------------------
 *
 * table_rewrite.c
 *	  VACUUM FULL and CLUSTER: copying rows with their trees.
 *
 * The rows go through heap's rewrite module, which keeps their visibility
 * and update chains; their trees are copied into the TOAST relation of the
 * new table.  When the two TOAST relations are to be swapped by content, the
 * new pointers already name the old one (rd_toastoid).
 *
 * Row versions that are dead but still seen by old snapshots are copied as
 * well, with trees of their own, whose chunks are deleted at once: the
 * version would otherwise leave them behind when it is vacuumed.  If chunks
 * of such a version are gone, nobody can see it any more: it is dropped.
 *
 * Caller holds AccessExclusiveLock on both tables and their TOAST relations.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/genam.h"
#include "access/heapam.h"
#include "access/heaptoast.h"
#include "access/htup_details.h"
#include "access/rewriteheap.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "commands/progress.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/tuplesort.h"

#include "compat.h"
#include "heap_seam.h"
#include "pointer.h"
#include "row.h"
#include "table_rewrite.h"
#include "toaster.h"

/* Defaults of added columns that are shorter stay in the row. */
#define SHORT_DEFAULT	(TOAST_TUPLE_TARGET / 4)

/* What VACUUM's rules say about a row version. */
typedef enum RowFate
{
	ROW_DEAD,					/* to nobody: not copied */
	ROW_RECENTLY_DEAD,			/* old snapshots see it */
	ROW_LIVE
} RowFate;

typedef struct TableRewrite
{
	Relation	old_rel;
	Relation	new_rel;
	TransactionId oldest_xmin;
	RewriteState state;
	Tuplesortstate *sort;		/* NULL: rows are written as they come */
	bool		has_trees;		/* is there a TOAST relation on both sides? */
	ChunkStore	source;
	ChunkStore	target;
	TreeWrite	write;			/* into target */
	ChunkList	dropped;		/* stays empty: nothing old is replaced */
	MemoryContext row_context;	/* reset for every row */
	Datum	   *values;
	bool	   *isnull;
	double		num_tuples;
	double		tups_vacuumed;
	double		tups_recently_dead;
} TableRewrite;

/* Another transaction at work cannot be, given the caller's locks. */
static void
warn_in_progress(TableRewrite *rewrite, const char *what)
{
	elog(WARNING, "concurrent %s in progress within table \"%s\"", what,
		 RelationGetRelationName(rewrite->old_rel));
}

/* Classify the row version in the locked buffer. */
static RowFate
row_fate(TableRewrite *rewrite, HeapTuple tuple, Buffer buffer)
{
	TransactionId xid;

	switch (HeapTupleSatisfiesVacuum(tuple, rewrite->oldest_xmin, buffer))
	{
		case HEAPTUPLE_DEAD:
			return ROW_DEAD;
		case HEAPTUPLE_RECENTLY_DEAD:
			return ROW_RECENTLY_DEAD;
		case HEAPTUPLE_INSERT_IN_PROGRESS:
			xid = HeapTupleHeaderGetXmin(tuple->t_data);
			if (!TransactionIdIsCurrentTransactionId(xid))
				warn_in_progress(rewrite, "insert");
			return ROW_LIVE;
		case HEAPTUPLE_DELETE_IN_PROGRESS:
			xid = HeapTupleHeaderGetUpdateXid(tuple->t_data);
			if (!TransactionIdIsCurrentTransactionId(xid))
				warn_in_progress(rewrite, "delete");
			return ROW_RECENTLY_DEAD;
		case HEAPTUPLE_LIVE:
			return ROW_LIVE;
	}
	elog(ERROR, "unexpected HeapTupleSatisfiesVacuum result");
	return ROW_LIVE;			/* keep compiler quiet */
}

/*
 * Copy the trees that rewrite->values point to and put pointers to the
 * copies in their place.  Returns false when a chunk is missing.
 */
static bool
copy_trees(TableRewrite *rewrite)
{
	TupleDesc	desc = RelationGetDescr(rewrite->new_rel);

	for (int i = 0; i < desc->natts; i++)
	{
		struct varlena *value;
		TreePointer pointer;
		TreePointer copy;

		if (rewrite->isnull[i] || TupleDescAttr(desc, i)->attlen != -1)
			continue;
		value = (struct varlena *) DatumGetPointer(rewrite->values[i]);
		if (!VARATT_IS_EXTERNAL_ONDISK(value))
			continue;
		pointer_read(value, &pointer);
		rewrite->write.codec = row_column_codec(TupleDescAttr(desc, i));
		if (!toaster_copy(&rewrite->source, &pointer, &rewrite->write,
						  &copy))
			return false;
		rewrite->values[i] = PointerGetDatum(pointer_make(&copy));
	}
	return true;
}

/*
 * A row from before ALTER TABLE ADD COLUMN .. DEFAULT is written with the
 * default, which may be too long for a row: make that a tree.  natts is the
 * number of attributes that the row had.
 */
static void
store_missing(TableRewrite *rewrite, int natts)
{
	TupleDesc	desc = RelationGetDescr(rewrite->new_rel);

	if (heap_compute_data_size(desc, rewrite->values, rewrite->isnull) <=
		TOAST_TUPLE_TARGET)
		return;
	for (int i = natts; i < desc->natts; i++)
	{
		Form_pg_attribute attr = TupleDescAttr(desc, i);
		struct varlena *value;
		FlatValue	flat;
		TreePointer pointer;

		if (rewrite->isnull[i] || attr->attlen != -1 ||
			attr->attstorage == TYPSTORAGE_PLAIN ||
			toast_raw_datum_size(rewrite->values[i]) < SHORT_DEFAULT)
			continue;
		value = PG_DETOAST_DATUM_PACKED(rewrite->values[i]);
		flat_value_init(&flat, VARDATA_ANY(value), VARSIZE_ANY_EXHDR(value));
		rewrite->write.codec = row_column_codec(attr);
		toaster_for_type(attr->atttypid)->save(&rewrite->write, &flat,
											   &pointer);
		rewrite->values[i] = PointerGetDatum(pointer_make(&pointer));
	}
}

/*
 * Is the row version seen only by snapshots older than this command?  Says
 * so for all that row_fate() calls recently dead.
 */
static bool
row_is_dead(TableRewrite *rewrite, HeapTuple tuple)
{
	TransactionId xmax;

	if ((tuple->t_data->t_infomask & HEAP_XMAX_INVALID) != 0 ||
		HEAP_XMAX_IS_LOCKED_ONLY(tuple->t_data->t_infomask))
		return false;
	xmax = HeapTupleHeaderGetUpdateXid(tuple->t_data);
	return TransactionIdIsCurrentTransactionId(xmax) ||
		TransactionIdDidCommit(xmax);
}

/* A version that turned out to be dead: heap's module wants to know. */
static void
count_dead(TableRewrite *rewrite, HeapTuple tuple)
{
	rewrite->tups_vacuumed += 1;
	if (rewrite_heap_dead_tuple(rewrite->state, tuple))
	{
		/* an earlier version of the row is known to be dead now, too */
		rewrite->tups_vacuumed += 1;
		rewrite->tups_recently_dead -= 1;
	}
}

/*
 * Write the trees of a row and put pointers to them into rewrite->values.
 * Returns false when the version turned out to be dead.
 */
static bool
rewrite_trees(TableRewrite *rewrite, HeapTuple tuple)
{
	int			natts = HeapTupleHeaderGetNatts(tuple->t_data);
	bool		dead = row_is_dead(rewrite, tuple);
	bool		complete;
	ChunkList	written;

	chunk_list_init(&written);
	rewrite->target.written = dead ? &written : NULL;
	complete = !HeapTupleHasExternal(tuple) || copy_trees(rewrite);
	if (!complete && !dead)
		chunk_store_raise(&rewrite->source);
	if (complete && natts < RelationGetNumberOfAttributes(rewrite->new_rel))
		store_missing(rewrite, natts);
	rewrite->target.written = NULL;
	for (int i = 0; i < written.count; i++)
		chunk_store_drop_new(&rewrite->target, &written.places[i].tid);
	return complete;
}

/* Copy a row with its trees into the new table. */
static void
rewrite_row(TableRewrite *rewrite, HeapTuple tuple)
{
	MemoryContext caller = MemoryContextSwitchTo(rewrite->row_context);
	TupleDesc	desc = RelationGetDescr(rewrite->new_rel);

	heap_deform_tuple(tuple, RelationGetDescr(rewrite->old_rel),
					  rewrite->values, rewrite->isnull);
	for (int i = 0; i < desc->natts; i++)
	{
		if (TupleDescAttr(desc, i)->attisdropped)
			rewrite->isnull[i] = true;
	}
	if (!rewrite->has_trees || rewrite_trees(rewrite, tuple))
	{
		HeapTuple	copy = heap_form_tuple(desc, rewrite->values,
										   rewrite->isnull);

		MemoryContextSwitchTo(caller);
		heap_seam_rewrite(rewrite->state, rewrite->new_rel, tuple, copy);
	}
	else
	{
		MemoryContextSwitchTo(caller);
		count_dead(rewrite, tuple);
		rewrite->tups_recently_dead -= 1;
		rewrite->num_tuples -= 1;
	}
	MemoryContextReset(rewrite->row_context);
}

/* Handle the next row version of the old table. */
static void
take_row(TableRewrite *rewrite, TupleTableSlot *slot)
{
	HeapTuple	tuple = ExecFetchSlotHeapTuple(slot, false, NULL);
	Buffer		buffer = ((BufferHeapTupleTableSlot *) slot)->buffer;
	RowFate		fate;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	fate = row_fate(rewrite, tuple, buffer);
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
	if (fate == ROW_DEAD)
	{
		count_dead(rewrite, tuple);
		return;
	}
	if (fate == ROW_RECENTLY_DEAD)
		rewrite->tups_recently_dead += 1;
	rewrite->num_tuples += 1;
	if (rewrite->sort != NULL)
		tuplesort_putheaptuple(rewrite->sort, tuple);
	else
		rewrite_row(rewrite, tuple);
	pgstat_progress_update_param(PROGRESS_CLUSTER_HEAP_TUPLES_SCANNED,
								 rewrite->num_tuples);
	if (rewrite->sort == NULL)
		pgstat_progress_update_param(PROGRESS_CLUSTER_HEAP_TUPLES_WRITTEN,
									 rewrite->num_tuples);
}

/* Go through the old table in the order of an index. */
static void
scan_by_index(TableRewrite *rewrite, Relation index)
{
	TupleTableSlot *slot = table_slot_create(rewrite->old_rel, NULL);
	IndexScanDesc scan;

	pgstat_progress_update_param(PROGRESS_CLUSTER_PHASE,
								 PROGRESS_CLUSTER_PHASE_INDEX_SCAN_HEAP);
	pgstat_progress_update_param(PROGRESS_CLUSTER_INDEX_RELID,
								 RelationGetRelid(index));
	scan = compat_index_beginscan(rewrite->old_rel, index, SnapshotAny, 0);
	index_rescan(scan, NULL, 0, NULL, 0);
	while (index_getnext_slot(scan, ForwardScanDirection, slot))
	{
		CHECK_FOR_INTERRUPTS();
		if (scan->xs_recheck)
			elog(ERROR, "CLUSTER does not support lossy index conditions");
		take_row(rewrite, slot);
	}
	index_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
}

/* Go through the old table in its own order. */
static void
scan_by_place(TableRewrite *rewrite)
{
	TupleTableSlot *slot = table_slot_create(rewrite->old_rel, NULL);
	TableScanDesc scan;
	HeapScanDesc heap_scan;
	BlockNumber seen = InvalidBlockNumber;

	pgstat_progress_update_param(PROGRESS_CLUSTER_PHASE,
								 PROGRESS_CLUSTER_PHASE_SEQ_SCAN_HEAP);
	scan = table_beginscan(rewrite->old_rel, SnapshotAny, 0, NULL);
	heap_scan = (HeapScanDesc) scan;
	pgstat_progress_update_param(PROGRESS_CLUSTER_TOTAL_HEAP_BLKS,
								 heap_scan->rs_nblocks);
	while (table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		CHECK_FOR_INTERRUPTS();
		if (seen != heap_scan->rs_cblock)
		{
			/* a synchronized scan may start in the middle and wrap around */
			seen = heap_scan->rs_cblock;
			pgstat_progress_update_param(PROGRESS_CLUSTER_HEAP_BLKS_SCANNED,
										 (seen + heap_scan->rs_nblocks -
										  heap_scan->rs_startblock) %
										 heap_scan->rs_nblocks + 1);
		}
		take_row(rewrite, slot);
	}
	pgstat_progress_update_param(PROGRESS_CLUSTER_HEAP_BLKS_SCANNED,
								 heap_scan->rs_nblocks);
	table_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
}

/* Write the rows that were sorted. */
static void
write_sorted(TableRewrite *rewrite)
{
	HeapTuple	tuple;
	double		written = 0;

	pgstat_progress_update_param(PROGRESS_CLUSTER_PHASE,
								 PROGRESS_CLUSTER_PHASE_SORT_TUPLES);
	tuplesort_performsort(rewrite->sort);
	pgstat_progress_update_param(PROGRESS_CLUSTER_PHASE,
								 PROGRESS_CLUSTER_PHASE_WRITE_NEW_HEAP);
	while ((tuple = tuplesort_getheaptuple(rewrite->sort, true)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		rewrite_row(rewrite, tuple);
		written += 1;
		pgstat_progress_update_param(PROGRESS_CLUSTER_HEAP_TUPLES_WRITTEN,
									 written);
	}
	tuplesort_end(rewrite->sort);
}

static void
rewrite_begin(TableRewrite *rewrite, Relation old_rel, Relation new_rel)
{
	int			natts = RelationGetNumberOfAttributes(new_rel);

	memset(rewrite, 0, sizeof(*rewrite));
	rewrite->old_rel = old_rel;
	rewrite->new_rel = new_rel;
	rewrite->values = palloc(natts * sizeof(Datum));
	rewrite->isnull = palloc(natts * sizeof(bool));
	rewrite->row_context = AllocSetContextCreate(CurrentMemoryContext,
												 "toaster rewrite row",
												 ALLOCSET_DEFAULT_SIZES);
	chunk_list_init(&rewrite->dropped);
	rewrite->has_trees = OidIsValid(old_rel->rd_rel->reltoastrelid) &&
		OidIsValid(new_rel->rd_rel->reltoastrelid);
	if (rewrite->has_trees)
	{
		chunk_store_open(&rewrite->source, old_rel->rd_rel->reltoastrelid,
						 AccessShareLock);
		chunk_store_open(&rewrite->target, new_rel->rd_rel->reltoastrelid,
						 RowExclusiveLock);
		rewrite->target.options = TABLE_INSERT_SKIP_FSM;
		rewrite->write.store = &rewrite->target;
		rewrite->write.toastrelid = OidIsValid(new_rel->rd_toastoid) ?
			new_rel->rd_toastoid : new_rel->rd_rel->reltoastrelid;
		rewrite->write.dropped = &rewrite->dropped;
	}
}

/*
 * Copy old_rel into the empty new_rel, in the order of an index if one is
 * given, by scanning it or by sorting.  The callback relation_copy_for_
 * cluster of the table access method.
 */
void
table_rewrite_copy(Relation old_rel, Relation new_rel, Relation old_index,
				   bool use_sort, TransactionId oldest_xmin,
				   TransactionId *xid_cutoff, MultiXactId *multi_cutoff,
				   double *num_tuples, double *tups_vacuumed,
				   double *tups_recently_dead)
{
	TableRewrite rewrite;

	rewrite_begin(&rewrite, old_rel, new_rel);
	rewrite.oldest_xmin = oldest_xmin;
	rewrite.state = begin_heap_rewrite(old_rel, new_rel, oldest_xmin,
									   *xid_cutoff, *multi_cutoff);
	if (use_sort)
		rewrite.sort = tuplesort_begin_cluster(RelationGetDescr(old_rel),
											   old_index,
											   maintenance_work_mem, NULL,
											   TUPLESORT_NONE);
	if (old_index != NULL && !use_sort)
		scan_by_index(&rewrite, old_index);
	else
		scan_by_place(&rewrite);
	if (use_sort)
		write_sorted(&rewrite);
	heap_seam_end_rewrite(rewrite.state, new_rel);
	if (rewrite.has_trees)
	{
		chunk_store_close(&rewrite.source);
		chunk_store_close(&rewrite.target);
	}
	MemoryContextDelete(rewrite.row_context);
	pfree(rewrite.values);
	pfree(rewrite.isnull);
	*num_tuples += rewrite.num_tuples;
	*tups_vacuumed += rewrite.tups_vacuumed;
	*tups_recently_dead += rewrite.tups_recently_dead;
}
