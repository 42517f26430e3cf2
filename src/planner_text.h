/*-------------------------------------------------------------------------
 *
 * planner_text.h
 *	  Which calls of functions that read bytea and text are worth replacing.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PG_TOASTER_PLANNER_TEXT_H
#define PG_TOASTER_PLANNER_TEXT_H

#include "postgres.h"

#include "nodes/pg_list.h"

extern bool planner_text_serves(Oid function, List *arguments);

#endif							/* PG_TOASTER_PLANNER_TEXT_H */
