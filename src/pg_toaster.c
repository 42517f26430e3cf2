/*-------------------------------------------------------------------------
 *
 * pg_toaster.c
 *	  The library: what happens when it is loaded.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"

#include "rope.h"
#include "settings.h"
#include "stats.h"
#include "toaster.h"

PG_MODULE_MAGIC;

void		_PG_init(void);

void
_PG_init(void)
{
	settings_init();
	stats_init();
	toaster_register(&rope_toaster);
}
