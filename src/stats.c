/*-------------------------------------------------------------------------
 *
 * stats.c
 *	  Counters of what was read and written, behind the view toaster.stats.
 *
 * A session counts in its own memory.  When the library is preloaded by the
 * postmaster, the counts are added to shared memory at the end of each
 * transaction; server-wide numbers are those of ended transactions.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "utils/builtins.h"

#include "stats.h"

typedef struct StatsShared
{
	pg_atomic_uint64 counters[STATS_COUNT];
} StatsShared;

uint64		stats_session[STATS_COUNT];

static uint64 stats_reported[STATS_COUNT];
static StatsShared *stats_shared = NULL;

static shmem_request_hook_type prev_shmem_request_hook = NULL;
static shmem_startup_hook_type prev_shmem_startup_hook = NULL;

static const char *const stats_names[STATS_COUNT] = {
	"nodes_fetched", "nodes_decompressed", "documents_flattened",
	"slices_fetched", "parts_flattened", "cache_hits", "nodes_written",
	"nodes_replaced", "nodes_shared", "nodes_deleted",
	"edits_applied", "edits_written", "edits_flattened"
};

/* Add what was counted since the last report to shared memory. */
static void
stats_report(void)
{
	for (int i = 0; i < STATS_COUNT; i++)
	{
		uint64		delta = stats_session[i] - stats_reported[i];

		if (delta != 0)
			pg_atomic_fetch_add_u64(&stats_shared->counters[i], delta);
		stats_reported[i] = stats_session[i];
	}
}

static void
stats_at_xact_end(XactEvent event, void *arg)
{
	if (stats_shared != NULL &&
		(event == XACT_EVENT_COMMIT || event == XACT_EVENT_ABORT ||
		 event == XACT_EVENT_PARALLEL_COMMIT ||
		 event == XACT_EVENT_PARALLEL_ABORT || event == XACT_EVENT_PREPARE))
		stats_report();
}

static void
stats_shmem_request(void)
{
	if (prev_shmem_request_hook)
		prev_shmem_request_hook();
	RequestAddinShmemSpace(MAXALIGN(sizeof(StatsShared)));
}

static void
stats_shmem_startup(void)
{
	bool		found;

	if (prev_shmem_startup_hook)
		prev_shmem_startup_hook();
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	stats_shared = ShmemInitStruct("pg_toaster stats", sizeof(StatsShared),
								   &found);
	if (!found)
	{
		for (int i = 0; i < STATS_COUNT; i++)
			pg_atomic_init_u64(&stats_shared->counters[i], 0);
	}
	LWLockRelease(AddinShmemInitLock);
}

/* Called once, when the library is loaded. */
void
stats_init(void)
{
	RegisterXactCallback(stats_at_xact_end, NULL);
	if (!process_shared_preload_libraries_in_progress)
		return;
	prev_shmem_request_hook = shmem_request_hook;
	shmem_request_hook = stats_shmem_request;
	prev_shmem_startup_hook = shmem_startup_hook;
	shmem_startup_hook = stats_shmem_startup;
}

PG_FUNCTION_INFO_V1(pg_toaster_stats);

/*
 * toaster.stats(): a row per counter with the session's count and, when the
 * library was preloaded, that of all ended transactions of the server.
 */
Datum
pg_toaster_stats(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;

	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; i < STATS_COUNT; i++)
	{
		Datum		values[3];
		bool		nulls[3] = {false, false, stats_shared == NULL};

		values[0] = CStringGetTextDatum(stats_names[i]);
		values[1] = UInt64GetDatum(stats_session[i]);
		values[2] = stats_shared == NULL ? (Datum) 0 :
			UInt64GetDatum(pg_atomic_read_u64(&stats_shared->counters[i]));
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	return (Datum) 0;
}
