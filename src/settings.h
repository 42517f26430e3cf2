/*-------------------------------------------------------------------------
 *
 * settings.h
 *	  The settings pg_toaster.*, and what follows from node_size.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PG_TOASTER_SETTINGS_H
#define PG_TOASTER_SETTINGS_H

#include "postgres.h"

#define NODE_SIZE_MIN		128
#define NODE_SIZE_MAX		1996	/* four a page, as TOAST_MAX_CHUNK_SIZE */

extern int	settings_compression;	/* Codec of frames */
extern int	settings_node_size; /* bytes */
extern int	settings_min_tree_size; /* bytes; 0: stock's rule */
extern bool settings_force_indexed;
extern bool settings_enable_planner;	/* replace functions in plans */

/* The sizes that a rope is built with; all in bytes but max_refs. */
typedef struct RopeLimits
{
	Size		capacity;		/* for pieces and inline bytes of a node */
	Size		node_payload;	/* of a DATA node that shares its page */
	Size		full_payload;	/* of a DATA node that has a page alone */
	Size		frame_size;		/* largest frame, decompressed */
	Size		inline_size;	/* longest fresh run that is kept inline */
	int			max_refs;		/* of one frame */
} RopeLimits;

extern void settings_init(void);
extern void settings_limits(RopeLimits *limits);

/*
 * Failpoints: places where a test can end the server or the statement, by
 * pg_toaster.failpoint = 'NAME[:crash|:error[:N]]'.
 */
extern char *settings_failpoint;
extern void failpoint_hit(const char *name);

#define FAILPOINT(name) \
	do { \
		if (unlikely(settings_failpoint[0] != '\0')) \
			failpoint_hit(name); \
	} while (0)

#endif							/* PG_TOASTER_SETTINGS_H */
