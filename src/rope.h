/*-------------------------------------------------------------------------
 *
 * rope.h
 *	  Byte trees: reading a value that is kept as a list of pieces.
 *
 * A rope is a B+tree of pieces (node_format.h): level 1 holds windows on
 * compressed frames, the levels above hold subtrees.  rope_read.c reads it,
 * rope_build.c writes new nodes, rope_frame.c makes frames, rope_diff.c
 * finds what of an old rope a new value can keep, rope_splice.c is told so by a
 * piece table.
 *
 * The idea of an ordered tree of byte runs is that of Boehm, Atkinson and
 * Plass, "Ropes: an Alternative to Strings" (1995); windows on runs that
 * never change are those of a piece table.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PG_TOASTER_ROPE_H
#define PG_TOASTER_ROPE_H

#include "postgres.h"

#include "chunk_store.h"
#include "node_format.h"
#include "piece_table.h"
#include "toaster.h"

extern const Toaster rope_toaster;

/*
 * Reads the frames of one value.  Buffers live in the memory context that
 * was current at rope_reader_init().
 */
typedef struct RopeReader
{
	ChunkStore *store;
	uint32		lineage;
	MemoryContext context;
	char	   *stored;			/* a frame's stored bytes */
	Size		stored_capacity;
	char	   *frame;			/* a frame's first bytes, decompressed */
	Size		frame_capacity;
	Size		frame_ready;	/* how many of them */
	Ref			frame_ref;		/* first chunk of that frame */
} RopeReader;

extern void rope_reader_init(RopeReader *reader, ChunkStore *store,
							 uint32 lineage);
extern void rope_reader_free(RopeReader *reader);
extern bool rope_reader_frame(RopeReader *reader, const Piece *piece,
							  Size wanted, const char **frame);

extern bool rope_reader_stored(RopeReader *reader, const Piece *piece,
							   Size offset, Size length, char *target);
extern bool rope_reader_decompress(RopeReader *reader, const Piece *piece,
								   Size wanted, char *target);

extern bool rope_reader_table(RopeReader *reader, const Chunk *base,
							  const PieceTable *table, uint32 offset,
							  uint32 length, char *target);

extern bool rope_fetch_slice(ChunkStore *store, const Chunk *root,
							 uint32 offset, uint32 length, char *target);
extern bool rope_equal(ChunkStore *store, const Chunk *root,
					   FlatValue *flat, bool *result);
extern bool rope_walk(ChunkStore *store, const Chunk *root,
					  NodeVisitor visitor, void *arg);
extern bool rope_copy(ChunkStore *source, const Chunk *root,
					  TreeWrite *write, TreePointer *result);
extern void rope_save(TreeWrite *write, FlatValue *flat,
					  TreePointer *result);
extern void rope_update(TreeWrite *write, const TreePointer *old,
						FlatValue *flat, TreePointer *result);

/* rope_read.c: what a delta root stands on, and what it changes of it. */
extern bool rope_delta_base(ChunkStore *store, const Chunk *root,
							Chunk *base);
extern PieceTable *rope_delta_table(const void *node);

/* rope_splice.c */
extern void rope_apply(TreeWrite *write, const TreePointer *old,
					   const PieceTable *table, uint8 kind, uint32 flat_size,
					   TreePointer *result);

/* The level of a ROPE node, and whether two pieces share their frame. */
#define ROPE_LEVEL(node)	(((const NodeHeader *) (node))->level)
extern bool piece_same_frame(const Piece *a, const Piece *b);

#endif							/* PG_TOASTER_ROPE_H */
