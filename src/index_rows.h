/*-------------------------------------------------------------------------
 *
 * index_rows.h
 *	  The rows of one of our relations, as the scans for an index see them.
 *
 * What building (heap_index_build.c) and validating (heap_index_validate.c)
 * share: the row at hand, its page, and the values to index.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PG_TOASTER_INDEX_ROWS_H
#define PG_TOASTER_INDEX_ROWS_H

#include "postgres.h"

#include "access/heapam.h"
#include "nodes/execnodes.h"

/* The row at hand, its page, its values. */
typedef struct IndexRows
{
	Relation	table;
	Relation	index;
	IndexInfo  *info;
	bool		chunks;			/* index only chunks of the indexed class */
	HeapScanDesc heap;
	TupleTableSlot *slot;		/* the row, and a pin on its page */
	HeapTuple	tuple;			/* the row, as the slot holds it */
	BlockNumber block;			/* the page that roots[] is of */
	OffsetNumber roots[MaxHeapTuplesPerPage];	/* of its HOT chains */
	EState	   *estate;
	ExprContext *econtext;		/* its memory lives for one row */
	ExprState  *predicate;		/* of a partial index, else NULL */
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];
} IndexRows;

extern void index_rows_begin(IndexRows *rows, Relation table, Relation index,
							 IndexInfo *info, bool chunks);
extern void index_rows_end(IndexRows *rows);
extern bool index_rows_next(IndexRows *rows);
extern bool index_rows_concerned(IndexRows *rows);
extern void index_rows_tid(IndexRows *rows, ItemPointer tid);
extern bool index_rows_evaluate(IndexRows *rows, TupleTableSlot *slot);

#endif							/* PG_TOASTER_INDEX_ROWS_H */
