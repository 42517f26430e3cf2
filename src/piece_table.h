/*-------------------------------------------------------------------------
 *
 * piece_table.h
 *	  A value that is made of parts of another one and of new bytes.
 *
 * The table lists, in order, ranges of a *base*, which is stored somewhere
 * and does not change, and new bytes, which are in memory.  It grows with
 * the number of changes, not with the size of the value.  The idea is that
 * of the editor Bravo; see Crowley, "Data Structures for Text Sequences"
 * (1998).
 *
 * A table can be packed into the bytes of a delta root, which node_format.h
 * draws, if its ranges are in the order of the base.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PG_TOASTER_PIECE_TABLE_H
#define PG_TOASTER_PIECE_TABLE_H

#include "postgres.h"

typedef struct TablePiece
{
	const char *bytes;			/* NULL: a range of the base */
	uint32		offset;			/* of the range, in the base */
	uint32		size;			/* never 0 */
	uint32		start;			/* of the piece, in the value */
} TablePiece;

/* Allocated, with all that it points to, in one memory context. */
typedef struct PieceTable
{
	MemoryContext context;
	uint32		base_size;
	uint32		size;			/* of the value */
	TablePiece *pieces;
	int			count;
	int			capacity;
	char	   *block;			/* new bytes of a copy, or unpacked ones */
} PieceTable;

extern PieceTable *piece_table_create(uint32 base_size);
extern PieceTable *piece_table_copy(const PieceTable *table);
extern void piece_table_splice(PieceTable *table, uint32 offset,
							   uint32 remove, const char *bytes,
							   uint32 insert);
extern bool piece_table_append(PieceTable *table, const PieceTable *more);
extern int	piece_table_find(const PieceTable *table, uint32 offset,
							 uint32 *start);
extern Size piece_table_packed_size(const PieceTable *table);
extern void piece_table_pack(const PieceTable *table, char *target);
extern PieceTable *piece_table_unpack(const char *packed, Size size,
									  uint32 base_size);
extern void piece_table_free(PieceTable *table);

#endif							/* PG_TOASTER_PIECE_TABLE_H */
