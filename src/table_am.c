/*-------------------------------------------------------------------------
 *
 * table_am.c
 *	  toaster, the access method of users' tables.
 *
 * heap, with these callbacks replaced:
 *
 *	tuple_insert,				move large values into trees, then hand the
 *	tuple_insert_speculative,	row to heap
 *	multi_insert,
 *	tuple_update
 *	tuple_delete				deletes the trees with the row
 *	tuple_complete_speculative	kills the trees of a row that lost
 *	relation_copy_for_cluster	copies the trees with the rows
 *	relation_toast_am			names toaster_chunks
 *	index_build_range_scan,		heap's refuse a table whose access method is
 *	index_validate_scan			not heap itself
 *
 * The slot that a row came in keeps its flat values, so that the index
 * entries that are made next need not read back what was just written; it is
 * given the header and the place of the stored row.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/tableam.h"
#include "commands/defrem.h"
#include "executor/tuptable.h"
#include "fmgr.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "compat.h"
#include "heap_index_build.h"
#include "heap_seam.h"
#include "row.h"
#include "table_am.h"
#include "table_rewrite.h"
#include "toast_am.h"

static TableAmRoutine toaster_routine;

/* Give the slot's own tuple what heap has put into the stored one. */
static void
copy_header(HeapTuple tuple, HeapTuple stored)
{
	HeapTupleHeader to = tuple->t_data;
	HeapTupleHeader from = stored->t_data;

	tuple->t_self = stored->t_self;
	to->t_choice = from->t_choice;
	to->t_ctid = from->t_ctid;
	to->t_infomask = (to->t_infomask & ~HEAP_XACT_MASK) |
		(from->t_infomask & HEAP_XACT_MASK);
	to->t_infomask2 = (to->t_infomask2 & ~HEAP2_XACT_MASK) |
		(from->t_infomask2 & HEAP2_XACT_MASK);
}

/*
 * Finish a plan whose row is stored.  tuple, the slot's or a copy of it, gets
 * the header of the stored one.  What was edited in memory does not outlive
 * the row: the slot gets what was stored in its place.
 */
static void
finish_plan(RowPlan *plan, TupleTableSlot *slot, HeapTuple tuple, bool is_copy,
			HeapTuple stored)
{
	ItemPointerData tid = stored->t_self;
	Oid			table = stored->t_tableOid;

	copy_header(tuple, stored);
	if (!row_plan_settle(plan, tuple))
		ExecForceStoreHeapTuple(heap_copytuple(stored), slot, true);
	else if (is_copy && HeapTupleHasExternal(tuple))
		ExecForceStoreHeapTuple(heap_copytuple(tuple), slot, true);
	slot->tts_tid = tid;
	slot->tts_tableOid = table;
	row_plan_finish(plan);
}

/* Insert the slot's row; spec_token is 0 if it is not speculative. */
static void
insert_row(Relation rel, TupleTableSlot *slot, CommandId cid, int options,
		   BulkInsertState bistate, uint32 spec_token)
{
	bool		should_free = true;
	HeapTuple	tuple = ExecFetchSlotHeapTuple(slot, true, &should_free);
	HeapTuple	stored = tuple;
	RowPlan    *plan = NULL;

	slot->tts_tableOid = RelationGetRelid(rel);
	tuple->t_tableOid = slot->tts_tableOid;
	if (row_needs_plan(rel, tuple))
	{
		plan = row_plan(rel, tuple, NULL);
		stored = row_plan_store(plan, options);
	}
	if (spec_token != 0)
	{
		HeapTupleHeaderSetSpeculativeToken(stored->t_data, spec_token);
		options |= HEAP_INSERT_SPECULATIVE;
	}
	if (plan == NULL)
	{
		heap_insert(rel, tuple, cid, options, bistate);
		slot->tts_tid = tuple->t_self;
	}
	else
	{
		heap_seam_insert(rel, stored, cid, options, bistate);
		finish_plan(plan, slot, tuple, should_free, stored);
	}
	if (should_free)
		pfree(tuple);
}

static void
toaster_tuple_insert(Relation rel, TupleTableSlot *slot, CommandId cid,
					 int options, BulkInsertState bistate)
{
	insert_row(rel, slot, cid, options, bistate, 0);
}

static void
toaster_tuple_insert_speculative(Relation rel, TupleTableSlot *slot,
								 CommandId cid, int options,
								 BulkInsertState bistate, uint32 spec_token)
{
	insert_row(rel, slot, cid, options, bistate, spec_token);
}

/*
 * Fetch the row version at tid if it has trees, or in any case: a copy in
 * the current memory context, else NULL.
 */
static HeapTuple
fetch_row(Relation rel, ItemPointer tid, bool in_any_case)
{
	HeapTupleData tuple;
	Buffer		buffer;
	HeapTuple	result = NULL;

	if (!OidIsValid(rel->rd_rel->reltoastrelid))
		return NULL;
	tuple.t_self = *tid;
	if (!heap_fetch(rel, SnapshotAny, &tuple, &buffer, false))
		return NULL;
	if (in_any_case || HeapTupleHasExternal(&tuple))
		result = heap_copytuple(&tuple);
	ReleaseBuffer(buffer);
	return result;
}

static void
toaster_tuple_complete_speculative(Relation rel, TupleTableSlot *slot,
								   uint32 spec_token, bool succeeded)
{
	HeapTuple	tuple;

	if (succeeded)
	{
		heap_finish_speculative(rel, &slot->tts_tid);
		return;
	}
	tuple = fetch_row(rel, &slot->tts_tid, false);
	if (tuple != NULL)
	{
		ChunkList	chunks;

		/*
		 * heap looks the addresses up in the TOAST relation's index, and so
		 * kills the roots of the indexed class itself.
		 */
		chunk_list_init(&chunks);
		row_list_chunks(rel, tuple, &chunks, false);
		row_kill_chunks(rel, &chunks);
		heap_freetuple(tuple);
	}
	heap_abort_speculative(rel, &slot->tts_tid);
}

/* Does any row of the batch need a plan? */
static bool
batch_needs_plan(Relation rel, TupleTableSlot **slots, int count)
{
	bool		result = false;

	for (int i = 0; i < count; i++)
	{
		HeapTuple	tuple = ExecFetchSlotHeapTuple(slots[i], true, NULL);

		slots[i]->tts_tableOid = RelationGetRelid(rel);
		tuple->t_tableOid = slots[i]->tts_tableOid;
		result = result || row_needs_plan(rel, tuple);
	}
	return result;
}

static void
toaster_multi_insert(Relation rel, TupleTableSlot **slots, int count,
					 CommandId cid, int options, BulkInsertState bistate)
{
	TupleTableSlot **stored;
	RowPlan   **plans;

	if (!batch_needs_plan(rel, slots, count))
	{
		heap_multi_insert(rel, slots, count, cid, options, bistate);
		return;
	}
	stored = palloc(count * sizeof(TupleTableSlot *));
	plans = palloc0(count * sizeof(RowPlan *));
	for (int i = 0; i < count; i++)
	{
		HeapTuple	tuple = ExecFetchSlotHeapTuple(slots[i], true, NULL);

		stored[i] = slots[i];
		if (!row_needs_plan(rel, tuple))
			continue;
		plans[i] = row_plan(rel, tuple, NULL);
		stored[i] = MakeSingleTupleTableSlot(RelationGetDescr(rel),
											 &TTSOpsHeapTuple);
		ExecStoreHeapTuple(row_plan_store(plans[i], options), stored[i],
						   false);
	}
	heap_seam_multi_insert(rel, stored, count, cid, options, bistate);
	for (int i = 0; i < count; i++)
	{
		if (plans[i] == NULL)
			continue;
		copy_header(ExecFetchSlotHeapTuple(slots[i], true, NULL),
					ExecFetchSlotHeapTuple(stored[i], false, NULL));
		slots[i]->tts_tid = stored[i]->tts_tid;
		ExecDropSingleTupleTableSlot(stored[i]);
		row_plan_finish(plans[i]);
	}
	pfree(stored);
	pfree(plans);
}

static TM_Result
toaster_tuple_delete(Relation rel, ItemPointer tid, CommandId cid,
					 Snapshot snapshot, Snapshot crosscheck, bool wait,
					 TM_FailureData *tmfd, bool changing_part)
{
	HeapTuple	old = fetch_row(rel, tid, false);
	ChunkList	chunks;
	TM_Result	result;

	if (old == NULL)
		return heap_delete(rel, tid, cid, crosscheck, wait, tmfd,
						   changing_part);
	result = heap_seam_delete(rel, tid, cid, crosscheck, wait, tmfd,
							  changing_part);
	if (result == TM_Ok)
	{
		chunk_list_init(&chunks);
		row_list_chunks(rel, old, &chunks, true);
		row_drop_chunks(rel, &chunks);
		if (chunks.places)
			pfree(chunks.places);
	}
	heap_freetuple(old);
	return result;
}

/*
 * Lock the row version to be updated, in the mode that heap_update() would
 * take, so that nodes are written under the lock.  Stronger later than now
 * would be a deadlock that heap does not have.
 */
static TM_Result
lock_row(Relation rel, ItemPointer otid, CommandId cid, RowPlan *plan,
		 bool wait, TM_FailureData *tmfd, LockTupleMode *lockmode)
{
	HeapTupleData tuple;
	Buffer		buffer;
	Bitmapset  *key;
	TM_Result	result;

	key = RelationGetIndexAttrBitmap(rel, INDEX_ATTR_BITMAP_KEY);
	*lockmode = row_plan_changes(plan, key) ? LockTupleExclusive :
		LockTupleNoKeyExclusive;
	bms_free(key);
	tuple.t_self = *otid;
	result = heap_lock_tuple(rel, &tuple, cid, *lockmode,
							 wait ? LockWaitBlock : LockWaitSkip,
							 false, &buffer, tmfd);
	ReleaseBuffer(buffer);
	if (result == TM_Invisible)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("attempted to update invisible tuple")));
	return result == TM_WouldBlock ? TM_BeingModified : result;
}

/* Can the snapshot see the row version at tid? */
static bool
row_visible(Relation rel, ItemPointer tid, Snapshot snapshot)
{
	HeapTupleData tuple;
	Buffer		buffer;

	tuple.t_self = *tid;
	if (!heap_fetch(rel, snapshot, &tuple, &buffer, false))
		return false;
	ReleaseBuffer(buffer);
	return true;
}

/* Update a row that has trees, or will. */
static TM_Result
update_planned(Relation rel, ItemPointer otid, TupleTableSlot *slot,
			   HeapTuple tuple, bool is_copy, HeapTuple old, CommandId cid,
			   Snapshot crosscheck, bool wait, TM_FailureData *tmfd,
			   LockTupleMode *lockmode,
			   CompatUpdateIndexes *update_indexes)
{
	RowPlan    *plan;
	HeapTuple	stored;
	TM_Result	result;
	bool		writes;

	/* heap_update() will refuse: let it say why, before nodes are written */
	if (crosscheck != InvalidSnapshot && !row_visible(rel, otid, crosscheck))
	{
		result = heap_seam_update(rel, otid, tuple, cid, crosscheck, wait,
								  tmfd, lockmode, update_indexes);
		if (result == TM_Ok)
			elog(ERROR, "row was updated in spite of the crosscheck snapshot");
		return result;
	}

	plan = row_plan(rel, tuple, old);
	writes = row_plan_writes(plan);
	if (writes)
	{
		result = lock_row(rel, otid, cid, plan, wait, tmfd, lockmode);
		if (result != TM_Ok)
		{
			*update_indexes = COMPAT_UPDATE_NO_INDEXES;
			row_plan_cancel(plan);
			return result;
		}
	}
	stored = row_plan_store(plan, 0);
	result = heap_seam_update(rel, otid, stored, cid, crosscheck, wait, tmfd,
							  lockmode, update_indexes);
	if (result != TM_Ok && writes)
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("row of table \"%s\" changed while it was locked",
						RelationGetRelationName(rel))));
	if (result != TM_Ok)
	{
		row_plan_cancel(plan);
		return result;
	}
	finish_plan(plan, slot, tuple, is_copy, stored);
	return result;
}

static TM_Result
toaster_tuple_update(Relation rel, ItemPointer otid, TupleTableSlot *slot,
					 CommandId cid, Snapshot snapshot, Snapshot crosscheck,
					 bool wait, TM_FailureData *tmfd,
					 LockTupleMode *lockmode,
					 CompatUpdateIndexes *update_indexes)
{
	bool		should_free = true;
	HeapTuple	tuple = ExecFetchSlotHeapTuple(slot, true, &should_free);
	HeapTuple	old = fetch_row(rel, otid, row_needs_plan(rel, tuple));
	TM_Result	result;

	slot->tts_tableOid = RelationGetRelid(rel);
	tuple->t_tableOid = slot->tts_tableOid;
	if (old == NULL)
	{
		result = compat_heap_update(rel, otid, tuple, cid, crosscheck, wait,
									tmfd, lockmode, update_indexes);
		slot->tts_tid = tuple->t_self;
	}
	else
	{
		result = update_planned(rel, otid, slot, tuple, should_free, old, cid,
								crosscheck, wait, tmfd, lockmode,
								update_indexes);
		heap_freetuple(old);
	}
	if (should_free)
		pfree(tuple);
	return result;
}

static Oid
toaster_toast_am(Relation rel)
{
	return get_table_am_oid(TOAST_AM_NAME, false);
}

/* The routine of toaster, filled in at the first call. */
const TableAmRoutine *
table_am_routine(void)
{
	TableAmRoutine *am = &toaster_routine;

	if (am->type != T_TableAmRoutine)
	{
		*am = *GetHeapamTableAmRoutine();
		am->tuple_insert = toaster_tuple_insert;
		am->tuple_insert_speculative = toaster_tuple_insert_speculative;
		am->tuple_complete_speculative = toaster_tuple_complete_speculative;
		am->multi_insert = toaster_multi_insert;
		am->tuple_update = toaster_tuple_update;
		am->tuple_delete = toaster_tuple_delete;
		am->relation_copy_for_cluster = table_rewrite_copy;
		am->relation_toast_am = toaster_toast_am;
		am->index_build_range_scan = heap_index_build_range_scan;
		am->index_validate_scan = heap_index_validate_scan;
	}
	return am;
}

PG_FUNCTION_INFO_V1(pg_toaster_handler);

Datum
pg_toaster_handler(PG_FUNCTION_ARGS)
{
	PG_RETURN_POINTER(table_am_routine());
}
