/*-------------------------------------------------------------------------
 *
 * rope_view.h
 *	  Any bytes of a rope, each frame decompressed once.
 *
 * Bytes are seen through segments: windows of the rope whose frame, or the
 * first part of it, is decompressed.  Segments only come and grow (what a
 * growing one leaves behind is kept), so that pointers into them stay valid
 * until rope_view_reset(); not so in a streaming view, which keeps one
 * segment at a time.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PG_TOASTER_ROPE_VIEW_H
#define PG_TOASTER_ROPE_VIEW_H

#include "postgres.h"

#include "rope.h"

typedef struct Segment Segment;

typedef struct RopeView
{
	ChunkStore *store;
	uint32		lineage;
	MemoryContext context;		/* of all below */
	const void *root;			/* a node that lasts as long as the view */
	bool		streaming;
	const char *problem;		/* why rope_view_part() gave nothing; NULL:
								 * the store knows */
	Segment    *segments;
	int			segment_count;
	int			segment_capacity;
	int			last;			/* segment seen last */
	Size		bytes;			/* in segments */
	char	   *spare;			/* a buffer to be used again, if streaming */
	Size		spare_capacity;
	char	   *frame;			/* a frame of which windows show parts */
	Size		frame_capacity;
	Size		frame_ready;	/* how many of its bytes are there */
	Ref			frame_ref;		/* its first chunk */
} RopeView;

extern const char *rope_view_part(RopeView *view, uint32 offset,
								  uint32 length, uint32 *part);
extern void rope_view_reset(RopeView *view);

#endif							/* PG_TOASTER_ROPE_VIEW_H */
