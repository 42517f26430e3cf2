/*-------------------------------------------------------------------------
 *
 * verify_rope.c
 *	  Checking a byte tree below its root.
 *
 * Every node is read once and checked against what its parent says; every
 * frame is decompressed.  A damaged node ends the descent there, not the
 * check.  No page stays pinned: nodes are copied.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "codec.h"
#include "rope.h"
#include "verify.h"

typedef struct RopeCheck
{
	Verify	   *verify;
	uint32		lineage;
} RopeCheck;

/*
 * Find an earlier window of the node on the frame of the piece.  Returns
 * false when there is none.
 */
static bool
find_window(const NodeCopy *parent, const Piece *piece, Piece *earlier)
{
	PieceCursor cursor;

	node_pieces_begin(&cursor, parent->node);
	while (node_pieces_next(&cursor, earlier) &&
		   earlier->place != piece->place)
	{
		if (piece_same_frame(earlier, piece))
			return true;
	}
	return false;
}

/* Do two windows of a node agree on what their frame is? */
static bool
same_frame(const Piece *a, const Piece *b)
{
	return a->head.refs == b->head.refs &&
		a->head.method == b->head.method &&
		a->head.inline_size == b->head.inline_size &&
		a->head.frame_size == b->head.frame_size &&
		memcmp(a->refs, b->refs, a->head.refs * sizeof(Ref)) == 0 &&
		memcmp(a->bytes, b->bytes, a->head.inline_size) == 0;
}

/* What is wrong with a frame whose stored bytes are given, or NULL. */
static const char *
frame_problem(const PieceHeader *head, const char *stored, Size stored_size)
{
	char	   *frame;
	bool		ok;

	if (head->method == CODEC_NONE)
		return stored_size == head->frame_size ? NULL :
			"Frame has another size than its piece says";
	if (head->frame_size > MaxAllocSize)
		return "Frame is larger than any value";
	frame = palloc(head->frame_size);
	ok = codec_decompress(head->method, stored, stored_size, frame,
						  head->frame_size, head->frame_size);
	pfree(frame);
	return ok ? NULL : "Frame does not decompress";
}

/* Check the data nodes of a piece of level 1, and the frame in them. */
static void
check_frame(RopeCheck *check, const NodeCopy *parent, const Piece *piece)
{
	Verify	   *verify = check->verify;
	Size		capacity = piece->head.inline_size;
	Size		size = 0;
	bool		complete = true;
	char	   *stored;
	const char *problem;
	ItemPointerData tid = parent->tid;

	for (int i = 0; i < piece->head.refs; i++)
		capacity += piece->refs[i].size;
	stored = palloc(capacity);
	memcpy(stored, piece->bytes, piece->head.inline_size);
	size = piece->head.inline_size;
	for (int i = 0; i < piece->head.refs; i++)
	{
		NodeCopy	child;

		if (!verify_child(verify, check->lineage, &piece->refs[i], 0, &child))
		{
			complete = false;
			continue;
		}
		memcpy(stored + size, child.node + sizeof(NodeHeader),
			   child.size - sizeof(NodeHeader));
		size += child.size - sizeof(NodeHeader);
		pfree(child.node);
	}
	if (complete)
	{
		problem = frame_problem(&piece->head, stored, size);
		if (piece->head.refs > 0)
			ref_tid(&piece->refs[0], &tid);
		if (problem != NULL)
			verify_report(verify, &tid, problem);
	}
	pfree(stored);
}

/* Read what a node of a level above 1 names: a subtree, or a delta's base. */
static bool
read_below(RopeCheck *check, const NodeCopy *parent, const Ref *ref,
		   NodeCopy *below)
{
	int			level = ROPE_LEVEL(parent->node) - 1;

	if (node_is_delta(parent->node))
		return verify_base(check->verify, check->lineage, ref, level, below);
	return verify_child(check->verify, check->lineage, ref, level, below);
}

/* Check what is below a node of the rope. */
static void
check_node(RopeCheck *check, const NodeCopy *parent)
{
	int			level = ROPE_LEVEL(parent->node);
	ItemPointerData tid = parent->tid;
	PieceCursor cursor;
	Piece		piece;

	check_stack_depth();
	node_pieces_begin(&cursor, parent->node);
	while (node_pieces_next(&cursor, &piece))
	{
		Piece		earlier;
		NodeCopy	child;

		if (level == 1)
		{
			if (!find_window(parent, &piece, &earlier))
				check_frame(check, parent, &piece);
			else if (!same_frame(&earlier, &piece))
				verify_report(check->verify, &tid,
							  "Pieces of the node disagree on their frame");
			continue;
		}
		if (!read_below(check, parent, &piece.refs[0], &child))
			continue;
		if (((const RopeHeader *) child.node)->size != piece.head.size)
			verify_report(check->verify, &child.tid,
						  "Node has another size than its parent says");
		check_node(check, &child);
		pfree(child.node);
	}
}

/* Check all nodes below a root that is sound in itself. */
void
verify_rope(Verify *verify, const NodeCopy *root)
{
	RopeCheck	check;

	check.verify = verify;
	check.lineage = node_trailer(root->node, root->size)->lineage;
	check_node(&check, root);
}
