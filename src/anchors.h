/*-------------------------------------------------------------------------
 *
 * anchors.h
 *	  Finding where bytes of an old value occur in a new one.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PG_TOASTER_ANCHORS_H
#define PG_TOASTER_ANCHORS_H

#include "postgres.h"

#include "toaster.h"

typedef struct Anchors Anchors;

/* A run of equal bytes. */
typedef struct AnchorMatch
{
	uint32		old_offset;
	uint32		new_offset;
	uint32		size;
} AnchorMatch;

extern Anchors *anchors_build(const FlatValue *flat, uint32 start,
							  uint32 spacing);
extern bool anchors_match(const Anchors *anchors, const char *old,
						  uint32 old_size, uint32 old_start,
						  uint32 new_start, AnchorMatch *match);
extern uint32 common_prefix(const char *a, const char *b, uint32 size);
extern uint32 common_suffix(const char *a, const char *b, uint32 size);

/* Shorter runs are not worth a window. */
#define MIN_MATCH		48

#endif							/* PG_TOASTER_ANCHORS_H */
