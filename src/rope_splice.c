/*-------------------------------------------------------------------------
 *
 * rope_splice.c
 *	  Storing what a piece table makes of a stored value.
 *
 * A short table becomes a delta root (node_format.h): one small node that
 * names the old root, which stays, and that the next edit replaces in its
 * page.  Once the table is longer it is *pushed down*: the old rope is walked
 * with the ranges that the table keeps.  What is kept whole stays, subtrees
 * unread; pieces of which parts are kept become windows; all else is written
 * afresh, and the root is an ordinary one again.
 *
 * Memory: the bytes of a frame or two, and a page pinned per level.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/tableam.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "codec_ids.h"
#include "pointer.h"
#include "rope_build.h"
#include "stats.h"

/*
 * The longest list of splices that a delta has.  An edit logs the delta,
 * nearly all of it, since header and trailer change; with edits at random
 * places the list is half of its longest, L, on average.  The longer it is, the
 * less often the rope has to be changed: with splices of s bytes, and p bytes
 * that a change of the rope logs, an edit costs L / 2 + p * s / L, least where
 * L is the root of 2 * p * s.  Of a short value p is what it takes itself; half
 * a node is right for p = 20 kB.
 */
#define SPLICE_BYTES	20
#define DELTA_LIMIT(limits, stored) \
	Min((limits)->capacity / 2, (Size) sqrt(2.0 * (stored) * SPLICE_BYTES))

/* The most windows that a piece is cut into: what a node has room for. */
#define SPLICE_WINDOWS	64

/* A window takes two pieces' headers, its own and that of the next gap. */
#define SHORTEST_WINDOW ((uint32) (4 * sizeof(PieceHeader)))

/* A range of the base that stays. */
typedef struct Kept
{
	uint32		base;
	uint32		size;
	uint32		offset;			/* in the new value */
} Kept;

typedef struct Splicer
{
	RopeBuilder builder;
	RopeReader	reader;
	RopeLimits	limits;
	TreeWrite  *write;
	const PieceTable *table;
	FlatValue	flat;			/* the new value, without data */
	uint32		lineage;
	uint32		version;		/* of the new root */
	Chunk		base;			/* a copy */
	Chunk		delta;			/* a copy of the old delta */
	bool		has_delta;		/* is there one, not replaced so far? */
	Kept	   *kept;			/* in the order of the base */
	int			kept_count;
	int			next;			/* the first that the walk has not passed */
	char	   *shown;			/* bytes of the new value */
	uint32		shown_start;
	uint32		shown_size;
	uint32		shown_capacity;
} Splicer;

/* Copy a chunk out of its page, which is released. */
static void
copy_chunk(Chunk *target, Chunk *source)
{
	char	   *node = palloc(source->size);

	memcpy(node, source->node, source->size);
	*target = *source;
	target->buffer = InvalidBuffer;
	target->node = node;
	chunk_store_release(source);
}

/* Read the old root, and what it stands on if it is a delta. */
static void
open_old(Splicer *splicer, const TreePointer *old)
{
	ChunkStore *store = splicer->write->store;
	const RootTrailer *trailer;
	Chunk		root;

	if (!chunk_store_get_root(store, old->address, old->size, &root))
		chunk_store_raise(store);
	trailer = node_trailer(root.node, root.size);
	splicer->lineage = trailer->lineage;
	splicer->version = trailer->version + 1;
	if (node_is_delta(root.node))
	{
		Chunk		base;

		splicer->has_delta = true;
		copy_chunk(&splicer->delta, &root);
		if (!rope_delta_base(store, &splicer->delta, &base))
			chunk_store_raise(store);
		copy_chunk(&splicer->base, &base);
	}
	else
		copy_chunk(&splicer->base, &root);
	if (((const RopeHeader *) splicer->base.node)->size !=
		splicer->table->base_size)
		elog(ERROR, "piece table is not one of the value");
}

/* Bytes of all chunks of the base, or, if they are not known, a lot. */
static Size
base_stored(Splicer *splicer)
{
	const void *node = splicer->base.node;
	Size		stored = splicer->base.size;
	PieceCursor cursor;
	Piece		piece;

	if (ROPE_LEVEL(node) > 1)
		return MaxAllocSize;
	node_pieces_begin(&cursor, node);
	while (node_pieces_next(&cursor, &piece))
	{
		for (int i = 0; i < piece.head.refs; i++)
			stored += piece.refs[i].size;
	}
	return stored;
}

/* Can the table be a delta, with so many bytes when it is packed? */
static bool
delta_fits(Splicer *splicer, Size packed_size)
{
	const Chunk *base = &splicer->base;
	Size		limit = DELTA_LIMIT(&splicer->limits, base_stored(splicer));
	ItemPointerData tid = base->tid;
	uint32		address;

	return packed_size > 0 && packed_size <= limit &&
		!settings_force_indexed && base->chunk_id == splicer->lineage &&
		ROPE_LEVEL(base->node) < NODE_MAX_LEVEL &&
		address_from_tid(&tid, &address);
}

/* The delta's node. */
static ChunkDraft *
make_delta(Splicer *splicer, Size packed_size)
{
	const Chunk *base = &splicer->base;
	Size		size = sizeof(RopeHeader) + PIECE_SIZE(1) +
		NODE_ALIGN(packed_size) + sizeof(RootTrailer);
	RopeHeader	head = {{NODE_FORMAT, splicer->flat.kind,
	ROPE_LEVEL(base->node) + 1, NODE_FLAG_ROOT | NODE_FLAG_DELTA |
	(splicer->flat.edited ? NODE_FLAG_EDITED : 0)}, 1,
	packed_size, splicer->flat.size};
	PieceHeader piece = {1, 0, packed_size, splicer->table->base_size, 0, 0};
	RootTrailer trailer = {splicer->lineage, splicer->version,
	splicer->flat.flat_size, 0};
	Ref			ref;
	ChunkDraft *draft = chunk_store_draft(size);
	char	   *at = draft->node;

	ref.block = ItemPointerGetBlockNumber(&base->tid);
	ref.offset = ItemPointerGetOffsetNumber(&base->tid);
	ref.size = base->size;
	ref.crc = node_crc(base->node, base->size);

	memset(at, 0, size);
	memcpy(at, &head, sizeof(head));
	at += sizeof(head);
	memcpy(at, &piece, sizeof(piece));
	memcpy(at + sizeof(piece), &ref, sizeof(ref));
	at += PIECE_SIZE(1);
	piece_table_pack(splicer->table, at);
	at += NODE_ALIGN(packed_size);
	memcpy(at, &trailer, sizeof(trailer));
	trailer.crc = node_root_crc(draft->node, size);
	memcpy(at, &trailer, sizeof(trailer));
	Assert(node_problem(draft->node, size) == NULL);
	return draft;
}

/*
 * Store the table as a delta, in the place of the old one if its page has
 * room.  Returns false when the place cannot be expressed as an address; the
 * old delta may be gone then.
 */
static bool
write_delta(Splicer *splicer, Size packed_size, TreePointer *result)
{
	ChunkStore *store = splicer->write->store;
	ChunkDraft *draft = make_delta(splicer, packed_size);
	bool		replaced;
	ItemPointerData tid;

	replaced = splicer->has_delta &&
		chunk_store_replace(store, &splicer->delta.tid, splicer->lineage,
							draft, true, &tid);
	if (replaced)
		splicer->has_delta = false;
	else
		chunk_store_put_near(store, splicer->lineage, draft,
							 &splicer->base.tid, &tid);
	FAILPOINT("node_written");
	if (!address_from_tid(&tid, &result->address))
	{
		/* heap can kill neither a HOT nor a frozen tuple */
		if (replaced || (store->options & TABLE_INSERT_FROZEN) != 0)
			chunk_store_drop_new(store, &tid);
		else
			chunk_store_kill(store, &tid);
		return false;
	}
	if (splicer->has_delta)
		chunk_list_add(splicer->write->dropped, &splicer->delta.tid,
					   splicer->delta.chunk_id);
	stats_add(STATS_NODES_SHARED, 1);
	result->toastrelid = splicer->write->toastrelid;
	result->size = splicer->flat.flat_size;
	result->version = splicer->version;
	return true;
}

/*
 * Does the value take less than a page?  Then it is written afresh, which
 * costs little and leaves it in the shape of a new one.
 */
static bool
base_is_short(Splicer *splicer)
{
	return base_stored(splicer) <= splicer->limits.full_payload &&
		splicer->table->base_size <= splicer->limits.frame_size;
}

/* List the ranges that stay, those in the order of the base. */
static void
list_kept(Splicer *splicer)
{
	const PieceTable *table = splicer->table;
	uint32		behind = 0;

	splicer->kept = MemoryContextAllocHuge(CurrentMemoryContext,
										   (table->count + 1) * sizeof(Kept));
	for (int i = 0; i < table->count; i++)
	{
		const TablePiece *piece = &table->pieces[i];
		Kept	   *kept = &splicer->kept[splicer->kept_count];

		if (piece->bytes != NULL || piece->offset < behind)
			continue;
		kept->base = piece->offset;
		kept->size = piece->size;
		kept->offset = piece->start;
		splicer->kept_count++;
		behind = piece->offset + piece->size;
	}
}

/* The first range that ends behind an offset of the base, or NULL. */
static const Kept *
next_kept(Splicer *splicer, uint32 offset)
{
	for (; splicer->next < splicer->kept_count; splicer->next++)
	{
		const Kept *kept = &splicer->kept[splicer->next];

		if (kept->base + kept->size > offset)
			return kept;
	}
	return NULL;
}

/* Show bytes of the new value; a RopeShow. */
static const char *
show_new(void *arg, uint32 offset, uint32 length)
{
	Splicer    *splicer = (Splicer *) arg;
	const PieceTable *table = splicer->table;
	uint32		start;
	const TablePiece *piece;

	piece = &table->pieces[piece_table_find(table, offset, &start)];
	if (piece->bytes != NULL && piece->size - (offset - start) >= length)
		return piece->bytes + (offset - start);
	if (offset >= splicer->shown_start &&
		offset + length <= splicer->shown_start + splicer->shown_size)
		return splicer->shown + (offset - splicer->shown_start);
	if (length > splicer->shown_capacity)
	{
		if (splicer->shown != NULL)
			pfree(splicer->shown);
		splicer->shown = MemoryContextAlloc(splicer->builder.context, length);
		splicer->shown_capacity = length;
	}
	splicer->shown_size = 0;
	if (!rope_reader_table(&splicer->reader, &splicer->base, table, offset,
						   length, splicer->shown))
		chunk_store_raise(splicer->write->store);
	splicer->shown_start = offset;
	splicer->shown_size = length;
	return splicer->shown;
}

/* Add a window to those chosen; when there are too many, the longest stay. */
static int
choose_window(RopeWindow *windows, int count, const RopeWindow *window)
{
	int			shortest = 0;

	if (count < SPLICE_WINDOWS)
	{
		windows[count] = *window;
		return count + 1;
	}
	for (int i = 1; i < count; i++)
	{
		if (windows[i].size < windows[shortest].size)
			shortest = i;
	}
	if (windows[shortest].size < window->size)
	{
		memmove(&windows[shortest], &windows[shortest + 1],
				(count - 1 - shortest) * sizeof(RopeWindow));
		windows[count - 1] = *window;
	}
	return count;
}

/*
 * Bytes that a window takes in its node, with the fresh bytes between it and
 * the one before it; more than a node has if they are too far apart.
 */
static Size
window_cost(const RopeLimits *limits, const Piece *piece,
			const RopeWindow *before, const RopeWindow *window)
{
	uint32		gap = window->offset - before->offset - before->size;
	int			refs = piece->head.refs + (piece->head.inline_size > 0);

	if (gap <= limits->inline_size)
		return 2 * PIECE_SIZE(0) + gap;
	if (gap <= GAP_NODES * limits->node_payload)
		return PIECE_SIZE(refs) + PIECE_SIZE(Min(5, limits->max_refs)) +
			limits->inline_size;
	return limits->capacity + 1;
}

/*
 * Windows on a frame must be in one node.  Move the run of them that has room
 * there and shows most to the front; returns their number.
 */
static int
choose_run(const RopeLimits *limits, const Piece *piece, RopeWindow *windows,
		   int count)
{
	Size		costs[SPLICE_WINDOWS];
	Size		cost = 0;
	uint32		shown = 0;
	uint32		best_shown = 0;
	int			best = 0;
	int			best_count = 0;
	int			first = 0;

	for (int i = 0; i < count; i++)
	{
		costs[i] = i == first ? piece_node_size(&piece->head) + sizeof(Ref) :
			window_cost(limits, piece, &windows[i - 1], &windows[i]);
		cost += costs[i];
		shown += windows[i].size;
		while (first < i && cost > limits->capacity)
		{
			shown -= windows[first].size;
			cost -= costs[first + 1];
			costs[first + 1] = costs[first];
			first++;
		}
		if (shown > best_shown)
		{
			best_shown = shown;
			best = first;
			best_count = i + 1 - first;
		}
	}
	memmove(windows, windows + best, best_count * sizeof(RopeWindow));
	return best_count;
}

/*
 * Choose windows on a piece of level 1 that starts at start in the base.
 * A short one costs more than its bytes.  A compressed frame that stands
 * inline is not cut: its bytes are written again in either case.
 */
static int
choose_windows(Splicer *splicer, const Piece *piece, uint32 start,
			   RopeWindow *windows)
{
	const PieceHeader *head = &piece->head;
	uint32		end = start + head->size;
	bool		cut = head->refs > 0 || head->method == CODEC_NONE;
	int			count = 0;

	for (int i = splicer->next; i < splicer->kept_count &&
		 splicer->kept[i].base < end; i++)
	{
		const Kept *kept = &splicer->kept[i];
		uint32		from = Max(kept->base, start);
		uint32		size = Min(kept->base + kept->size, end) - from;
		RopeWindow	window = {from - start, size,
		kept->offset + (from - kept->base)};

		if (size == head->size || (cut && size >= SHORTEST_WINDOW))
			count = choose_window(windows, count, &window);
	}
	return choose_run(&splicer->limits, piece, windows, count);
}

/* Go through a node of the base, whose value starts at start. */
static void
splice_node(Splicer *splicer, const Chunk *chunk, uint32 start)
{
	RopeBuilder *builder = &splicer->builder;
	int			level = ROPE_LEVEL(chunk->node);
	PieceCursor cursor;
	Piece		piece;

	check_stack_depth();
	rope_builder_break(builder, chunk);
	if (level == 1)
		builder->closed.count = 0;
	node_pieces_begin(&cursor, chunk->node);
	for (; node_pieces_next(&cursor, &piece); start += piece.head.size)
	{
		const Kept *kept = next_kept(splicer, start);
		Chunk		child;

		if (level == 1)
		{
			RopeWindow	windows[SPLICE_WINDOWS];
			int			count = choose_windows(splicer, &piece, start,
											   windows);

			if (count > 0 &&
				rope_window_worth(chunk->node, &piece, windows, count))
				(void) rope_window_add(builder, &piece, windows, count);
			continue;
		}
		if (kept != NULL && kept->base <= start &&
			kept->base + kept->size - start >= piece.head.size)
		{
			rope_builder_subtree(builder, level - 1, &piece,
								 kept->offset + (start - kept->base));
			continue;
		}
		if (!chunk_store_get_child(splicer->write->store, splicer->lineage,
								   &piece.refs[0], level - 1, &child))
			chunk_store_raise(splicer->write->store);
		splice_node(splicer, &child, start);
		chunk_store_release(&child);
	}
}

/* Apply the table to the rope. */
static void
push_down(Splicer *splicer, TreePointer *result)
{
	rope_builder_init(&splicer->builder, splicer->write, splicer->lineage,
					  splicer->version, &splicer->flat);
	splicer->builder.show = show_new;
	splicer->builder.show_arg = splicer;
	rope_reader_init(&splicer->reader, splicer->write->store,
					 splicer->lineage);
	if (splicer->has_delta)
		rope_builder_break(&splicer->builder, &splicer->delta);
	if (!base_is_short(splicer))
		list_kept(splicer);
	splice_node(splicer, &splicer->base, 0);
	rope_builder_finish(&splicer->builder, result);
}

/*
 * Write what a piece table makes of a stored value.  old names its present
 * root, a delta or not; the table's base is the rope below the delta.  kind and
 * flat_size are those of the new value.  Chunks no longer used go to
 * write->dropped.
 */
void
rope_apply(TreeWrite *write, const TreePointer *old, const PieceTable *table,
		   uint8 kind, uint32 flat_size, TreePointer *result)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "rope apply",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(context);
	Splicer    *splicer = palloc0(sizeof(Splicer));
	Size		packed_size = piece_table_packed_size(table);

	if (table->size == 0)
		elog(ERROR, "an empty value cannot be stored out of line");
	splicer->write = write;
	splicer->table = table;
	flat_value_init(&splicer->flat, NULL, table->size);
	splicer->flat.kind = kind;
	splicer->flat.flat_size = flat_size;
	splicer->flat.edited = kind == NODE_KIND_JSON;
	settings_limits(&splicer->limits);
	open_old(splicer, old);
	if (!delta_fits(splicer, packed_size) ||
		!write_delta(splicer, packed_size, result))
		push_down(splicer, result);
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(context);
}
