/*-------------------------------------------------------------------------
 *
 * rope_view.c
 *	  Any bytes of a rope, each frame decompressed once.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "codec.h"
#include "rope_view.h"

/* The least that is decompressed of a frame, and of an uncompressed one. */
#define FIRST_BYTES			1024

/* A window of the rope, in memory. */
struct Segment
{
	uint32		start;			/* in the stored form */
	uint32		size;
	bool		ends;			/* where its piece ends */
	Piece		piece;
	char	   *copy;			/* of its refs and bytes; NULL: in the root */
	uint32		skip;			/* of frame before start */
	uint32		ready;			/* bytes of frame that are there */
	const char *frame;			/* the piece's; or the part that it shows */
	char	   *buffer;			/* that has the frame; NULL: in the root */
	Size		capacity;		/* of buffer */
};

/* Keep a piece of a node; one of the root, which is kept, as it is. */
static void
keep_piece(RopeView *view, const void *node, const Piece *piece,
		   Segment *segment)
{
	Size		refs = piece->head.refs * sizeof(Ref);
	char	   *copy;

	segment->piece = *piece;
	if (node == view->root)
		return;
	copy = MemoryContextAlloc(view->context,
							  refs + piece->head.inline_size + 1);
	memcpy(copy, piece->refs, refs);
	memcpy(copy + refs, piece->bytes, piece->head.inline_size);
	segment->copy = copy;
	segment->piece.refs = (const Ref *) copy;
	segment->piece.bytes = copy + refs;
}

/*
 * Find the piece of level 1 that has the byte at offset, below a node that
 * starts at start.
 */
static bool
locate(RopeView *view, const void *node, uint32 start, uint32 offset,
	   Segment *segment)
{
	int			level = ROPE_LEVEL(node);
	PieceCursor cursor;
	Piece		piece;

	node_pieces_begin(&cursor, node);
	while (node_pieces_next(&cursor, &piece))
	{
		Chunk		child;
		bool		ok;

		if (offset - start >= piece.head.size)
		{
			start += piece.head.size;
			continue;
		}
		if (level == 1)
		{
			segment->start = start;
			segment->size = piece.head.size;
			segment->skip = piece.head.skip;
			keep_piece(view, node, &piece, segment);
			return true;
		}
		if (!chunk_store_get_child(view->store, view->lineage,
								   &piece.refs[0], level - 1, &child))
			return false;
		ok = locate(view, child.node, start, offset, segment);
		chunk_store_release(&child);
		return ok;
	}
	view->problem = "Offset lies past the end of the value";
	return false;
}

/*
 * A buffer of at least size bytes.  Streaming needs one after the other, too
 * large ones for malloc() to keep: it would have the kernel clear each.
 */
static char *
take_buffer(RopeView *view, Size size, Size *capacity)
{
	char	   *buffer = view->spare;

	if (buffer != NULL && view->spare_capacity >= size)
	{
		*capacity = view->spare_capacity;
		view->spare = NULL;
		view->spare_capacity = 0;
		return buffer;
	}
	*capacity = view->streaming ? size + size / 4 : size;
	return MemoryContextAllocHuge(view->context, *capacity);
}

/* Free a buffer, or keep it for the next segment. */
static void
free_buffer(RopeView *view, char *buffer, Size capacity)
{
	if (view->streaming && capacity > view->spare_capacity)
	{
		if (view->spare != NULL)
			pfree(view->spare);
		view->spare = buffer;
		view->spare_capacity = capacity;
	}
	else
		pfree(buffer);
}

/*
 * Decompress the first wanted bytes of a frame of which the piece shows a part,
 * for all windows on it that are seen one after the other.
 */
static bool
load_frame(RopeView *view, const Piece *piece, Size wanted)
{
	bool		same = view->frame_ready > 0 &&
		memcmp(&view->frame_ref, &piece->refs[0], sizeof(Ref)) == 0;
	RopeReader	reader;
	bool		ok;

	if (same && view->frame_ready >= wanted)
		return true;
	if (view->streaming)
		wanted = piece->head.frame_size;
	else if (same)
		wanted = Min(piece->head.frame_size,
					 Max(wanted, 2 * view->frame_ready));
	view->frame_ready = 0;
	if (view->frame_capacity < wanted)
	{
		view->bytes += wanted - view->frame_capacity;
		if (view->frame != NULL)
			pfree(view->frame);
		view->frame_capacity = 0;
		view->frame = MemoryContextAllocHuge(view->context, wanted);
		view->frame_capacity = wanted;
	}
	rope_reader_init(&reader, view->store, view->lineage);
	ok = rope_reader_decompress(&reader, piece, wanted, view->frame);
	rope_reader_free(&reader);
	if (!ok)
		return false;
	view->frame_ref = piece->refs[0];
	view->frame_ready = wanted;
	return true;
}

/* Does the segment show a part of a frame that others may show, too? */
static bool
shows_part(const Segment *segment)
{
	const PieceHeader *head = &segment->piece.head;

	return head->method != CODEC_NONE && head->refs > 0 &&
		head->size < head->frame_size;
}

/*
 * Make the first wanted bytes of a segment that shows a part of a frame
 * available.
 */
static bool
grow_part(RopeView *view, Segment *segment, uint32 wanted)
{
	uint32		shift = segment->start % sizeof(uint32);
	uint32		skip = segment->piece.head.skip;
	char	   *buffer;

	if (view->streaming)
		wanted = segment->size;
	else
		wanted = Min(segment->size, Max(Max(wanted, 2 * segment->ready),
										FIRST_BYTES));
	if (!load_frame(view, &segment->piece, skip + wanted))
		return false;
	buffer = take_buffer(view, wanted + shift, &segment->capacity);
	memcpy(buffer + shift, view->frame + skip, wanted);
	segment->buffer = buffer;
	segment->frame = buffer + shift;
	segment->ready = wanted;
	view->bytes += wanted;
	return true;
}

/*
 * Make the first wanted bytes of the segment's frame available.  The buffer
 * is such that bytes are aligned in memory as they are in the stored form.
 */
static bool
grow(RopeView *view, Segment *segment, uint32 wanted)
{
	uint32		limit = segment->skip + segment->size;
	uint32		shift = (segment->start - segment->skip) % sizeof(uint32);
	RopeReader	reader;
	char	   *buffer;
	bool		ok;

	if (shows_part(segment))
		return grow_part(view, segment, wanted);
	if (view->streaming)
		wanted = limit;
	else
		wanted = Min(limit, Max(Max(wanted, 2 * segment->ready),
								FIRST_BYTES));
	buffer = take_buffer(view, wanted + shift, &segment->capacity);
	rope_reader_init(&reader, view->store, view->lineage);
	ok = rope_reader_decompress(&reader, &segment->piece, wanted,
								buffer + shift);
	rope_reader_free(&reader);
	if (!ok)
		return false;
	segment->buffer = buffer;
	segment->frame = buffer + shift;
	segment->ready = wanted;
	view->bytes += wanted;
	return true;
}

/* Read a part of an uncompressed frame as a segment of its own. */
static bool
load_uncompressed(RopeView *view, Segment *segment, uint32 offset,
				  uint32 length)
{
	uint32		before = offset - segment->start;
	uint32		left = segment->size - before;
	uint32		shift = offset % sizeof(uint32);
	const char *in_node = segment->piece.bytes + segment->skip;
	RopeReader	reader;
	char	   *buffer;
	bool		ok;

	if (segment->copy == NULL &&
		segment->skip + before + length <= segment->piece.head.inline_size &&
		(uintptr_t) in_node % sizeof(uint32) ==
		segment->start % sizeof(uint32))
	{
		segment->ends = segment->piece.head.inline_size - segment->skip >=
			segment->size;
		segment->size = Min(segment->size,
							segment->piece.head.inline_size - segment->skip);
		segment->skip = 0;
		segment->frame = in_node;
		segment->ready = segment->size;
		return true;
	}
	length = Min(left, Max(length, FIRST_BYTES));
	buffer = MemoryContextAllocHuge(view->context, length + shift);
	rope_reader_init(&reader, view->store, view->lineage);
	ok = rope_reader_stored(&reader, &segment->piece, segment->skip + before,
							length, buffer + shift);
	rope_reader_free(&reader);
	if (!ok)
		return false;
	segment->start = offset;
	segment->size = length;
	segment->ends = length == left;
	segment->skip = 0;
	segment->buffer = buffer;
	segment->frame = buffer + shift;
	segment->ready = length;
	view->bytes += length;
	return true;
}

/* Room for one more segment. */
static Segment *
add_segment(RopeView *view)
{
	if (view->segment_count == view->segment_capacity)
	{
		int			capacity = Max(8, 2 * view->segment_capacity);

		view->segments = view->segments == NULL ?
			MemoryContextAlloc(view->context,
							   capacity * sizeof(Segment)) :
			repalloc(view->segments, capacity * sizeof(Segment));
		view->segment_capacity = capacity;
	}
	return &view->segments[view->segment_count];
}

/* Forget all segments. */
static void
drop_segments(RopeView *view)
{
	for (int i = 0; i < view->segment_count; i++)
	{
		Segment    *segment = &view->segments[i];

		if (segment->copy != NULL)
			pfree(segment->copy);
		if (segment->buffer != NULL)
			free_buffer(view, segment->buffer, segment->capacity);
	}
	view->segment_count = 0;
	view->last = 0;
	view->bytes = 0;
}

/* Does the segment have the byte at offset? */
static inline bool
segment_has(const Segment *segment, uint32 offset)
{
	return offset - segment->start < segment->size;
}

/*
 * The segment that has the byte at offset, with length bytes if there is one.
 * Bytes that were gathered are found again, rather than gathered again.
 */
static Segment *
find_segment(RopeView *view, uint32 offset, uint32 length)
{
	Segment    *segment;
	int			shorter = -1;
	int			at = view->last;

	for (int i = 0; i < view->segment_count; i++, at++)
	{
		if (at == view->segment_count)
			at = 0;
		segment = &view->segments[at];
		if (!segment_has(segment, offset))
			continue;
		if (segment->size - (offset - segment->start) >= length)
		{
			view->last = at;
			return segment;
		}
		if (segment->ends)
			shorter = at;
	}
	if (shorter >= 0)
	{
		view->last = shorter;
		return &view->segments[shorter];
	}
	if (view->streaming)
		drop_segments(view);
	segment = add_segment(view);
	memset(segment, 0, sizeof(Segment));
	segment->ends = true;
	if (!locate(view, view->root, 0, offset, segment) ||
		(segment->piece.head.method == CODEC_NONE &&
		 !load_uncompressed(view, segment, offset, length)))
		return NULL;
	if (shows_part(segment))
		segment->skip = 0;
	view->last = view->segment_count++;
	return segment;
}

/*
 * Show bytes from offset on; *part is set to how many of them, at most
 * length, stand together.  They are aligned in memory as they are in the
 * rope.  NULL when they cannot be read.
 */
const char *
rope_view_part(RopeView *view, uint32 offset, uint32 length, uint32 *part)
{
	Segment    *segment = find_segment(view, offset, length);
	uint32		before;

	if (segment == NULL)
		return NULL;
	before = offset - segment->start;
	*part = Min(length, segment->size - before);
	if (segment->ready < segment->skip + before + *part &&
		!grow(view, segment, segment->skip + before + *part))
		return NULL;
	return segment->frame + segment->skip + before;
}


/* Forget all segments, the memory of which the caller has freed. */
void
rope_view_reset(RopeView *view)
{
	view->segments = NULL;
	view->segment_count = view->segment_capacity = 0;
	view->last = 0;
	view->bytes = 0;
	view->spare = NULL;
	view->spare_capacity = 0;
	view->frame = NULL;
	view->frame_capacity = view->frame_ready = 0;
}
