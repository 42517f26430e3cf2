/*-------------------------------------------------------------------------
 *
 * row.h
 *	  The per-tuple policy: which values of a row become trees.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PG_TOASTER_ROW_H
#define PG_TOASTER_ROW_H

#include "postgres.h"

#include "access/htup.h"
#include "catalog/pg_attribute.h"
#include "utils/relcache.h"

#include "chunk_list.h"
#include "pointer.h"

typedef struct RowPlan RowPlan;

extern bool row_needs_plan(Relation rel, HeapTuple tuple);
extern RowPlan *row_plan(Relation rel, HeapTuple tuple, HeapTuple old_tuple);
extern bool row_plan_writes(const RowPlan *plan);
extern bool row_plan_changes(const RowPlan *plan, Bitmapset *columns);
extern HeapTuple row_plan_store(RowPlan *plan, int options);
extern bool row_plan_settle(RowPlan *plan, HeapTuple tuple);
extern void row_plan_finish(RowPlan *plan);
extern void row_plan_cancel(RowPlan *plan);

extern int	row_column_codec(Form_pg_attribute attr);
extern void row_list_chunks(Relation rel, HeapTuple tuple, ChunkList *chunks,
							bool indexed_roots);
extern void row_drop_chunks(Relation rel, const ChunkList *chunks);
extern void row_kill_chunks(Relation rel, const ChunkList *chunks);
extern bool row_flatten(Relation rel, HeapTuple tuple, Datum *values,
						bool *isnull);

extern bool row_own_pointer(Relation rel, Datum datum, TreePointer *pointer);

#endif							/* PG_TOASTER_ROW_H */
