/*-------------------------------------------------------------------------
 *
 * path_project.h
 *	  The part of a document that a jsonpath needs.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PG_TOASTER_PATH_PROJECT_H
#define PG_TOASTER_PATH_PROJECT_H

#include "postgres.h"

#include "json_tree.h"
#include "path_roots.h"

extern Jsonb *path_project(const JsonItem *item, PathUse **uses, int count,
						   int depth, bool lax);

#endif							/* PG_TOASTER_PATH_PROJECT_H */
