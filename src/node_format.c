/*-------------------------------------------------------------------------
 *
 * node_format.c
 *	  The one checker of nodes, and walking what it found sound.
 *
 * This file is pure: it knows no server, reads nothing but the bytes that
 * it is given, and allocates nothing.  The reader raises what node_problem()
 * says, toaster.verify() reports it, the writer asserts that there is
 * nothing to say, and the fuzzer calls it with garbage.
 *
 * Invariants of a sound node
 *	1. All counts and sizes stay within the node; nothing is left over.
 *	2. Windows lie within their frames; piece sizes sum to the node's size,
 *	   but in a delta.
 *	3. Only pieces of level 1, and that of a delta, have inline bytes;
 *	   subtrees have one Ref.
 *	4. No piece, and no node but an empty DATA node, is empty.
 *	5. A delta has one piece; its splices stay within its base and change
 *	   something, and what they make of the base has the node's size.
 *
 *-------------------------------------------------------------------------
 */
#ifdef NODE_FORMAT_STANDALONE
#include <string.h>
#else
#include "postgres.h"
#endif

#include "codec_ids.h"
#include "node_format.h"

/*
 * What is wrong with a window that has no bytes of its own, behind a piece
 * that has Refs, if there is one (frame->refs > 0); NULL when nothing is.
 */
static const char *
window_problem(const PieceHeader *head, const PieceHeader *frame)
{
	if (frame->refs == 0)
		return "Frame has no bytes";
	if (frame->inline_size != 0 || frame->method != head->method ||
		frame->frame_size != head->frame_size)
		return "Window is on another frame than the one before it";
	return NULL;
}

/*
 * What is wrong with one piece at data, of which limit bytes may be read,
 * in the node with that header; NULL when nothing is.  *head is set, and
 * *frame, the last piece that has Refs, goes along.
 */
static const char *
piece_problem(const char *data, size_t limit, const NodeHeader *node,
			  PieceHeader *head, PieceHeader *frame)
{
	bool		delta = (node->flags & NODE_FLAG_DELTA) != 0;
	const Ref  *refs;

	if (limit < sizeof(PieceHeader))
		return "Piece reaches past the end of the node";
	memcpy(head, data, sizeof(PieceHeader));
	if (limit < PIECE_SIZE(head->refs))
		return "References reach past the end of the node";
	if (head->size == 0)
		return "Empty piece";
	refs = (const Ref *) (data + sizeof(PieceHeader));
	for (int i = 0; i < head->refs; i++)
	{
		if (refs[i].offset == 0 || refs[i].size < sizeof(NodeHeader))
			return "Reference is invalid";
	}
	if (node->level > 1)
	{
		if (head->refs != 1 || head->method != 0 || head->skip != 0 ||
			head->frame_size != 0)
			return "Subtree piece is malformed";
		if (head->inline_size != 0 && !delta)
			return "Subtree piece has inline bytes";
		return NULL;
	}
	if (head->method >= CODEC_COUNT)
		return "Unknown compression method";
	if (head->frame_size < head->size ||
		head->frame_size - head->size < head->skip)
		return "Window lies outside its frame";
	if (head->refs == 0 && head->inline_size == 0)
		return window_problem(head, frame);
	if (head->refs > 0)
		*frame = *head;
	return NULL;
}

/*
 * What is wrong with the splices of a delta, packed in size bytes, that are
 * to make result_size bytes of base_size; NULL when nothing is.
 */
static const char *
delta_problem(const char *packed, size_t size, uint32_t base_size,
			  uint32_t result_size)
{
	SpliceCursor cursor = {packed, packed + size};
	Splice		splice;
	uint32_t	left = base_size;
	uint64_t	result = base_size;

	if (size == 0)
		return "Delta has no splices";
	while (cursor.next < cursor.end)
	{
		if (!node_splices_next(&cursor, &splice))
			return "Splice reaches past the end of the delta";
		if (splice.removed == 0 && splice.inserted == 0)
			return "Empty splice";
		if (splice.kept > left || splice.removed > left - splice.kept)
			return "Splice lies outside the base";
		left -= splice.kept + splice.removed;
		result += splice.inserted;
		result -= splice.removed;
	}
	if (result != result_size || result == 0 || result > NODE_VALUE_MAX)
		return "Splices do not make a value of the node's size";
	return NULL;
}

/*
 * What is wrong with the sums of a ROPE node, whose pieces are sound and end
 * before rest; NULL when nothing is.
 */
static const char *
sums_problem(const RopeHeader *head, const char *rest, size_t inline_size,
			 uint64_t total)
{
	if (inline_size != head->inline_size)
		return "Inline sizes do not sum to that of the node";
	if ((head->node.flags & NODE_FLAG_DELTA) != 0)
		return delta_problem(rest, inline_size, (uint32_t) total, head->size);
	if (total != head->size)
		return "Piece sizes do not sum to that of the node";
	return NULL;
}

/* What is wrong with the pieces of a ROPE node; NULL when nothing is. */
static const char *
rope_problem(const char *node, size_t size)
{
	RopeHeader	head;
	PieceHeader frame = {0};
	size_t		end = size;
	size_t		at = sizeof(RopeHeader);
	size_t		inline_size = 0;
	uint64_t	total = 0;
	const char *problem;

	if (size < sizeof(RopeHeader))
		return "Node is too short";
	memcpy(&head, node, sizeof(head));
	if (head.node.level < 1 || head.node.level > NODE_MAX_LEVEL)
		return "Level is out of range";
	if (head.node.flags & NODE_FLAG_ROOT)
	{
		if (size < sizeof(RopeHeader) + sizeof(RootTrailer))
			return "Root is too short";
		end -= sizeof(RootTrailer);
	}
	if (head.count == 0)
		return "Node has no pieces";
	if ((head.node.flags & NODE_FLAG_DELTA) != 0 &&
		(head.node.level < 2 || head.count != 1))
		return "Delta does not stand on one root";
	for (int i = 0; i < head.count; i++)
	{
		PieceHeader piece;

		problem = piece_problem(node + at, end - at, &head.node, &piece,
								&frame);
		if (problem != NULL)
			return problem;
		at += PIECE_SIZE(piece.refs);
		inline_size += piece.inline_size;
		total += piece.size;
	}
	if (at + NODE_ALIGN(inline_size) != end)
		return "Node has a wrong length";
	problem = sums_problem(&head, node + at, inline_size, total);
	if (problem != NULL)
		return problem;
	if (head.node.kind == NODE_KIND_ROPE &&
		(head.node.flags & NODE_FLAG_ROOT) != 0 &&
		node_trailer(node, size)->flat_size != head.size)
		return "Trailer has another size than the node";
	return NULL;
}

/*
 * What is wrong with the node of size bytes at node (4-byte aligned), in
 * words for an error message's detail; NULL when nothing is.  Does not look
 * at checksums of children, which their parents hold.
 */
const char *
node_problem(const void *node, size_t size)
{
	const NodeHeader *head = (const NodeHeader *) node;

	if (size < sizeof(NodeHeader))
		return "Node is too short";
	if (head->format != NODE_FORMAT)
		return "Unknown node format";
	if (head->kind == NODE_KIND_DATA)
	{
		if (head->level != 0 || head->flags != 0)
			return "Data node has a level or flags";
		return NULL;
	}
	if (head->kind != NODE_KIND_ROPE && head->kind != NODE_KIND_JSON)
		return "Unknown node kind";
	if ((head->flags & ~NODE_FLAGS) != 0)
		return "Unknown node flags";
	if (head->flags != 0 && (head->flags & NODE_FLAG_ROOT) == 0)
		return "Branch has the flags of a root";
	if (head->kind != NODE_KIND_JSON && (head->flags & NODE_FLAG_EDITED) != 0)
		return "Node of bytes has the flags of a document";
	if (head->kind == NODE_KIND_JSON && head->flags == 0)
		return "Branch has the kind of a root";
	return rope_problem((const char *) node, size);
}

/* Does the node say that it is the root of a value? */
bool
node_is_root(const void *node)
{
	return (((const NodeHeader *) node)->flags & NODE_FLAG_ROOT) != 0;
}

/* Is the node a root that changes another one? */
bool
node_is_delta(const void *node)
{
	return (((const NodeHeader *) node)->flags & NODE_FLAG_DELTA) != 0;
}

/* Is the node the root of a document in a form that edits have made? */
bool
node_is_edited(const void *node)
{
	return (((const NodeHeader *) node)->flags & NODE_FLAG_EDITED) != 0;
}

/* The trailer of a sound root, within the node. */
const RootTrailer *
node_trailer(const void *node, size_t size)
{
	return (const RootTrailer *)
		((const char *) node + size - sizeof(RootTrailer));
}

/* The crc that a root's trailer must hold. */
uint32_t
node_root_crc(const void *node, size_t size)
{
	return node_crc(node, size - sizeof(uint32_t));
}

/* Start with the first piece of a sound ROPE node. */
void
node_pieces_begin(PieceCursor *cursor, const void *node)
{
	const RopeHeader *head = (const RopeHeader *) node;
	const char *at = (const char *) node + sizeof(RopeHeader);

	cursor->next = at;
	cursor->left = head->count;
	for (int i = 0; i < head->count; i++)
		at += PIECE_SIZE(((const PieceHeader *) at)->refs);
	cursor->bytes = at;
	cursor->refs = NULL;
	cursor->ref_count = 0;
}

/* Set *piece to the next piece and return true; false at the end. */
bool
node_pieces_next(PieceCursor *cursor, Piece *piece)
{
	if (cursor->left == 0)
		return false;
	memcpy(&piece->head, cursor->next, sizeof(PieceHeader));
	piece->place = cursor->next;
	piece->refs = (const Ref *) (cursor->next + sizeof(PieceHeader));
	piece->bytes = cursor->bytes;
	cursor->next += PIECE_SIZE(piece->head.refs);
	cursor->bytes += piece->head.inline_size;
	cursor->left--;
	if (piece->head.refs == 0 && piece->head.inline_size == 0)
	{
		piece->refs = cursor->refs;
		piece->head.refs = cursor->ref_count;
	}
	else if (piece->head.refs > 0)
	{
		cursor->refs = piece->refs;
		cursor->ref_count = piece->head.refs;
	}
	return true;
}

/* Read a varint, of at most 32 bits, and go behind it; false if it is none. */
static bool
read_varint(SpliceCursor *cursor, uint32_t *value)
{
	uint64_t	result = 0;

	for (int i = 0; i < VARINT_SIZE && cursor->next < cursor->end; i++)
	{
		unsigned char byte = (unsigned char) *cursor->next++;

		result |= (uint64_t) (byte & 0x7F) << (7 * i);
		if ((byte & 0x80) == 0)
		{
			*value = (uint32_t) result;
			return result <= UINT32_MAX;
		}
	}
	return false;
}

/*
 * Set *splice to the next splice and return true; false when what is left, not
 * nothing, is none.  Whether it lies within its base is not known here.
 */
bool
node_splices_next(SpliceCursor *cursor, Splice *splice)
{
	if (!read_varint(cursor, &splice->kept) ||
		!read_varint(cursor, &splice->removed) ||
		!read_varint(cursor, &splice->inserted) ||
		splice->inserted > (size_t) (cursor->end - cursor->next))
		return false;
	splice->bytes = cursor->next;
	cursor->next += splice->inserted;
	return true;
}
