/*-------------------------------------------------------------------------
 *
 * rope_read.c
 *	  Byte trees: slices, comparison and walks.
 *
 * Every function descends from a pinned root, keeps one page pinned per
 * level, and returns false, with the problem recorded in the store, when a
 * chunk is missing or damaged.  Levels strictly decrease, so that no damage
 * can make a descent run in circles.
 *
 * What is wanted is a list of ranges, for a slice of a value just one, for a
 * delta as many as it keeps of its base; they are read in one descent.
 *
 * Memory: one frame's stored bytes and one frame decompressed, whatever the
 * size of the value.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "codec.h"
#include "rope.h"
#include "stats.h"

/* Start reading frames of a value of the given lineage. */
void
rope_reader_init(RopeReader *reader, ChunkStore *store, uint32 lineage)
{
	memset(reader, 0, sizeof(*reader));
	reader->store = store;
	reader->lineage = lineage;
	reader->context = CurrentMemoryContext;
}

/* Free the buffers. */
void
rope_reader_free(RopeReader *reader)
{
	if (reader->stored)
		pfree(reader->stored);
	if (reader->frame)
		pfree(reader->frame);
}

/* Make a buffer at least size bytes long; its contents are lost. */
static void
ensure_capacity(RopeReader *reader, char **buffer, Size *capacity, Size size)
{
	if (*capacity >= size)
		return;
	if (*buffer)
		pfree(*buffer);
	*capacity = 0;
	*buffer = NULL;
	*buffer = MemoryContextAllocHuge(reader->context, size);
	*capacity = size;
}

/* Do two pieces of one node show windows on the same frame? */
bool
piece_same_frame(const Piece *a, const Piece *b)
{
	return a->head.refs > 0 && b->head.refs > 0 &&
		a->refs[0].block == b->refs[0].block &&
		a->refs[0].offset == b->refs[0].offset;
}

/* Bytes of the frame's stored form in a chunk. */
static Size
payload_size(const Ref *ref)
{
	return ref->size - sizeof(NodeHeader);
}

static const char *
payload(const Chunk *chunk)
{
	return (const char *) chunk->node + sizeof(NodeHeader);
}

/* Copy length stored bytes of the piece's frame, from offset on. */
bool
rope_reader_stored(RopeReader *reader, const Piece *piece, Size offset,
				   Size length, char *target)
{
	Size		at = 0;

	for (int i = -1; i < piece->head.refs && length > 0; i++)
	{
		bool		in_node = i < 0;
		Size		size = in_node ? piece->head.inline_size :
			payload_size(&piece->refs[i]);
		Size		part;

		if (offset < at + size)
		{
			part = Min(length, at + size - offset);
			if (in_node)
				memcpy(target, piece->bytes + (offset - at), part);
			else
			{
				Chunk		chunk;

				if (!chunk_store_get_child(reader->store, reader->lineage,
										   &piece->refs[i], 0, &chunk))
					return false;
				memcpy(target, payload(&chunk) + (offset - at), part);
				chunk_store_release(&chunk);
			}
			target += part;
			offset += part;
			length -= part;
		}
		at += size;
	}
	if (length > 0)
		return chunk_store_problem(reader->store, &reader->store->problem_tid,
								   "Frame is shorter than its piece says");
	return true;
}

static Size
stored_size(const Piece *piece)
{
	Size		size = piece->head.inline_size;

	for (int i = 0; i < piece->head.refs; i++)
		size += payload_size(&piece->refs[i]);
	return size;
}

/* Decompress the first wanted bytes of the piece's frame into target. */
bool
rope_reader_decompress(RopeReader *reader, const Piece *piece, Size wanted,
					   char *target)
{
	const PieceHeader *head = &piece->head;
	Size		size;
	ItemPointerData tid;
	Chunk		chunk;
	bool		ok;

	ItemPointerSetInvalid(&tid);
	if (head->refs > 0)
		ref_tid(&piece->refs[0], &tid);
	reader->store->problem_tid = tid;
	if (head->method == CODEC_NONE)
		return rope_reader_stored(reader, piece, 0, wanted, target);

	stats_add(STATS_NODES_DECOMPRESSED, 1);
	size = codec_prefix(head->method, wanted, stored_size(piece),
						head->frame_size);
	if (size <= head->inline_size)
		ok = codec_decompress(head->method, piece->bytes, size, target,
							  wanted, head->frame_size);
	else if (head->inline_size == 0 &&
			 size <= payload_size(&piece->refs[0]))
	{
		if (!chunk_store_get_child(reader->store, reader->lineage,
								   &piece->refs[0], 0, &chunk))
			return false;
		ok = codec_decompress(head->method, payload(&chunk), size, target,
							  wanted, head->frame_size);
		chunk_store_release(&chunk);
	}
	else
	{
		ensure_capacity(reader, &reader->stored, &reader->stored_capacity,
						size);
		if (!rope_reader_stored(reader, piece, 0, size, reader->stored))
			return false;
		ok = codec_decompress(head->method, reader->stored, size, target,
							  wanted, head->frame_size);
	}
	if (!ok)
		return chunk_store_problem(reader->store, &tid,
								   "Frame does not decompress");
	return true;
}

/*
 * Set *frame to the first wanted bytes of the piece's frame, decompressed,
 * in a buffer of the reader that lasts until its next use.
 */
bool
rope_reader_frame(RopeReader *reader, const Piece *piece, Size wanted,
				  const char **frame)
{
	bool		known = piece->head.refs > 0 && reader->frame_ready >= wanted &&
		memcmp(&reader->frame_ref, &piece->refs[0], sizeof(Ref)) == 0;

	if (!known)
	{
		reader->frame_ready = 0;
		ensure_capacity(reader, &reader->frame, &reader->frame_capacity,
						Max(wanted, piece->head.frame_size));
		if (!rope_reader_decompress(reader, piece, wanted, reader->frame))
			return false;
		if (piece->head.refs > 0)
		{
			reader->frame_ref = piece->refs[0];
			reader->frame_ready = wanted;
		}
	}
	*frame = reader->frame;
	return true;
}

/* Bytes of a rope that are wanted. */
typedef struct Range
{
	uint32		offset;
	uint32		size;
	char	   *target;			/* takes them, or has what they should be */
} Range;

/* Ranges to be read, in order and apart from one another. */
typedef struct RangeRead
{
	RopeReader *reader;
	Range	   *ranges;
	int			count;
	int			next;			/* the first that is not done */
	bool		compare;
	bool		equal;			/* no difference was found so far */
} RangeRead;

/* Take what a piece of level 1, which starts at start, has of the range. */
static bool
take_range(RangeRead *read, const Piece *piece, uint32 start,
		   const char *frame, const Range *range)
{
	uint32		from = Max(range->offset, start);
	uint32		size = Min(range->offset + range->size,
						   start + piece->head.size) - from;
	uint32		skip = piece->head.skip + (from - start);
	char	   *target = range->target + (from - range->offset);

	if (read->compare)
		read->equal = read->equal && memcmp(frame + skip, target, size) == 0;
	else if (frame != NULL)
		memcpy(target, frame + skip, size);
	else if (piece->head.method == CODEC_NONE)
		return rope_reader_stored(read->reader, piece, skip, size, target);
	else
		return rope_reader_decompress(read->reader, piece, size, target);
	return true;
}

/*
 * Take what a piece of level 1, which starts at start, has of the ranges.  Its
 * frame is decompressed once, into its target if it is wanted whole.
 */
static bool
take_piece(RangeRead *read, const Piece *piece, uint32 start)
{
	uint32		end = start + piece->head.size;
	Range	   *first = &read->ranges[read->next];
	const char *frame = NULL;
	uint32		wanted = 0;

	for (int i = read->next;
		 i < read->count && read->ranges[i].offset < end; i++)
		wanted = Min(end, read->ranges[i].offset + read->ranges[i].size) -
			start;
	if (read->compare ||
		(piece->head.method != CODEC_NONE &&
		 (wanted < piece->head.frame_size || first->offset > start ||
		  first->offset + first->size < end)))
	{
		if (!rope_reader_frame(read->reader, piece, piece->head.skip + wanted,
							   &frame))
			return false;
	}
	while (read->next < read->count && read->ranges[read->next].offset < end)
	{
		Range	   *range = &read->ranges[read->next];

		if (!take_range(read, piece, start, frame, range))
			return false;
		if (range->offset + range->size > end)
			break;
		read->next++;
	}
	return true;
}

/* Take what is below a node, whose value starts at start, of the ranges. */
static bool
take_node(RangeRead *read, const void *node, uint32 start)
{
	RopeReader *reader = read->reader;
	int			level = ROPE_LEVEL(node);
	PieceCursor cursor;
	Piece		piece;

	check_stack_depth();
	node_pieces_begin(&cursor, node);
	while (read->next < read->count && read->equal &&
		   node_pieces_next(&cursor, &piece))
	{
		uint32		end = start + piece.head.size;
		Chunk		child;
		bool		ok;

		if (read->ranges[read->next].offset >= end)
			ok = true;
		else if (level == 1)
			ok = take_piece(read, &piece, start);
		else
		{
			if (!chunk_store_get_child(reader->store, reader->lineage,
									   &piece.refs[0], level - 1, &child))
				return false;
			ok = take_node(read, child.node, start);
			chunk_store_release(&child);
		}
		if (!ok)
			return false;
		start = end;
	}
	return true;
}

/*
 * Read what the table makes of a rope, length bytes from offset on, or compare
 * it with what is in target.
 */
static bool
take_table(RangeRead *read, const Chunk *base, const PieceTable *table,
		   uint32 offset, uint32 length, char *target)
{
	uint32		start;
	int			at = piece_table_find(table, offset, &start);
	bool		ok = true;

	read->ranges = palloc((table->count - at + 1) * sizeof(Range));
	for (; ok && length > 0 && read->equal; at++)
	{
		const TablePiece *piece = &table->pieces[at];
		uint32		skip = offset - piece->start;
		uint32		part = Min(length, piece->size - skip);
		Range		range = {piece->offset + skip, part, target};
		Range	   *last = read->ranges + read->count - 1;

		if (piece->bytes != NULL && read->compare)
			read->equal = memcmp(piece->bytes + skip, target, part) == 0;
		else if (piece->bytes != NULL)
			memcpy(target, piece->bytes + skip, part);
		else
		{
			if (read->count > 0 && range.offset < last->offset + last->size)
			{
				ok = take_node(read, base->node, 0);
				read->count = read->next = 0;
			}
			read->ranges[read->count++] = range;
		}
		target += part;
		offset += part;
		length -= part;
	}
	ok = ok && take_node(read, base->node, 0);
	pfree(read->ranges);
	return ok;
}

/*
 * Copy length bytes, from offset on, of what the table makes of a rope, which
 * is no delta, to target.
 */
bool
rope_reader_table(RopeReader *reader, const Chunk *base,
				  const PieceTable *table, uint32 offset, uint32 length,
				  char *target)
{
	RangeRead	read = {reader, NULL, 0, 0, false, true};

	return take_table(&read, base, table, offset, length, target);
}

/*
 * Get what a delta stands on; the delta is sound.  Returns as
 * chunk_store_get() does.
 */
bool
rope_delta_base(ChunkStore *store, const Chunk *root, Chunk *base)
{
	uint32		lineage = node_trailer(root->node, root->size)->lineage;
	int			level = ROPE_LEVEL(root->node);
	PieceCursor cursor;
	Piece		piece;

	node_pieces_begin(&cursor, root->node);
	(void) node_pieces_next(&cursor, &piece);
	if (!chunk_store_get_base(store, lineage, &piece.refs[0], level - 1, base))
		return false;
	if (((const RopeHeader *) base->node)->size == piece.head.size)
		return true;
	chunk_store_release(base);
	return chunk_store_problem(store, &base->tid,
							   "Root has another size than its delta says");
}

/*
 * What a sound delta makes of its base; to be freed by piece_table_free().
 */
PieceTable *
rope_delta_table(const void *node)
{
	PieceCursor cursor;
	Piece		piece;
	PieceTable *table;

	node_pieces_begin(&cursor, node);
	(void) node_pieces_next(&cursor, &piece);
	table = piece_table_unpack(piece.bytes, piece.head.inline_size,
							   piece.head.size);
	if (table == NULL)
		elog(ERROR, "delta cannot be unpacked");
	return table;
}

/* Read or compare length bytes of the value, from offset on. */
static bool
take_value(RangeRead *read, ChunkStore *store, const Chunk *root,
		   uint32 offset, uint32 length, char *target)
{
	RopeReader	reader;
	bool		ok;

	rope_reader_init(&reader, store,
					 node_trailer(root->node, root->size)->lineage);
	read->reader = &reader;
	if (node_is_delta(root->node))
	{
		PieceTable *table = rope_delta_table(root->node);
		Chunk		base;

		ok = rope_delta_base(store, root, &base);
		if (ok)
		{
			ok = take_table(read, &base, table, offset, length, target);
			chunk_store_release(&base);
		}
		piece_table_free(table);
	}
	else
	{
		Range		range = {offset, length, target};

		read->ranges = &range;
		read->count = 1;
		ok = take_node(read, root->node, 0);
	}
	rope_reader_free(&reader);
	return ok;
}

/*
 * Copy length bytes of the value, from offset on, to target.  The slice lies
 * within the value.
 */
bool
rope_fetch_slice(ChunkStore *store, const Chunk *root, uint32 offset,
				 uint32 length, char *target)
{
	RangeRead	read = {NULL, NULL, 0, 0, false, true};

	return length == 0 ||
		take_value(&read, store, root, offset, length, target);
}

/*
 * Set *result to whether the rope's bytes are those of flat.  Reads up to the
 * first difference.
 */
bool
rope_equal(ChunkStore *store, const Chunk *root, FlatValue *flat,
		   bool *result)
{
	RangeRead	read = {NULL, NULL, 0, 0, true, true};
	bool		ok;

	*result = ((const RopeHeader *) root->node)->size == flat->size;
	if (!*result)
		return true;
	ok = take_value(&read, store, root, 0, flat->size,
					unconstify(char *, flat->data));
	*result = read.equal;
	return ok;
}

/* Is an earlier piece of the node a window on the same frame? */
static bool
frame_seen(const void *node, const Piece *piece)
{
	PieceCursor cursor;
	Piece		earlier;

	node_pieces_begin(&cursor, node);
	while (node_pieces_next(&cursor, &earlier) &&
		   earlier.place != piece->place)
	{
		if (piece_same_frame(&earlier, piece))
			return true;
	}
	return false;
}

/* Visit the data nodes of one piece of level 1, without reading them. */
static void
walk_frame(uint32 lineage, const Piece *piece, NodeVisitor visitor,
		   void *arg)
{
	for (int i = 0; i < piece->head.refs; i++)
	{
		NodeVisit	visit = {0};

		ref_tid(&piece->refs[i], &visit.tid);
		visit.chunk_id = lineage;
		visit.kind = "data";
		visit.stored = piece->refs[i].size;
		visit.codec = piece->head.method;
		if (piece->head.method == CODEC_NONE)
			visit.raw = payload_size(&piece->refs[i]);
		else
			visit.raw = i == 0 ? piece->head.frame_size : 0;
		visitor(&visit, arg);
	}
}

/* Get what a node of a level above 1 names: a subtree, or a delta's base. */
static bool
get_below(ChunkStore *store, uint32 lineage, const Chunk *chunk,
		  const Piece *piece, Chunk *below)
{
	if (node_is_delta(chunk->node))
		return rope_delta_base(store, chunk, below);
	return chunk_store_get_child(store, lineage, &piece->refs[0],
								 ROPE_LEVEL(chunk->node) - 1, below);
}

/* Visit a node and all below it. */
static bool
walk_node(ChunkStore *store, uint32 lineage, const Chunk *chunk,
		  NodeVisitor visitor, void *arg)
{
	const RopeHeader *head = (const RopeHeader *) chunk->node;
	NodeVisit	visit = {0};
	PieceCursor cursor;
	Piece		piece;

	check_stack_depth();
	visit.tid = chunk->tid;
	visit.chunk_id = chunk->chunk_id;
	visit.kind = node_is_delta(chunk->node) ? "delta" :
		node_is_root(chunk->node) ? "root" : "branch";
	visit.level = head->node.level;
	visit.entries = head->count;
	visit.raw = node_is_root(chunk->node) ?
		node_trailer(chunk->node, chunk->size)->flat_size : head->size;
	visit.stored = chunk->size;
	visitor(&visit, arg);

	node_pieces_begin(&cursor, chunk->node);
	while (node_pieces_next(&cursor, &piece))
	{
		Chunk		child;
		bool		ok;

		if (head->node.level == 1)
		{
			if (!frame_seen(chunk->node, &piece))
				walk_frame(lineage, &piece, visitor, arg);
			continue;
		}
		if (!get_below(store, lineage, chunk, &piece, &child))
			return false;
		ok = walk_node(store, lineage, &child, visitor, arg);
		chunk_store_release(&child);
		if (!ok)
			return false;
	}
	return true;
}

/* Visit every node of the value; data nodes are named but not read. */
bool
rope_walk(ChunkStore *store, const Chunk *root, NodeVisitor visitor,
		  void *arg)
{
	return walk_node(store, node_trailer(root->node, root->size)->lineage,
					 root, visitor, arg);
}

/*
 * A rope can store any varlena type, and what a tuple still has of a dropped
 * column, whose type is 0.
 */
static bool
rope_validate(Oid type)
{
	return true;
}

const Toaster rope_toaster = {
	.kind = NODE_KIND_ROPE,
	.name = "rope",
	.validate = rope_validate,
	.save = rope_save,
	.update = rope_update,
	.equal = rope_equal,
	.fetch_slice = rope_fetch_slice,
	.copy = rope_copy,
	.walk = rope_walk,
	.methods = NULL
};
