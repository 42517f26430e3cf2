/*-------------------------------------------------------------------------
 *
 * delta_fuzz.c
 *	  Deltas for the fuzzer of the node checker: made, repaired, checked.
 *
 *-------------------------------------------------------------------------
 */
#include <string.h>

#include "node_fuzz.h"

static unsigned char *
put_varint(unsigned char *at, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		*at++ = (unsigned char) (value | 0x80);
	*at++ = (unsigned char) value;
	return at;
}

/* Pack a splice whose bytes are all 's'. */
static unsigned char *
put_splice(unsigned char *at, uint64_t kept, uint64_t removed,
		   uint32_t inserted)
{
	at = put_varint(at, kept);
	at = put_varint(at, removed);
	at = put_varint(at, inserted);
	memset(at, 's', inserted);
	return at + inserted;
}

/*
 * Append random splices of a base of left bytes to packed, and one with that
 * flaw.  *size is the changed value's.  Returns where they end.
 */
static unsigned char *
make_splices(unsigned char *at, uint32_t left, DeltaFlaw flaw, uint64_t *size)
{
	int			count = 1 + random_below(10);

	*size = left;
	while (flaw != DELTA_NO_SPLICES && flaw != DELTA_NOTHING && count-- > 0)
	{
		uint32_t	kept = random_below(3) ? random_below(left / 4 + 1) : 0;
		uint32_t	removed = random_below(2) ?
			random_below((left - kept) / 4 + 1) : 0;
		uint32_t	inserted = random_below(30) + (removed == 0);

		at = put_splice(at, kept, removed, inserted);
		left -= kept + removed;
		*size = *size + inserted - removed;
	}
	switch (flaw)
	{
		case DELTA_EMPTY_SPLICE:
			return put_splice(at, left / 2, 0, 0);
		case DELTA_KEPT:
			(*size)++;
			return put_splice(at, (uint64_t) left + 1, 0, 1);
		case DELTA_REMOVED:
			*size -= left + 1;
			return put_splice(at, 0, (uint64_t) left + 1, 0);
		case DELTA_INSERTED:
			*size += 50;
			return put_splice(at, 0, 0, 50) - 1;
		case DELTA_VARINT:
			*at++ = 0x80;
			return at;
		case DELTA_NUMBER:
			(*size)++;
			return put_splice(at, UINT64_C(1) << (32 + random_below(3)), 0, 1);
		case DELTA_LONG:
			(*size)++;
			memset(at, 0x80, VARINT_SIZE);
			return put_splice(at + VARINT_SIZE, 0, 0, 1);
		case DELTA_NOTHING:
			*size = 0;
			return put_splice(at, 0, left, 0);
		default:
			return at;
	}
}

/* Make a delta root with that flaw; returns its size. */
size_t
delta_make(unsigned char *node, DeltaFlaw flaw)
{
	PieceHeader piece = {1, 0, 0, 1 + random_below(100000), 0, 0};
	RopeHeader	head = {{NODE_FORMAT, NODE_KIND_ROPE,
	2 + random_below(4), NODE_FLAG_ROOT | NODE_FLAG_DELTA}, 1, 0, 0};
	RootTrailer trailer = {1, 2, 0, 0};
	Ref			ref = {7, 1 + random_below(290), 100, 0};
	size_t		piece_at = sizeof(head);
	size_t		at = sizeof(head) + PIECE_SIZE(1);
	uint64_t	size;

	if (flaw == DELTA_LARGE)
		piece.size = NODE_VALUE_MAX + 1000;
	if (flaw == DELTA_LEVEL)
	{
		head.node.level = 1;
		piece.frame_size = piece.size;
	}
	if (flaw == DELTA_COUNT)
	{
		head.count = 2;
		memcpy(node + at, &piece, sizeof(piece));
		memcpy(node + at + sizeof(piece), &ref, sizeof(ref));
		at += PIECE_SIZE(1);
	}
	piece.inline_size = make_splices(node + at,
									 head.count * piece.size, flaw, &size) -
		(node + at);
	if (flaw == DELTA_LARGE && size <= NODE_VALUE_MAX)
		return delta_make(node, flaw);
	memcpy(node + piece_at, &piece, sizeof(piece));
	memcpy(node + piece_at + sizeof(piece), &ref, sizeof(ref));
	head.inline_size = piece.inline_size;
	memset(node + at + piece.inline_size, 0, 4);
	at += NODE_ALIGN(piece.inline_size);
	head.size = (uint32_t) size + (flaw == DELTA_SIZE ? 1 : 0);
	trailer.flat_size = head.size;
	if (random_below(2))
	{
		head.node.kind = NODE_KIND_JSON;
		trailer.flat_size = (uint32_t) random_next();
	}
	if (flaw == DELTA_NO_ROOT)
	{
		head.node.kind = NODE_KIND_ROPE;
		head.node.flags = NODE_FLAG_DELTA;
	}
	else
	{
		memcpy(node + at, &trailer, sizeof(trailer));
		at += sizeof(trailer);
	}
	memcpy(node, &head, sizeof(head));
	return at;
}

/*
 * Put the size in a delta's header right: what its splices, as far as they can
 * be read, make it.
 */
void
delta_repair(unsigned char *node, size_t size)
{
	const char *packed = (const char *) node + sizeof(RopeHeader) +
		PIECE_SIZE(1);
	RopeHeader	head;
	PieceHeader piece;
	SpliceCursor cursor;
	Splice		splice;

	if (size < sizeof(head) + PIECE_SIZE(1) + sizeof(RootTrailer))
		return;
	memcpy(&head, node, sizeof(head));
	memcpy(&piece, node + sizeof(head), sizeof(piece));
	if (piece.inline_size > size - sizeof(head) - PIECE_SIZE(1) -
		sizeof(RootTrailer))
		return;
	cursor.next = packed;
	cursor.end = packed + piece.inline_size;
	head.inline_size = piece.inline_size;
	head.size = piece.size;
	while (cursor.next < cursor.end && node_splices_next(&cursor, &splice))
		head.size += splice.inserted - splice.removed;
	memcpy(node, &head, sizeof(head));
	if (head.node.kind == NODE_KIND_ROPE)
		memcpy(node + size - sizeof(RootTrailer) +
			   offsetof(RootTrailer, flat_size), &head.size,
			   sizeof(head.size));
}

/* The next varint, by a reader of our own; more than 32 bits if it is none. */
static uint64_t
next_varint(const unsigned char **at, const unsigned char *end)
{
	uint64_t	value = 0;
	int			shift = 0;

	for (; *at < end && shift < 35; shift += 7)
	{
		unsigned char byte = *(*at)++;

		value |= (uint64_t) (byte & 0x7F) << shift;
		if (byte < 0x80)
			return value;
	}
	return UINT64_MAX / 4;
}

/* Do the splices of a delta keep the promises of node_format.h's header? */
const char *
delta_check(const Piece *piece, uint32_t result)
{
	const unsigned char *at = (const unsigned char *) piece->bytes;
	const unsigned char *end = at + piece->head.inline_size;
	SpliceCursor cursor = {piece->bytes, (const char *) end};
	uint64_t	position = 0;	/* in the base */
	uint64_t	size = 0;

	if (at == end)
		return "a delta without splices is sound";
	while (at < end)
	{
		uint64_t	kept = next_varint(&at, end);
		uint64_t	removed = next_varint(&at, end);
		uint64_t	inserted = next_varint(&at, end);
		Splice		splice;

		position += kept + removed;
		size += kept + inserted;
		if (position > piece->head.size || inserted > (uint64_t) (end - at) ||
			removed + inserted == 0)
			return "a damaged splice is sound";
		if (!node_splices_next(&cursor, &splice) || splice.kept != kept ||
			splice.removed != removed || splice.inserted != inserted ||
			splice.bytes != (const char *) at)
			return "a splice is read wrong";
		at += inserted;
	}
	size += piece->head.size - position;
	return size == result && size > 0 && size <= NODE_VALUE_MAX ? NULL :
		"a delta that makes another size is sound";
}
