/*-------------------------------------------------------------------------
 *
 * rope_build.h
 *	  Writing the nodes of a byte tree, new or changed.
 *
 * A builder is fed the new value from front to back: fresh bytes, windows on
 * frames that are already stored, and whole subtrees that stay as they are.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PG_TOASTER_ROPE_BUILD_H
#define PG_TOASTER_ROPE_BUILD_H

#include "postgres.h"

#include "rope.h"
#include "rope_level.h"
#include "settings.h"

/* Shows bytes of the new value, until the next call. */
typedef const char *(*RopeShow) (void *arg, uint32 offset, uint32 length);

typedef struct RopeBuilder
{
	TreeWrite  *write;
	MemoryContext context;
	RopeLimits	limits;
	uint32		lineage;
	uint32		version;		/* of the root to be written */
	FlatValue	flat;			/* the new value, for fresh bytes */
	RopeShow	show;			/* gives them if flat has no data */
	void	   *show_arg;
	uint32		position;		/* bytes of it that pieces cover */
	BuildLevel	levels[NODE_MAX_LEVEL + 1]; /* from 1 */
	ChunkDraft *image;			/* node being written */
	char	   *packed;			/* frame being written, compressed */
	Size		packed_capacity;
	double		ratio;			/* of the last frame's compression */
	bool		joining;		/* next pieces stay with the ones before */
	ChunkList	freed;			/* old branches, to be replaced or dropped */
	ChunkList	candidates;		/* chunks that freed branches named */
	ChunkList	kept;			/* of them, what new branches name */
	ChunkList	closed;			/* first chunks of frames in nodes written */
	ChunkList	own;			/* chunks made of old frames' inline bytes */
} RopeBuilder;

/* Gives a new value's bytes to rope_builder_feed(). */
typedef void (*RopeFeed) (RopeBuilder *builder, void *arg);

extern void rope_save_stream(TreeWrite *write, const FlatValue *value,
							 RopeFeed feed, void *arg, TreePointer *result);
extern uint32 rope_builder_feed(RopeBuilder *builder, const char *window,
								uint32 start, uint32 size);

extern void rope_builder_init(RopeBuilder *builder, TreeWrite *write,
							  uint32 lineage, uint32 version,
							  const FlatValue *flat);
extern void rope_builder_fresh(RopeBuilder *builder, uint32 end);
extern bool rope_builder_window(RopeBuilder *builder, const Piece *piece,
								uint32 offset);
extern void rope_builder_subtree(RopeBuilder *builder, int level,
								 const Piece *piece, uint32 offset);
extern void rope_builder_stored(RopeBuilder *builder, const Piece *piece);
extern void rope_builder_break(RopeBuilder *builder, const Chunk *chunk);
extern void rope_builder_finish(RopeBuilder *builder, TreePointer *result);

/* Part of an old piece that a new value has, too. */
typedef struct RopeWindow
{
	uint32		skip;			/* within the piece */
	uint32		size;
	uint32		offset;			/* in the new value */
} RopeWindow;

/* The most windows that one piece is cut into. */
#define ROPE_WINDOWS	8

/* rope_window.c */
extern bool rope_window_worth(const void *node, const Piece *piece,
							  const RopeWindow *windows, int count);
extern int	rope_window_add(RopeBuilder *builder, const Piece *piece,
							const RopeWindow *windows, int count);

/* rope_frame.c */
extern void rope_frame_append(RopeBuilder *builder, uint32 end);
extern void rope_frame_move_out(RopeBuilder *builder, Piece *piece,
								Ref *refs);

/* The most fresh bytes, in nodes, between two windows on the same frame. */
#define GAP_NODES	4

#endif							/* PG_TOASTER_ROPE_BUILD_H */
