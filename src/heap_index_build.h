/*-------------------------------------------------------------------------
 *
 * heap_index_build.h
 *	  The scans that build and validate indexes on our relations.
 *
 * Callbacks of the table access methods: the first two of toaster, which
 * index every row; the other two of toaster_chunks, which index only chunks
 * that have an indexed address.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PG_TOASTER_HEAP_INDEX_BUILD_H
#define PG_TOASTER_HEAP_INDEX_BUILD_H

#include "postgres.h"

#include "access/tableam.h"
#include "catalog/index.h"
#include "nodes/execnodes.h"

extern double heap_index_build_range_scan(Relation table, Relation index,
										  IndexInfo *info, bool allow_sync,
										  bool anyvisible, bool progress,
										  BlockNumber start,
										  BlockNumber count,
										  IndexBuildCallback callback,
										  void *callback_state,
										  TableScanDesc scan);
extern void heap_index_validate_scan(Relation table, Relation index,
									 IndexInfo *info, Snapshot snapshot,
									 ValidateIndexState *state);

extern double heap_index_build_chunks(Relation table, Relation index,
									  IndexInfo *info, bool allow_sync,
									  bool anyvisible, bool progress,
									  BlockNumber start, BlockNumber count,
									  IndexBuildCallback callback,
									  void *callback_state,
									  TableScanDesc scan);
extern void heap_index_validate_chunks(Relation table, Relation index,
									   IndexInfo *info, Snapshot snapshot,
									   ValidateIndexState *state);

#endif							/* PG_TOASTER_HEAP_INDEX_BUILD_H */
