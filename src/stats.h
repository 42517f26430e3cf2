/*-------------------------------------------------------------------------
 *
 * stats.h
 *	  Counters of what was read and written, behind the view toaster.stats.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PG_TOASTER_STATS_H
#define PG_TOASTER_STATS_H

#include "postgres.h"

typedef enum StatsCounter
{
	STATS_NODES_FETCHED,		/* chunks read */
	STATS_NODES_DECOMPRESSED,	/* frames decompressed */
	STATS_DOCUMENTS_FLATTENED,	/* whole values read */
	STATS_SLICES_FETCHED,		/* parts of values read */
	STATS_PARTS_FLATTENED,		/* large parts of documents read whole */
	STATS_CACHE_HITS,			/* documents found in the session's cache */
	STATS_NODES_WRITTEN,		/* chunks inserted or put in another's place */
	STATS_NODES_REPLACED,		/* of these, in the place of an old one */
	STATS_NODES_SHARED,			/* chunks that a new version took over */
	STATS_NODES_DELETED,		/* chunks deleted */
	STATS_EDITS_APPLIED,		/* edits made in memory */
	STATS_EDITS_WRITTEN,		/* of these, written as edits */
	STATS_EDITS_FLATTENED,		/* values edited in memory read whole */
	STATS_COUNT
} StatsCounter;

extern uint64 stats_session[STATS_COUNT];

static inline void
stats_add(StatsCounter counter, uint64 n)
{
	stats_session[counter] += n;
}

extern void stats_init(void);

#endif							/* PG_TOASTER_STATS_H */
