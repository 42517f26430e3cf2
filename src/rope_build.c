/*-------------------------------------------------------------------------
 *
 * rope_build.c
 *	  Writing the nodes of a byte tree, new or changed.
 *
 * Pieces gather per level, up to what two nodes hold, so that the last node
 * of a level can share with the one before it.  A node is written when its
 * level overflows or is closed; its piece then joins the level above.
 *
 * Invariants
 *	1. A node is never changed once written; children are written before the
 *	   node that names them.
 *	2. A chunk is named by exactly one node.  Windows on the same frame are
 *	   therefore joined: they are never split between nodes, and a window
 *	   whose frame stands in a node already written is refused.  The pieces
 *	   of an old node that is broken up are all added before anything is
 *	   written.
 *	3. A node that stays as it is (a subtree added whole) is not rewritten,
 *	   unless the nodes before it on its level would be less than a third
 *	   full; then it is broken up and merged with them.
 *	4. An old branch that does not stay is in `freed`: a new branch may take
 *	   its place in the page.  What is left of it is dropped by the caller
 *	   once the row is written, with those chunks of it that no new branch
 *	   names.
 *
 * The inline bytes of a node are padded once; a level counts at most 3 bytes
 * too few, which `capacity` allows for by being a multiple of 4.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/tableam.h"
#include "utils/memutils.h"

#include "pointer.h"
#include "rope_build.h"
#include "stats.h"

static void level_add(RopeBuilder *builder, int level, const Piece *piece,
					  bool joined, bool old);

/*
 * Start a rope of the given lineage.  The builder allocates in the current
 * memory context, which the caller deletes afterwards.
 */
void
rope_builder_init(RopeBuilder *builder, TreeWrite *write, uint32 lineage,
				  uint32 version, const FlatValue *flat)
{
	memset(builder, 0, sizeof(*builder));
	builder->write = write;
	builder->context = CurrentMemoryContext;
	settings_limits(&builder->limits);
	builder->lineage = lineage;
	builder->version = version;
	builder->flat = *flat;
	builder->ratio = 3.0;
	builder->image = chunk_store_draft(NODE_SIZE_MAX);
	chunk_list_init(&builder->freed);
	chunk_list_init(&builder->candidates);
	chunk_list_init(&builder->kept);
	chunk_list_init(&builder->closed);
	chunk_list_init(&builder->own);
}

/* Lay out a node with the first count pieces of a level in the image. */
static Size
lay_out(RopeBuilder *builder, int level, int count, bool root)
{
	BuildPiece *pieces = builder->levels[level].pieces;
	char	   *node = builder->image->node;
	RopeHeader	head = {{NODE_FORMAT, NODE_KIND_ROPE, level, 0}, count, 0, 0};
	char	   *at = node + sizeof(RopeHeader);
	Size		padding;

	for (int i = 0; i < count; i++)
	{
		Piece	   *piece = &pieces[i].piece;
		PieceHeader own = piece->head;

		if (pieces[i].shares)
			own.refs = 0;
		memcpy(at, &own, sizeof(PieceHeader));
		memcpy(at + sizeof(PieceHeader), piece->refs, own.refs * sizeof(Ref));
		at += PIECE_SIZE(own.refs);
		head.inline_size += piece->head.inline_size;
		head.size += piece->head.size;
	}
	for (int i = 0; i < count; i++)
	{
		Piece	   *piece = &pieces[i].piece;

		memcpy(at, piece->bytes, piece->head.inline_size);
		at += piece->head.inline_size;
	}
	padding = NODE_ALIGN(head.inline_size) - head.inline_size;
	memset(at, 0, padding);
	at += padding;
	if (root)
	{
		head.node.kind = builder->flat.kind;
		head.node.flags = NODE_FLAG_ROOT |
			(builder->flat.edited ? NODE_FLAG_EDITED : 0);
	}
	memcpy(node, &head, sizeof(head));
	if (root)
	{
		RootTrailer trailer = {builder->lineage, builder->version,
		builder->flat.flat_size, 0};
		Size		size = at - node + sizeof(trailer);

		memcpy(at, &trailer, sizeof(trailer));
		trailer.crc = node_root_crc(node, size);
		memcpy(at, &trailer, sizeof(trailer));
		at += sizeof(trailer);
	}
	chunk_store_resize(builder->image, at - node);
	Assert(node_problem(node, at - node) == NULL);
	return at - node;
}

/*
 * Store the image: in the place of a freed branch, and return true, or as a
 * new chunk.
 */
static bool
store_image(RopeBuilder *builder, bool root, ItemPointer tid)
{
	ChunkStore *store = builder->write->store;
	ChunkList  *freed = &builder->freed;
	int			tries = Min(freed->count, 4);

	for (int i = freed->count - 1; i >= freed->count - tries; i--)
	{
		if (chunk_store_replace(store, &freed->places[i].tid, builder->lineage,
								builder->image, root, tid))
		{
			freed->places[i] = freed->places[--freed->count];
			FAILPOINT("node_written");
			return true;
		}
	}
	chunk_store_put(store, builder->lineage, &builder->image, 1, tid);
	FAILPOINT("node_written");
	return false;
}

/* Note which old chunks a node of level 1 names from now on. */
static void
note_kept(RopeBuilder *builder, int count)
{
	for (int i = 0; i < count; i++)
	{
		BuildPiece *build = &builder->levels[1].pieces[i];
		int			refs = build->piece.head.refs;

		if (!build->old)
			continue;
		for (int j = 0; j < refs; j++)
		{
			ItemPointerData tid;

			ref_tid(&build->piece.refs[j], &tid);
			chunk_list_add(&builder->kept, &tid, builder->lineage);
			if (j == 0)
				chunk_list_add(&builder->closed, &tid, builder->lineage);
		}
		stats_add(STATS_NODES_SHARED, refs);
	}
}

/* Write the first count pieces of a level as a node of the level above. */
static void
emit(RopeBuilder *builder, int level, int count)
{
	Size		size = lay_out(builder, level, count, false);
	const char *node = builder->image->node;
	ItemPointerData tid;
	Ref			ref;
	Piece		piece;

	if (level >= NODE_MAX_LEVEL)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("tree of toast value is too deep")));
	(void) store_image(builder, false, &tid);
	ref.block = ItemPointerGetBlockNumber(&tid);
	ref.offset = ItemPointerGetOffsetNumber(&tid);
	ref.size = size;
	ref.crc = node_crc(node, size);

	memset(&piece, 0, sizeof(piece));
	piece.head.refs = 1;
	piece.head.size = ((const RopeHeader *) node)->size;
	piece.refs = &ref;
	if (level == 1)
		note_kept(builder, count);
	rope_level_shift(&builder->levels[level], count);
	level_add(builder, level + 1, &piece, false, false);
}

/* Write all of a level, spread evenly over as few nodes as it takes. */
static void
level_close(RopeBuilder *builder, int level)
{
	BuildLevel *l = &builder->levels[level];

	while (l->count > 0)
	{
		Size		nodes = (l->bytes + builder->limits.capacity - 1) /
			builder->limits.capacity;

		emit(builder, level, rope_level_node_end(l, l->bytes / nodes,
												 builder->limits.capacity));
	}
}

/*
 * Write nodes while a level has more than two can hold.  All windows on the
 * frame of the last piece must be there, unless the next ones come through
 * rope_builder_window(), which refuses what comes too late.
 */
static void
level_spill(RopeBuilder *builder, int level)
{
	BuildLevel *l = &builder->levels[level];

	while (l->bytes > 2 * builder->limits.capacity)
		emit(builder, level,
			 rope_level_node_end(l, builder->limits.capacity,
								 builder->limits.capacity));
}

static void
level_add(RopeBuilder *builder, int level, const Piece *piece, bool joined,
		  bool old)
{
	BuildLevel *l = &builder->levels[level];

	rope_level_insert(l, builder->context, l->count, piece, joined, old);
	level_spill(builder, level);
}

/*
 * An old branch is not to stay as it is: remember it, and in level 1 the
 * chunks that it names.
 */
void
rope_builder_break(RopeBuilder *builder, const Chunk *chunk)
{
	PieceCursor cursor;
	Piece		piece;

	if (chunk->chunk_id == builder->lineage)
		chunk_list_add(&builder->freed, &chunk->tid, chunk->chunk_id);
	else						/* an indexed root cannot be replaced */
		chunk_list_add(builder->write->dropped, &chunk->tid,
					   chunk->chunk_id);
	if (ROPE_LEVEL(chunk->node) > 1)
		return;
	node_pieces_begin(&cursor, chunk->node);
	while (node_pieces_next(&cursor, &piece))
	{
		for (int i = 0; i < piece.head.refs; i++)
		{
			ItemPointerData tid;

			ref_tid(&piece.refs[i], &tid);
			chunk_list_add(&builder->candidates, &tid, builder->lineage);
		}
	}
}

/*
 * Break up the old subtree of the given level that piece names, and put its
 * pieces in front of those that the level has.
 */
static void
level_unshift(RopeBuilder *builder, int level, const Piece *piece)
{
	ChunkStore *store = builder->write->store;
	BuildLevel *l = &builder->levels[level];
	Chunk		chunk;
	PieceCursor cursor;
	Piece		next;
	int			at = 0;

	if (!chunk_store_get_child(store, builder->lineage, &piece->refs[0],
							   level, &chunk))
		chunk_store_raise(store);
	rope_builder_break(builder, &chunk);
	node_pieces_begin(&cursor, chunk.node);
	while (node_pieces_next(&cursor, &next))
	{
		rope_level_insert(l, builder->context, at, &next, false, true);
		at++;
	}
	chunk_store_release(&chunk);
}

/* Break up an old subtree and append what it consists of. */
static void
append_broken(RopeBuilder *builder, int level, const Piece *piece)
{
	ChunkStore *store = builder->write->store;
	BuildLevel *leaf = &builder->levels[1];
	Chunk		chunk;
	PieceCursor cursor;
	Piece		next;

	if (!chunk_store_get_child(store, builder->lineage, &piece->refs[0],
							   level, &chunk))
		chunk_store_raise(store);
	rope_builder_break(builder, &chunk);
	node_pieces_begin(&cursor, chunk.node);
	while (node_pieces_next(&cursor, &next))
	{
		if (level > 1)
			rope_builder_subtree(builder, level - 1, &next,
								 builder->position);
		else
		{
			rope_level_insert(leaf, builder->context, leaf->count, &next,
							  false, true);
			builder->position += next.head.size;
		}
	}
	level_spill(builder, 1);
	chunk_store_release(&chunk);
}

/*
 * Would what a level has gathered make a node less than a third full, or one
 * with an only child, which would be a level for nothing?
 */
static bool
level_underfull(RopeBuilder *builder, int level)
{
	BuildLevel *l = &builder->levels[level];

	return l->count > 0 && (l->bytes < builder->limits.capacity / 3 ||
							(level > 1 && l->count == 1));
}

/*
 * Add an old subtree, whose node has the given level, as it is; its bytes
 * are those of the new value from offset on.
 */
void
rope_builder_subtree(RopeBuilder *builder, int level, const Piece *piece,
					 uint32 offset)
{
	rope_builder_fresh(builder, offset);
	for (int i = 1; i <= level; i++)
	{
		if (level_underfull(builder, i))
		{
			append_broken(builder, level, piece);
			return;
		}
		level_close(builder, i);
	}
	level_add(builder, level + 1, piece, false, true);
	stats_add(STATS_NODES_SHARED, 1);
	builder->position += piece->head.size;
}

/* Cover the new value up to end with fresh bytes. */
void
rope_builder_fresh(RopeBuilder *builder, uint32 end)
{
	if (end > builder->position)
		rope_frame_append(builder, end);
}

/* Is the frame's first chunk named by a node already written? */
static bool
frame_closed(RopeBuilder *builder, const Piece *piece)
{
	ItemPointerData tid;

	if (piece->head.refs == 0)
		return false;
	ref_tid(&piece->refs[0], &tid);
	for (int i = 0; i < builder->closed.count; i++)
	{
		if (ItemPointerEquals(&builder->closed.places[i].tid, &tid))
			return true;
	}
	return false;
}

/*
 * Can a window follow, gap bytes later, an earlier window on its frame, at
 * index first, in the same node?  So must what that one is joined with.
 */
static bool
group_fits(RopeBuilder *builder, const Piece *piece, int first, uint32 gap)
{
	const RopeLimits *limits = &builder->limits;
	BuildLevel *l = &builder->levels[1];
	Size		size = piece_node_size(&piece->head);
	int			last = l->count - 1;

	if (gap > GAP_NODES * limits->node_payload)
		return false;
	while (l->pieces[last].piece.head.refs == 0)
		last--;
	if (gap <= limits->inline_size &&
		rope_level_can_share(&l->pieces[last].piece, piece))
		size = PIECE_SIZE(0);
	if (gap > limits->inline_size)
		size += PIECE_SIZE(Min(5, limits->max_refs)) + limits->inline_size;
	else if (gap > 0)
		size += PIECE_SIZE(0) + gap;
	while (first > 0 && l->pieces[first].joined)
		first--;
	for (int i = first; i < l->count; i++)
		size += build_piece_size(&l->pieces[i]);
	return size <= limits->capacity;
}

/*
 * Add a window on a frame of the old tree; its bytes are those of the new
 * value from offset on.  Returns false, and adds nothing, when invariant 2
 * forbids it: the bytes will be fresh ones.
 */
bool
rope_builder_window(RopeBuilder *builder, const Piece *piece, uint32 offset)
{
	BuildLevel *l = &builder->levels[1];
	int			first;

	if (frame_closed(builder, piece))
		return false;
	for (first = l->count - 1; first >= 0; first--)
	{
		if (piece_same_frame(&l->pieces[first].piece, piece))
			break;
	}
	if (first >= 0)
	{
		if (!group_fits(builder, piece, first, offset - builder->position))
			return false;
		for (int i = first + 1; i < l->count; i++)
			l->pieces[i].joined = true;
	}
	builder->joining = first >= 0;
	rope_builder_fresh(builder, offset);
	level_add(builder, 1, piece, builder->joining, true);
	builder->position += piece->head.size;
	builder->joining = false;
	return true;
}

/* Add a piece that shows all of a frame stored where the rope is written. */
void
rope_builder_stored(RopeBuilder *builder, const Piece *piece)
{
	level_add(builder, 1, piece, builder->joining, false);
	builder->position += piece->head.size;
}

/* Is there nothing in the levels above? */
static bool
level_is_top(RopeBuilder *builder, int level)
{
	for (int i = level + 1; i <= NODE_MAX_LEVEL; i++)
	{
		if (builder->levels[i].count > 0)
			return false;
	}
	return true;
}

/* Take the last piece of a level if it is an old subtree. */
static bool
level_pop_old(RopeBuilder *builder, int level, Piece *piece)
{
	return level <= NODE_MAX_LEVEL &&
		rope_level_pop_old(&builder->levels[level], piece);
}

/*
 * Where a level has no piece, take an old subtree apart that a level above
 * has last, so that what it consists of can be merged with the levels below.
 * False when there is none.
 */
static bool
level_pull_down(RopeBuilder *builder, int level)
{
	int			above = level;
	Piece		piece;

	while (above <= NODE_MAX_LEVEL && builder->levels[above].count == 0)
		above++;
	for (; above > level; above--)
	{
		if (!level_pop_old(builder, above, &piece))
			return false;
		level_unshift(builder, above - 1, &piece);
	}
	return true;
}

/* Write all pieces of the level as the root; returns its address. */
static uint32
write_root(RopeBuilder *builder, int level)
{
	ChunkStore *store = builder->write->store;
	ItemPointerData tid;
	uint32		address;

	lay_out(builder, level, builder->levels[level].count, true);
	if (level == 1)
		note_kept(builder, builder->levels[1].count);
	if (settings_force_indexed)
		address = chunk_store_put_indexed(store, builder->image);
	else
	{
		bool		replaced = store_image(builder, true, &tid);

		if (!address_from_tid(&tid, &address))
		{
			/* heap can kill neither a HOT nor a frozen tuple */
			if (replaced || (store->options & TABLE_INSERT_FROZEN) != 0)
				chunk_store_drop_new(store, &tid);
			else
				chunk_store_kill(store, &tid);
			address = chunk_store_put_indexed(store, builder->image);
		}
	}
	return address;
}

/*
 * Hand over to the caller what the new tree does not use of the old one, and
 * delete chunks written on the way that no node names in the end.
 */
static void
drop_unused(RopeBuilder *builder)
{
	ChunkList  *dropped = builder->write->dropped;
	ChunkList  *candidates = &builder->candidates;
	ChunkList  *kept = &builder->kept;

	chunk_list_sort(kept);
	for (int i = 0; i < builder->own.count; i++)
	{
		ItemPointer tid = &builder->own.places[i].tid;

		if (!chunk_list_contains(kept, tid))
			chunk_store_kill(builder->write->store, tid);
	}
	for (int i = 0; i < builder->freed.count; i++)
		chunk_list_add(dropped, &builder->freed.places[i].tid,
					   builder->freed.places[i].chunk_id);
	chunk_list_sort(candidates);
	for (int i = 0; i < candidates->count; i++)
	{
		ItemPointer tid = &candidates->places[i].tid;

		if (i > 0 &&
			ItemPointerEquals(tid, &candidates->places[i - 1].tid))
			continue;
		if (!chunk_list_contains(kept, tid))
			chunk_list_add(dropped, tid, builder->lineage);
	}
}

/*
 * Cover the rest of the new value with fresh bytes, write all that waits,
 * the root last, and set *result.  Unused chunks of the old tree are in
 * write->dropped then.
 */
void
rope_builder_finish(RopeBuilder *builder, TreePointer *result)
{
	int			level = 1;
	Piece		piece;

	rope_builder_fresh(builder, builder->flat.size);
	for (;;)
	{
		BuildLevel *l = &builder->levels[level];

		if (level_underfull(builder, level) &&
			level_pull_down(builder, level + 1) &&
			level_pop_old(builder, level + 1, &piece))
			level_unshift(builder, level, &piece);
		if (level_is_top(builder, level) &&
			l->bytes <= builder->limits.capacity)
		{
			/* an only child that is there already becomes the root */
			if (level == 1 || l->count > 1 ||
				!level_pop_old(builder, level, &piece))
				break;
			level_unshift(builder, --level, &piece);
			continue;
		}
		level_close(builder, level++);
	}
	result->toastrelid = builder->write->toastrelid;
	result->address = write_root(builder, level);
	result->size = builder->flat.flat_size;
	result->version = builder->version;
	drop_unused(builder);
}
