/*-------------------------------------------------------------------------
 *
 * compat.h
 *	  Every difference between the supported PostgreSQL versions (15 to 18).
 *
 * No other file of the project looks at PG_VERSION_NUM.  Each entry says
 * what changed in PostgreSQL and in which version.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PG_TOASTER_COMPAT_H
#define PG_TOASTER_COMPAT_H

#include "postgres.h"

#include "access/heapam.h"
#include "access/tableam.h"
#include "access/toast_internals.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/tuplesort.h"

/* 16: the macros for headers of varlena values moved out of postgres.h. */
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

/*
 * 16: table_tuple_update() and heap_update() report which indexes need a new
 * entry (none, all, or only the summarizing ones) instead of a boolean, and
 * heap_update() decides it itself.
 */
#if PG_VERSION_NUM >= 160000
typedef TU_UpdateIndexes CompatUpdateIndexes;
#define COMPAT_UPDATE_NO_INDEXES TU_None
#define compat_heap_update(rel, otid, tup, cid, crosscheck, wait, tmfd, \
						   lockmode, update_indexes) \
	heap_update(rel, otid, tup, cid, crosscheck, wait, tmfd, \
				lockmode, update_indexes)
#else
typedef bool CompatUpdateIndexes;
#define COMPAT_UPDATE_NO_INDEXES false
static inline TM_Result
compat_heap_update_15(Relation rel, ItemPointer otid, HeapTuple tup,
					  CommandId cid, Snapshot crosscheck, bool wait,
					  TM_FailureData *tmfd, LockTupleMode *lockmode,
					  bool *update_indexes)
{
	TM_Result	result = heap_update(rel, otid, tup, cid, crosscheck, wait,
									 tmfd, lockmode);

	/* a HOT update needs no new index entries */
	*update_indexes = result == TM_Ok && !HeapTupleIsHeapOnly(tup);
	return result;
}
#define compat_heap_update(rel, otid, tup, cid, crosscheck, wait, tmfd, \
						   lockmode, update_indexes) \
	compat_heap_update_15(rel, otid, tup, cid, crosscheck, wait, tmfd, \
						  lockmode, update_indexes)
#endif

/* 18: pg_noreturn stands in front, pg_attribute_noreturn() is gone. */
#if PG_VERSION_NUM < 180000
#define pg_noreturn pg_attribute_noreturn()
#endif

/* 16: RelFileNode became RelFileLocator, and the callback was renamed. */
#if PG_VERSION_NUM >= 160000
typedef RelFileLocator CompatRelFile;
#define compat_set_new_file relation_set_new_filelocator
#else
typedef RelFileNode CompatRelFile;
#define compat_set_new_file relation_set_new_filenode
#endif

/* 18: get_toast_snapshot() returns what init_toast_snapshot() filled in. */
#if PG_VERSION_NUM >= 180000
#define compat_toast_snapshot(snap) (*(snap) = *get_toast_snapshot())
#else
#define compat_toast_snapshot(snap) init_toast_snapshot(snap)
#endif

/* 17: old_snapshot_threshold, and with it TestForOldSnapshot(), went away. */
#if PG_VERSION_NUM >= 170000
#define compat_test_old_snapshot(snap, rel, page) ((void) 0)
#else
#define compat_test_old_snapshot(snap, rel, page) \
	TestForOldSnapshot(snap, rel, page)
#endif

/* 18: index_beginscan() takes a place for instrumentation. */
#if PG_VERSION_NUM >= 180000
#define compat_index_beginscan(table, index, snapshot, keys) \
	index_beginscan(table, index, snapshot, NULL, keys, 0)
#else
#define compat_index_beginscan(table, index, snapshot, keys) \
	index_beginscan(table, index, snapshot, keys, 0)
#endif

/* 17: MERGE can join on conditions of its own (NOT MATCHED BY SOURCE). */
#if PG_VERSION_NUM >= 170000
#define compat_merge_join_conditions(modify) ((modify)->mergeJoinConditions)
#else
#define compat_merge_join_conditions(modify) NIL
#endif

/* 17: jsonpath got more methods; none of them has an operand with a path. */
#if PG_VERSION_NUM >= 170000
#define compat_is_path_method(type) \
	((type) >= jpiBigint && (type) <= jpiTimestampTz)
#else
#define compat_is_path_method(type) false
#endif

/* 17: JSON_VALUE() and its like (JsonExpr), JSON_TABLE() (JsonTablePlan). */
#define COMPAT_SQL_JSON (PG_VERSION_NUM >= 170000)

/*
 * Expressions of a table that the executor prepares by itself.  16: those of
 * generated columns are kept apart for INSERT and UPDATE and are prepared at
 * the first row.  18: those of checks were renamed, a check may be one that
 * is not enforced, and there are virtual columns to be put in.
 */
#if PG_VERSION_NUM >= 180000
#define compat_check_states(info) ((info)->ri_CheckConstraintExprs)
#define compat_check_expression(rel, check) \
	((check)->ccenforced ? \
	 expand_generated_columns_in_expr(stringToNode((check)->ccbin), rel, 1) : \
	 NULL)
#define compat_init_generated(info, estate) \
	ExecInitGenerated(info, estate, CMD_UPDATE)
#else
#define compat_check_states(info) ((info)->ri_ConstraintExprs)
#define compat_check_expression(rel, check) \
	((Node *) stringToNode((check)->ccbin))
#define compat_init_generated(info, estate) \
	ExecInitStoredGenerated(info, estate, CMD_UPDATE)
#endif
#if PG_VERSION_NUM >= 160000
#define COMPAT_GENERATED_APART true
#define compat_generated_states(info) ((info)->ri_GeneratedExprsU)
#else
#define COMPAT_GENERATED_APART false
#define compat_generated_states(info) ((info)->ri_GeneratedExprs)
#endif

/*
 * 16: tuplesort_getdatum() is told whether to copy what it returns.  Before,
 * it always copied, which is a leak for whoever reads many and has an int64
 * that is passed by reference.
 */
static inline bool
compat_tuplesort_next_int64(Tuplesortstate *sort, int64 *result)
{
	Datum		value;
	bool		isnull;
	bool		found;

#if PG_VERSION_NUM >= 160000
	found = tuplesort_getdatum(sort, true, false, &value, &isnull, NULL);
#else
	found = tuplesort_getdatum(sort, true, &value, &isnull, NULL);
#endif
	if (found)
		*result = DatumGetInt64(value);
#if PG_VERSION_NUM < 160000 && !defined(USE_FLOAT8_BYVAL)
	if (found)
		pfree(DatumGetPointer(value));
#endif
	return found;
}

#endif							/* PG_TOASTER_COMPAT_H */
