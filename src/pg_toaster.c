/*-------------------------------------------------------------------------
 *
 * pg_toaster.c
 *	  The library: what happens when it is loaded.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"

#include "chunk_cache.h"
#include "document.h"
#include "json_tree.h"
#include "planner.h"
#include "rope.h"
#include "settings.h"
#include "stats.h"
#include "toast_am.h"
#include "toaster.h"

PG_MODULE_MAGIC;

void		_PG_init(void);

void
_PG_init(void)
{
	settings_init();
	stats_init();
	chunk_cache_init();
	document_init();
	toast_am_init();
	toaster_register(&rope_toaster);
	toaster_register(&json_toaster);
	planner_init();
}
