/*-------------------------------------------------------------------------
 *
 * inspect.h
 *	  Opening a table to look into its trees.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PG_TOASTER_INSPECT_H
#define PG_TOASTER_INSPECT_H

#include "postgres.h"

#include "access/attnum.h"
#include "utils/relcache.h"

extern Relation inspect_open_table(Oid relid);
extern void inspect_check_select(Relation rel, AttrNumber attnum);

#endif							/* PG_TOASTER_INSPECT_H */
