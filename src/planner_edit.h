/*-------------------------------------------------------------------------
 *
 * planner_edit.h
 *	  Our functions that change documents, where a column gets the result.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PG_TOASTER_PLANNER_EDIT_H
#define PG_TOASTER_PLANNER_EDIT_H

#include "postgres.h"

#include "nodes/plannodes.h"

#include "function_map.h"

/* What a walk through a plan finds, and whether it changes that. */
typedef struct Replacement
{
	bool		apply;
	int			count;
	List	   *pairs;			/* FunctionPair, those used */
} Replacement;

/* planner.c */
extern bool planner_uses(Replacement *replacement, const FunctionPair *pair);
extern bool planner_replace(Node *expression);
extern bool planner_has_access_method(Oid relation, Oid access_method);

extern void planner_edit(PlannedStmt *statement, Replacement *replacement);
extern Expr *planner_subscript_path(List *subscripts);

#endif							/* PG_TOASTER_PLANNER_EDIT_H */
