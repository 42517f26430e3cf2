/*-------------------------------------------------------------------------
 *
 * rope_diff.c
 *	  What of an old rope a new flat value can keep.
 *
 * The old rope is read from front to back, one frame at a time, and its
 * bytes are looked for in the new value: first where the last match ended, or
 * a little behind that, then where the end of the frame should be if there is
 * one change only, then, by anchors, farther on.  What is found stays, as a
 * subtree if a whole node is found in one piece, else as windows on frames;
 * what lies between becomes fresh bytes.  Order is kept: a block that moved to
 * the front is written again.
 *
 * A node is intact as long as all of it was found in one piece.  Nothing is
 * added to the builder for an intact node until its parent knows whether it
 * is intact itself; `DiffNode` keeps that for each level.
 *
 * Memory: a frame, the anchors of the new value (256 kB at most) and a page
 * pinned per level.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "utils/memutils.h"

#include "anchors.h"
#include "rope_build.h"

/* A node of the old rope on the way from the root. */
typedef struct DiffNode
{
	struct DiffNode *parent;
	const Chunk *chunk;
	int			intact;			/* leading pieces found in one run */
	uint32		start;			/* where the run starts in the new value */
	bool		broken;			/* its pieces are added one by one */
} DiffNode;

typedef struct Diff
{
	RopeBuilder builder;
	RopeReader	reader;
	ChunkStore *store;
	Anchors    *anchors;		/* NULL until the first difference */
	uint32		position;		/* in the new value, behind the last match */
	uint32		old_offset;		/* in the old value, of the piece at hand */
	uint32		old_end;		/* and behind the last match */
	int64		growth;			/* new size minus old size */
} Diff;

/* Add old pieces of a node that lie at offset in the new value. */
static void
add_intact(Diff *diff, const void *node, int count, uint32 offset)
{
	PieceCursor cursor;
	Piece		piece;

	node_pieces_begin(&cursor, node);
	while (count-- > 0 && node_pieces_next(&cursor, &piece))
	{
		if (ROPE_LEVEL(node) == 1)
			(void) rope_builder_window(&diff->builder, &piece, offset);
		else
			rope_builder_subtree(&diff->builder, ROPE_LEVEL(node) - 1, &piece,
								 offset);
		offset += piece.head.size;
	}
}

/* The node does not stay as it is: add what was found of it so far. */
static void
break_node(Diff *diff, DiffNode *node)
{
	if (node->broken)
		return;
	if (node->parent)
		break_node(diff, node->parent);
	node->broken = true;
	rope_builder_break(&diff->builder, node->chunk);
	add_intact(diff, node->chunk->node, node->intact, node->start);
}

/*
 * What follows a change in place stands as far from what precedes it as
 * before.  Find the first run of old, from at on, that stands in the new value
 * where it would do so if what lies at position were at at; it must be worth
 * a window.  Looks only as far as windows on a frame may be apart.  Returns
 * the run's size, 0 if there is none, and its distance from at in *gap.
 */
static uint32
find_near(Diff *diff, const char *old, uint32 size, uint32 at,
		  uint32 position, uint32 *gap)
{
	const FlatValue *flat = &diff->builder.flat;
	const RopeLimits *limits = &diff->builder.limits;
	const char *new = flat->data + position;
	uint32		room = Min(size - at, flat->size - position);
	uint32		least = Max(limits->inline_size, MIN_MATCH);
	uint32		match = common_prefix(old + at, new, room);

	*gap = 0;
	if (match > 0 && (match == size - at || match >= limits->inline_size / 8))
		return match;
	for (uint32 i = match + 1; i + least <= room &&
		 i <= GAP_NODES * limits->node_payload; i += least / 2)
	{
		match = common_prefix(old + at + i, new + i, room - i);
		if (match >= least)
		{
			uint32		back = common_suffix(old + at, new, i);

			*gap = i - back;
			return match + back;
		}
	}
	return 0;
}

/*
 * The end of a piece is where most changes leave it: as far as before from
 * what was found of this piece, or of the ones before it, or from the end of
 * the value.  Find the longest run of old that ends in one of these places;
 * its first bytes, up to at, are not to be used.  Sets tail->size to 0 if there
 * is none.
 */
static void
find_tail(Diff *diff, const char *old, uint32 size, uint32 at,
		  uint32 position, RopeWindow *tail)
{
	const FlatValue *flat = &diff->builder.flat;
	uint32		left = size - at;
	int64		ends[3] = {
		(int64) position + left,
		(int64) diff->old_offset + size + diff->growth,
		(int64) diff->old_offset + size + diff->position - diff->old_end
	};

	tail->size = 0;
	for (int i = 0; i < lengthof(ends); i++)
	{
		uint32		room;
		uint32		match;

		if (ends[i] <= position || ends[i] > flat->size)
			continue;
		room = Min(left, ends[i] - position);
		match = common_suffix(old + size - room, flat->data + ends[i] - room,
							  room);
		if (match >= MIN_MATCH && match > tail->size)
		{
			tail->size = match;
			tail->skip = size - match;
			tail->offset = ends[i] - match;
		}
	}
}

/*
 * Find runs of old between at and end in the new value, between position and
 * new_end, by anchors.  Returns how many windows were set.
 */
static int
find_middle(Diff *diff, const char *old, uint32 at, uint32 end,
			uint32 position, uint32 new_end, RopeWindow *windows, int most)
{
	AnchorMatch match;
	int			count = 0;

	if (diff->anchors == NULL)
		diff->anchors =
			anchors_build(&diff->builder.flat, diff->position,
						  pg_nextpower2_32(diff->builder.limits.inline_size /
										   4));
	while (count < most && at < end && position < new_end &&
		   anchors_match(diff->anchors, old, end, at, position, &match) &&
		   match.new_offset + MIN_MATCH <= new_end)
	{
		match.size = Min(match.size, new_end - match.new_offset);
		windows[count].skip = match.old_offset;
		windows[count].size = match.size;
		windows[count].offset = match.new_offset;
		count++;
		at = match.old_offset + match.size;
		position = match.new_offset + match.size;
	}
	return count;
}

/*
 * Find windows of old, the bytes of a piece, in the new value.  Returns
 * their number.
 */
static int
find_windows(Diff *diff, const char *old, uint32 size, RopeWindow *windows)
{
	const FlatValue *flat = &diff->builder.flat;
	uint32		position = diff->position;
	uint32		missed = diff->old_offset - diff->old_end;
	uint32		at = 0;
	uint32		end;
	uint32		gap;
	uint32		match;
	int			count = 0;
	RopeWindow	tail;

	while (count < ROPE_WINDOWS - 1 && at < size && position < flat->size)
	{
		match = find_near(diff, old, size, at, position, &gap);
		if (match == 0 && count == 0 && missed < flat->size - position)
		{
			position += missed;
			match = find_near(diff, old, size, at, position, &gap);
		}
		if (match == 0)
			break;
		windows[count].skip = at + gap;
		windows[count].size = match;
		windows[count++].offset = position + gap;
		at += gap + match;
		position += gap + match;
	}
	if (at == size || position == flat->size)
		return count;

	if (count == 0)
		position = diff->position;
	find_tail(diff, old, size, at, position, &tail);
	end = size - tail.size;
	if (end - at + (count == 0 ? missed : 0) >
		diff->builder.limits.node_payload)
		count += find_middle(diff, old, at, end, position,
							 tail.size > 0 ? tail.offset : flat->size,
							 windows + count, ROPE_WINDOWS - 1 - count);
	if (tail.size > 0)
		windows[count++] = tail;
	return count;
}

/* Keep windows on an old piece, the last of which is the last match then. */
static void
add_windows(Diff *diff, const Piece *piece, const RopeWindow *windows,
			int count)
{
	int			last = rope_window_add(&diff->builder, piece, windows, count);

	if (last >= 0)
	{
		diff->position = windows[last].offset + windows[last].size;
		diff->old_end = diff->old_offset + windows[last].skip +
			windows[last].size;
	}
}

/* Go through one piece of level 1. */
static void
diff_piece(Diff *diff, DiffNode *node, const Piece *piece)
{
	RopeWindow	windows[ROPE_WINDOWS];
	const char *frame;
	int			count;

	if (diff->position == diff->builder.flat.size)
	{
		break_node(diff, node);
		return;
	}
	if (!rope_reader_frame(&diff->reader, piece,
						   piece->head.skip + piece->head.size, &frame))
		chunk_store_raise(diff->store);
	count = find_windows(diff, frame + piece->head.skip, piece->head.size,
						 windows);
	if (count == 1 && windows[0].size == piece->head.size &&
		windows[0].offset == diff->position && !node->broken)
	{
		node->intact++;
		diff->position += piece->head.size;
		diff->old_end = diff->old_offset + piece->head.size;
		return;
	}
	break_node(diff, node);
	if (count > 0 &&
		rope_window_worth(node->chunk->node, piece, windows, count))
		add_windows(diff, piece, windows, count);
}

/* Go through the pieces of a node; its intact run starts at the position. */
static void
diff_node(Diff *diff, DiffNode *node)
{
	int			level = ROPE_LEVEL(node->chunk->node);
	PieceCursor cursor;
	Piece		piece;

	check_stack_depth();
	if (level == 1)
		diff->builder.closed.count = 0;
	node_pieces_begin(&cursor, node->chunk->node);
	while (node_pieces_next(&cursor, &piece))
	{
		Chunk		chunk;
		DiffNode	child = {node, &chunk, 0, 0, false};

		if (level == 1)
		{
			diff_piece(diff, node, &piece);
			diff->old_offset += piece.head.size;
			continue;
		}
		if (!chunk_store_get_child(diff->store, diff->builder.lineage,
								   &piece.refs[0], level - 1, &chunk))
			chunk_store_raise(diff->store);
		child.start = diff->position;
		diff_node(diff, &child);
		if (!child.broken && !node->broken)
			node->intact++;
		else if (!child.broken)
			rope_builder_subtree(&diff->builder, level - 1, &piece,
								 child.start);
		chunk_store_release(&chunk);
	}
}

/*
 * What a delta changes is not looked for in the new value: its base is, and
 * the delta itself is no longer needed.
 */
static void
open_base(Diff *diff, Chunk *root, Chunk *base)
{
	if (!node_is_delta(root->node))
	{
		*base = *root;
		return;
	}
	if (!rope_delta_base(diff->store, root, base))
		chunk_store_raise(diff->store);
	rope_builder_break(&diff->builder, root);
	chunk_store_release(root);
}

/*
 * Write what differs between the old rope and flat.  The old one is not
 * equal to flat; the caller has seen to that.
 */
void
rope_update(TreeWrite *write, const TreePointer *old, FlatValue *flat,
			TreePointer *result)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "rope update",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(context);
	Chunk		root;
	Chunk		base;
	DiffNode	node = {NULL, &base, 0, 0, false};
	const RootTrailer *trailer;
	Diff	   *diff = palloc0(sizeof(Diff));

	diff->store = write->store;
	if (!chunk_store_get_root(diff->store, old->address, old->size, &root))
		chunk_store_raise(diff->store);
	trailer = node_trailer(root.node, root.size);
	rope_builder_init(&diff->builder, write, trailer->lineage,
					  trailer->version + 1, flat);
	rope_reader_init(&diff->reader, diff->store, trailer->lineage);
	open_base(diff, &root, &base);
	diff->growth = (int64) flat->size -
		((const RopeHeader *) base.node)->size;
	diff_node(diff, &node);
	break_node(diff, &node);
	chunk_store_release(&base);
	rope_builder_finish(&diff->builder, result);
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(context);
}

/*
 * Write a new rope of bytes that are not in memory: feed is to give all of
 * them, front to back, to rope_builder_feed().  value has their number.
 */
void
rope_save_stream(TreeWrite *write, const FlatValue *value, RopeFeed feed,
				 void *arg, TreePointer *result)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "rope save",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(context);
	RopeBuilder *builder = palloc(sizeof(RopeBuilder));

	rope_builder_init(builder, write, chunk_store_new_lineage(), 1, value);
	if (feed != NULL)
		feed(builder, arg);
	rope_builder_finish(builder, result);
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(context);
}

/* Write a new rope. */
void
rope_save(TreeWrite *write, FlatValue *flat, TreePointer *result)
{
	rope_save_stream(write, flat, NULL, NULL, result);
}
