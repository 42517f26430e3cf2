/*-------------------------------------------------------------------------
 *
 * table_rewrite.h
 *	  VACUUM FULL and CLUSTER: copying rows with their trees.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PG_TOASTER_TABLE_REWRITE_H
#define PG_TOASTER_TABLE_REWRITE_H

#include "postgres.h"

#include "utils/relcache.h"

extern void table_rewrite_copy(Relation old_rel, Relation new_rel,
							   Relation old_index, bool use_sort,
							   TransactionId oldest_xmin,
							   TransactionId *xid_cutoff,
							   MultiXactId *multi_cutoff,
							   double *num_tuples, double *tups_vacuumed,
							   double *tups_recently_dead);

#endif							/* PG_TOASTER_TABLE_REWRITE_H */
