/*-------------------------------------------------------------------------
 *
 * plan_walk.h
 *	  Visiting the expressions of a finished plan.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PG_TOASTER_PLAN_WALK_H
#define PG_TOASTER_PLAN_WALK_H

#include "postgres.h"

#include "nodes/plannodes.h"

/* Called with a list of expressions or a single one; a tree walker. */
typedef bool (*PlanVisitor) (Node *expressions, void *context);

extern void plan_walk(PlannedStmt *statement, PlanVisitor visitor,
					  void *context);

#endif							/* PG_TOASTER_PLAN_WALK_H */
