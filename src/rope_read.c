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

/* Copy length bytes of a piece of level 1, from offset on. */
static bool
read_piece(RopeReader *reader, const Piece *piece, uint32 offset,
		   uint32 length, char *target)
{
	const char *frame;

	if (piece->head.method == CODEC_NONE)
		return rope_reader_stored(reader, piece, piece->head.skip + offset,
								  length, target);
	if (length == piece->head.frame_size)
		return rope_reader_decompress(reader, piece, length, target);
	if (!rope_reader_frame(reader, piece, piece->head.skip + offset + length,
						   &frame))
		return false;
	memcpy(target, frame + piece->head.skip + offset, length);
	return true;
}

/* Copy length bytes of the value below a node, from offset on. */
static bool
read_node(RopeReader *reader, const void *node, uint32 offset, uint32 length,
		  char *target)
{
	int			level = ROPE_LEVEL(node);
	PieceCursor cursor;
	Piece		piece;

	check_stack_depth();
	node_pieces_begin(&cursor, node);
	while (length > 0 && node_pieces_next(&cursor, &piece))
	{
		uint32		part;

		if (offset >= piece.head.size)
		{
			offset -= piece.head.size;
			continue;
		}
		part = Min(length, piece.head.size - offset);
		if (level == 1)
		{
			if (!read_piece(reader, &piece, offset, part, target))
				return false;
		}
		else
		{
			Chunk		child;
			bool		ok;

			if (!chunk_store_get_child(reader->store, reader->lineage,
									   &piece.refs[0], level - 1, &child))
				return false;
			ok = read_node(reader, child.node, offset, part, target);
			chunk_store_release(&child);
			if (!ok)
				return false;
		}
		target += part;
		length -= part;
		offset = 0;
	}
	return true;
}

/*
 * Copy length bytes of the value, from offset on, to target.  The slice lies
 * within the value.
 */
bool
rope_fetch_slice(ChunkStore *store, const Chunk *root, uint32 offset,
				 uint32 length, char *target)
{
	RopeReader	reader;
	bool		ok;

	rope_reader_init(&reader, store,
					 node_trailer(root->node, root->size)->lineage);
	ok = read_node(&reader, root->node, offset, length, target);
	rope_reader_free(&reader);
	return ok;
}

/* Compare the value below a node with flat; *equal turns false at most. */
static bool
equal_node(RopeReader *reader, const void *node, const char *flat,
		   bool *equal)
{
	int			level = ROPE_LEVEL(node);
	PieceCursor cursor;
	Piece		piece;

	check_stack_depth();
	node_pieces_begin(&cursor, node);
	while (*equal && node_pieces_next(&cursor, &piece))
	{
		if (level == 1)
		{
			const char *frame;

			if (!rope_reader_frame(reader, &piece,
								   piece.head.skip + piece.head.size, &frame))
				return false;
			*equal = memcmp(frame + piece.head.skip, flat,
							piece.head.size) == 0;
		}
		else
		{
			Chunk		child;
			bool		ok;

			if (!chunk_store_get_child(reader->store, reader->lineage,
									   &piece.refs[0], level - 1, &child))
				return false;
			ok = equal_node(reader, child.node, flat, equal);
			chunk_store_release(&child);
			if (!ok)
				return false;
		}
		flat += piece.head.size;
	}
	return true;
}

/*
 * Set *result to whether the rope's bytes are those of flat.  Reads up to the
 * first difference.
 */
bool
rope_equal(ChunkStore *store, const Chunk *root, FlatValue *flat,
		   bool *result)
{
	RopeReader	reader;
	bool		ok;

	*result = ((const RopeHeader *) root->node)->size == flat->size;
	rope_reader_init(&reader, store,
					 node_trailer(root->node, root->size)->lineage);
	ok = equal_node(&reader, root->node, flat->data, result);
	rope_reader_free(&reader);
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
		   earlier.refs != piece->refs)
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
	visit.kind = node_is_root(chunk->node) ? "root" : "branch";
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
		if (!chunk_store_get_child(store, lineage, &piece.refs[0],
								   head->node.level - 1, &child))
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
