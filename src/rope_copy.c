/*-------------------------------------------------------------------------
 *
 * rope_copy.c
 *	  Copying a byte tree to another TOAST relation.
 *
 * Frames that are shown whole are copied as they are stored; branches are
 * built anew, full.  A rope that edits have left with windows on parts of
 * frames, or with a delta, is read and stored afresh, so that a rewrite of the
 * table frees what no window shows.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "rope_build.h"

typedef struct Copy
{
	ChunkStore *source;
	uint32		lineage;		/* of the source */
	RopeBuilder builder;
} Copy;

/* Copy up to CHUNK_STORE_BATCH DATA nodes; sets where in target. */
static bool
copy_batch(Copy *copy, const Ref *source, int count, Ref *target)
{
	ChunkDraft *drafts[CHUNK_STORE_BATCH];
	ItemPointerData tids[CHUNK_STORE_BATCH];

	for (int i = 0; i < count; i++)
	{
		Chunk		chunk;

		if (!chunk_store_get_child(copy->source, copy->lineage, &source[i],
								   0, &chunk))
			return false;
		drafts[i] = chunk_store_draft(chunk.size);
		memcpy(drafts[i]->node, chunk.node, chunk.size);
		chunk_store_release(&chunk);
	}
	chunk_store_put(copy->builder.write->store, copy->builder.lineage, drafts,
					count, tids);
	for (int i = 0; i < count; i++)
	{
		target[i] = source[i];
		target[i].block = ItemPointerGetBlockNumber(&tids[i]);
		target[i].offset = ItemPointerGetOffsetNumber(&tids[i]);
		pfree(drafts[i]);
	}
	return true;
}

/* Copy the DATA nodes of a frame; sets where in target. */
static bool
copy_frame(Copy *copy, const Piece *piece, Ref *target)
{
	for (int i = 0; i < piece->head.refs; i += CHUNK_STORE_BATCH)
	{
		if (!copy_batch(copy, piece->refs + i,
						Min(CHUNK_STORE_BATCH, piece->head.refs - i),
						target + i))
			return false;
	}
	return true;
}

/* Copy the pieces of a node of level 1. */
static bool
copy_leaf(Copy *copy, const void *node)
{
	PieceCursor cursor;
	Piece		piece;

	node_pieces_begin(&cursor, node);
	while (node_pieces_next(&cursor, &piece))
	{
		Ref			refs[UINT8_MAX];

		if (!copy_frame(copy, &piece, refs))
			return false;
		piece.refs = refs;
		rope_builder_stored(&copy->builder, &piece);
	}
	return true;
}

/* Copy all below a node. */
static bool
copy_node(Copy *copy, const void *node)
{
	int			level = ROPE_LEVEL(node);
	PieceCursor cursor;
	Piece		piece;

	check_stack_depth();
	if (level == 1)
		return copy_leaf(copy, node);
	node_pieces_begin(&cursor, node);
	while (node_pieces_next(&cursor, &piece))
	{
		Chunk		child;
		bool		ok;

		if (!chunk_store_get_child(copy->source, copy->lineage,
								   &piece.refs[0], level - 1, &child))
			return false;
		ok = copy_node(copy, child.node);
		chunk_store_release(&child);
		if (!ok)
			return false;
	}
	return true;
}

/*
 * Set *whole to false if a piece below the node does not show all its frame;
 * a delta does not.
 */
static bool
check_whole(ChunkStore *store, uint32 lineage, const void *node, bool *whole)
{
	int			level = ROPE_LEVEL(node);
	PieceCursor cursor;
	Piece		piece;

	check_stack_depth();
	*whole = !node_is_delta(node);
	node_pieces_begin(&cursor, node);
	while (*whole && node_pieces_next(&cursor, &piece))
	{
		Chunk		child;
		bool		ok;

		if (level == 1)
		{
			*whole = piece.head.size == piece.head.frame_size;
			continue;
		}
		if (!chunk_store_get_child(store, lineage, &piece.refs[0], level - 1,
								   &child))
			return false;
		ok = check_whole(store, lineage, child.node, whole);
		chunk_store_release(&child);
		if (!ok)
			return false;
	}
	return true;
}

/* Read the whole value; it is stored when the rope is finished. */
static bool
read_flat(Copy *copy, const Chunk *root)
{
	FlatValue  *flat = &copy->builder.flat;
	char	   *data;

	flat->size = ((const RopeHeader *) root->node)->size;
	flat->data = data = MemoryContextAllocHuge(CurrentMemoryContext,
											   flat->size);
	return rope_fetch_slice(copy->source, root, 0, flat->size, data);
}

/*
 * Write a copy of the rope as a new lineage.  Returns false, with the
 * problem recorded in source, when a chunk is missing; what was written then
 * is not referenced by anything.
 */
bool
rope_copy(ChunkStore *source, const Chunk *root, TreeWrite *write,
		  TreePointer *result)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "rope copy",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(context);
	FlatValue	flat = {0};
	Copy	   *copy = palloc0(sizeof(Copy));
	bool		whole = true;
	bool		ok;

	copy->source = source;
	copy->lineage = node_trailer(root->node, root->size)->lineage;
	flat.kind = ((const NodeHeader *) root->node)->kind;
	flat.flat_size = node_trailer(root->node, root->size)->flat_size;
	flat.edited = node_is_edited(root->node);
	rope_builder_init(&copy->builder, write, chunk_store_new_lineage(), 1,
					  &flat);
	ok = check_whole(source, copy->lineage, root->node, &whole) &&
		(whole ? copy_node(copy, root->node) : read_flat(copy, root));
	if (ok)
		rope_builder_finish(&copy->builder, result);
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(context);
	return ok;
}
