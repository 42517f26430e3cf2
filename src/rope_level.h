/*-------------------------------------------------------------------------
 *
 * rope_level.h
 *	  The pieces of one level of a tree that wait for their node.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PG_TOASTER_ROPE_LEVEL_H
#define PG_TOASTER_ROPE_LEVEL_H

#include "postgres.h"

#include "rope.h"

/* A piece that waits for its node to be written. */
typedef struct BuildPiece
{
	Piece		piece;			/* refs and bytes are copies of our own */
	bool		joined;			/* must be in the node of the one before */
	bool		old;			/* its refs are of the old tree */
	bool		shares;			/* its refs stand in a piece before it */
} BuildPiece;

typedef struct BuildLevel
{
	BuildPiece *pieces;
	int			count;
	int			capacity;
	Size		bytes;			/* that the pieces take in a node */
} BuildLevel;

extern void rope_level_insert(BuildLevel *level, MemoryContext context,
							  int at, const Piece *piece, bool joined,
							  bool old);
extern void rope_level_shift(BuildLevel *level, int count);
extern bool rope_level_pop_old(BuildLevel *level, Piece *piece);
extern int	rope_level_node_end(const BuildLevel *level, Size target,
								Size capacity);
extern bool rope_level_can_share(const Piece *earlier, const Piece *piece);

/* Bytes that a piece with refs of its own takes in its node. */
static inline Size
piece_node_size(const PieceHeader *head)
{
	return PIECE_SIZE(head->refs) + head->inline_size;
}

/* Bytes that a piece takes in the node that it waits for. */
static inline Size
build_piece_size(const BuildPiece *build)
{
	return build->shares ? PIECE_SIZE(0) : piece_node_size(&build->piece.head);
}

#endif							/* PG_TOASTER_ROPE_LEVEL_H */
