/*-------------------------------------------------------------------------
 *
 * executor.h
 *	  Our functions in the expressions that belong to tables, not to plans.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PG_TOASTER_EXECUTOR_H
#define PG_TOASTER_EXECUTOR_H

#include "executor/execdesc.h"

extern void executor_adopt(QueryDesc *query);
extern void executor_stay_here(QueryDesc *query);

#endif							/* PG_TOASTER_EXECUTOR_H */
