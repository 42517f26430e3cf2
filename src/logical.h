/*-------------------------------------------------------------------------
 *
 * logical.h
 *	  Keeping wrong values from logical replication.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PG_TOASTER_LOGICAL_H
#define PG_TOASTER_LOGICAL_H

#include "postgres.h"

#include "utils/relcache.h"

extern void logical_check_write(Relation rel, int options);

#endif							/* PG_TOASTER_LOGICAL_H */
