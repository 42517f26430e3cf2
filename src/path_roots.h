/*-------------------------------------------------------------------------
 *
 * path_roots.h
 *	  Where a jsonpath names the document, and what it takes of it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PG_TOASTER_PATH_ROOTS_H
#define PG_TOASTER_PATH_ROOTS_H

#include "postgres.h"

#include "utils/jsonpath.h"

/* An accessor that can be evaluated on a tree. */
typedef struct PathStep
{
	const char *key;			/* NULL: an index */
	int			key_length;
	int64		index;
	bool		last;			/* the index "last" */
} PathStep;

/* A $ with the plain accessors that follow it. */
typedef struct PathUse
{
	int32		position;		/* of the $ in the path */
	int			count;			/* of steps */
	PathStep   *steps;
	int32	   *following;		/* [i]: position after i steps, 0 for none */
} PathUse;

typedef struct PathRoots
{
	JsonPath   *path;
	bool		lax;
	int			count;
	int			capacity;
	PathUse    *uses;
} PathRoots;

extern bool path_roots_find(JsonPath *path, PathRoots *roots);
extern bool path_roots_is_plain(const PathRoots *roots);
extern bool path_roots_same_step(const PathStep *a, const PathStep *b);
extern const PathStep *path_roots_common_step(const PathRoots *roots,
											  int depth);
extern JsonPath *path_roots_shorten(const PathRoots *roots, int depth);

#endif							/* PG_TOASTER_PATH_ROOTS_H */
