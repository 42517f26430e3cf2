/*-------------------------------------------------------------------------
 *
 * node_format.h
 *	  The bytes of a node, drawn once.
 *
 * A node is the chunk_data of one row of the TOAST relation.  All numbers
 * are in the byte order of the machine, as everywhere in PostgreSQL's
 * files; every structure starts at a multiple of 4 bytes.
 *
 * DATA node: four bytes of header, then bytes of a frame.
 *
 *		0        1      2       3       4
 *		+--------+------+-------+-------+-------------------------------+
 *		| format | DATA | level | flags | bytes of one frame ...        |
 *		+--------+------+-------+-------+-------------------------------+
 *
 * ROPE node: an ordered list of pieces; then, in the same order, the bytes
 * that pieces keep inline; then, in a root only, the trailer.
 *
 *		0        1      2       3       4       6        8      12
 *		+--------+------+-------+-------+-------+--------+------+--------+
 *		| format | ROPE | level | flags | count | inline | size | pieces |
 *		+--------+------+-------+-------+-------+--------+------+--------+
 *		| ... pieces | inline bytes, padded to 4 | trailer |
 *		+------------+---------------------------+---------+
 *
 * A root of kind JSON is the same, but what its rope holds is not the flat
 * form of the value but the stored form of a document (json_form.h).
 *
 * DELTA root: a value that is another one, its *base*, with a few changes.
 * It has one piece, which names the root of the base: a root of the level
 * below that keeps its own trailer and is no delta itself.  The piece's size
 * is that of the base; its inline bytes are a list of splices, each of three
 * varints (7 bits a byte, lowest first, the high bit set in all but the last)
 * and bytes:
 *
 *		+------+---------+----------+-------+
 *		| kept | removed | inserted | bytes |   ...
 *		+------+---------+----------+-------+
 *
 * bytes of the base kept before it, bytes of the base left out, number of
 * new bytes, the new bytes.  What follows the last splice is kept.  The size
 * in the header is that of the changed value.
 *
 * Piece: what the value holds next.  In a node of level 1 each piece is a
 * window (skip, size) on a frame; above, each piece is a subtree, that is
 * one node of the level below, with skip = frame_size = 0.
 *
 *		0      1        2        4      8      12           16
 *		+------+--------+--------+------+------+------------+-------------+
 *		| refs | method | inline | size | skip | frame_size | refs * Ref  |
 *		+------+--------+--------+------+------+------------+-------------+
 *
 * Frame: a run of bytes of the value, compressed as one unit with `method`.
 * Its stored form is the piece's inline bytes, followed by the bytes of its
 * DATA nodes, in order.  A frame that several windows show has no inline
 * bytes: they move to a DATA node when it is cut.  A window with neither Refs
 * nor inline bytes shows the frame of the nearest piece before it that has
 * Refs, so that many small edits of a long frame take few bytes.
 *
 * Ref: where a child is, how many bytes its node has, and the CRC-32C of
 * them.  The CRC is what the parent holds against a stale or damaged child;
 * the trailer's crc does the same for the root, over the node with this
 * field left out.  It was rejected to keep a CRC in every node as well: a
 * field that changes with each byte would spoil the common prefix and suffix
 * that heap_update() leaves out of WAL.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PG_TOASTER_NODE_FORMAT_H
#define PG_TOASTER_NODE_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NODE_FORMAT			1	/* version of everything drawn above */

#define NODE_KIND_DATA		1
#define NODE_KIND_ROPE		2
#define NODE_KIND_JSON		3	/* a ROPE node that is the root of a document */

#define NODE_FLAG_ROOT		0x01
#define NODE_FLAG_DELTA		0x02	/* of a root: a list of splices */
#define NODE_FLAG_EDITED	0x04	/* of a root: a document in another stored
									 * form than it has when it is new */
#define NODE_FLAGS		(NODE_FLAG_ROOT | NODE_FLAG_DELTA | NODE_FLAG_EDITED)

#define NODE_MAX_LEVEL		32	/* three children a node: 3^32 leaves */

typedef struct NodeHeader
{
	uint8_t		format;			/* NODE_FORMAT */
	uint8_t		kind;			/* NODE_KIND_xxx */
	uint8_t		level;			/* 0 for DATA, from 1 for ROPE */
	uint8_t		flags;			/* NODE_FLAG_xxx */
} NodeHeader;

typedef struct RopeHeader
{
	NodeHeader	node;
	uint16_t	count;			/* number of pieces */
	uint16_t	inline_size;	/* sum of the pieces' inline bytes */
	uint32_t	size;			/* of the value that this node stands for */
} RopeHeader;

typedef struct RootTrailer
{
	uint32_t	lineage;		/* chunk_id of all nodes of the value */
	uint32_t	version;		/* counts the roots of the lineage, from 1 */
	uint32_t	flat_size;		/* of the value, as its pointer says */
	uint32_t	crc;			/* of the node's bytes before this field */
} RootTrailer;

typedef struct PieceHeader
{
	uint8_t		refs;			/* number of Refs that follow */
	uint8_t		method;			/* Codec: how the frame is compressed */
	uint16_t	inline_size;	/* bytes of the frame kept in this node */
	uint32_t	size;			/* bytes of the value */
	uint32_t	skip;			/* bytes of the frame before them */
	uint32_t	frame_size;		/* size of the frame, decompressed */
} PieceHeader;

typedef struct Ref
{
	uint32_t	block;
	uint16_t	offset;
	uint16_t	size;			/* of the node, header included */
	uint32_t	crc;			/* of the node's bytes */
} Ref;

#define NODE_ALIGN(n)		(((n) + 3u) & ~(size_t) 3u)

#define PIECE_SIZE(refs)	(sizeof(PieceHeader) + (refs) * sizeof(Ref))

/* A piece as read: pointers into the node.  Refs may be those of another. */
typedef struct Piece
{
	PieceHeader head;			/* with the number of Refs of its frame */
	const char *place;			/* where its header is */
	const Ref  *refs;
	const char *bytes;			/* head.inline_size of them */
} Piece;

/* Walks the pieces of a node that node_problem() found sound. */
typedef struct PieceCursor
{
	const char *next;			/* next piece */
	const char *bytes;			/* its inline bytes */
	int			left;
	const Ref  *refs;			/* of the last piece that has some */
	int			ref_count;
} PieceCursor;

/* Walks packed splices, which may be damaged. */
typedef struct SpliceCursor
{
	const char *next;
	const char *end;
} SpliceCursor;

typedef struct Splice
{
	uint32_t	kept;			/* bytes of the base before it */
	uint32_t	removed;
	uint32_t	inserted;
	const char *bytes;			/* inserted of them */
} Splice;

/* The longest varint of 32 bits, and the largest value, as palloc() has it. */
#define VARINT_SIZE			5
#define NODE_VALUE_MAX		0x3FFFFFFFu

extern const char *node_problem(const void *node, size_t size);
extern bool node_is_root(const void *node);
extern bool node_is_delta(const void *node);
extern bool node_is_edited(const void *node);
extern const RootTrailer *node_trailer(const void *node, size_t size);
extern uint32_t node_root_crc(const void *node, size_t size);
extern void node_pieces_begin(PieceCursor *cursor, const void *node);
extern bool node_pieces_next(PieceCursor *cursor, Piece *piece);
extern bool node_splices_next(SpliceCursor *cursor, Splice *splice);

/* CRC-32C of size bytes; given by the caller's world (server or fuzzer). */
extern uint32_t node_crc(const void *data, size_t size);

#endif							/* PG_TOASTER_NODE_FORMAT_H */
