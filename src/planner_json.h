/*-------------------------------------------------------------------------
 *
 * planner_json.h
 *	  Parts of documents for JSON_VALUE() and its like.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PG_TOASTER_PLANNER_JSON_H
#define PG_TOASTER_PLANNER_JSON_H

#include "postgres.h"

#include "nodes/nodes.h"

#include "function_map.h"

extern const FunctionPair *planner_json_project(Node *node, bool apply);

#endif							/* PG_TOASTER_PLANNER_JSON_H */
