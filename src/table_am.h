/*-------------------------------------------------------------------------
 *
 * table_am.h
 *	  toaster, the access method of users' tables.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PG_TOASTER_TABLE_AM_H
#define PG_TOASTER_TABLE_AM_H

#include "postgres.h"

#include "access/tableam.h"

extern const TableAmRoutine *table_am_routine(void);

#endif							/* PG_TOASTER_TABLE_AM_H */
