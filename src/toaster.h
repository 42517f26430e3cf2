/*-------------------------------------------------------------------------
 *
 * toaster.h
 *	  The toaster interface: how a kind of tree stores values.
 *
 * A toaster turns a flat value into a tree of nodes and back.  The per-tuple
 * policy (row.c) decides which values become trees and calls the toaster
 * that says it can store the column's type; whoever reads a tree finds its
 * toaster by the kind of the root node.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PG_TOASTER_TOASTER_H
#define PG_TOASTER_TOASTER_H

#include "postgres.h"

#include "chunk_store.h"
#include "pointer.h"

/*
 * A value in the flat form, without its header; with what it compressed to
 * when the policy has tried that already.  A toaster that stores values in
 * another form keeps that here once it has made it.
 */
typedef struct FlatValue
{
	const char *data;
	uint32		size;
	uint8		kind;			/* of the root: NODE_KIND_xxx */
	uint32		flat_size;		/* other than size in another form only */
	bool		edited;			/* such a form, but made by edits */
	const char *packed;			/* NULL: not known */
	uint32		packed_size;
	int			packed_codec;
	bool		form_known;
	struct FlatValue *form;		/* NULL: stored in the flat form */
} FlatValue;

/* A value in the flat form, nothing else known of it. */
static inline void
flat_value_init(FlatValue *flat, const char *data, uint32 size)
{
	memset(flat, 0, sizeof(FlatValue));
	flat->data = data;
	flat->size = flat->flat_size = size;
	flat->kind = NODE_KIND_ROPE;
}

/* What writing a tree needs. */
typedef struct TreeWrite
{
	ChunkStore *store;			/* where nodes go */
	Oid			toastrelid;		/* what pointers name */
	int			codec;
	ChunkList  *dropped;		/* chunks to delete once the row is written */
} TreeWrite;

/* One node, as seen by a walk. */
typedef struct NodeVisit
{
	ItemPointerData tid;
	uint32		chunk_id;
	const char *kind;
	int			level;			/* 0 for data */
	int			entries;		/* pieces of a branch, 0 for data */
	uint64		raw;			/* bytes of the value below it */
	uint32		stored;			/* bytes of the node */
	int			codec;			/* of a data node */
} NodeVisit;

typedef void (*NodeVisitor) (const NodeVisit *visit, void *arg);

typedef struct Toaster
{
	uint8		kind;			/* of the root node: NODE_KIND_xxx */
	const char *name;

	/* Can values of this type (0: of a dropped column) be stored? */
	bool		(*validate) (Oid type);

	/*
	 * Would the value, stored in another form than the flat one, take more
	 * than limit bytes, compressed with codec?  May keep that form in flat.
	 * NULL: there is no other form.
	 */
	bool		(*form_exceeds) (FlatValue *flat, int codec, Size limit);

	/* Write a new tree. */
	void		(*save) (TreeWrite *write, FlatValue *flat,
						 TreePointer *result);

	/*
	 * Write what differs between the old tree and flat.  Chunks no longer
	 * used go to write->dropped.
	 */
	void		(*update) (TreeWrite *write, const TreePointer *old,
						   FlatValue *flat, TreePointer *result);

	/*
	 * The rest read under a pinned root.  They return false, with the
	 * problem recorded in the store, when a chunk is missing or damaged.
	 */
	bool		(*equal) (ChunkStore *store, const Chunk *root,
						  FlatValue *flat, bool *result);
	bool		(*fetch_slice) (ChunkStore *store, const Chunk *root,
								uint32 offset, uint32 length, char *target);
	bool		(*copy) (ChunkStore *source, const Chunk *root,
						 TreeWrite *write, TreePointer *result);
	bool		(*walk) (ChunkStore *store, const Chunk *root,
						 NodeVisitor visitor, void *arg);

	const void *methods;		/* of the type, for its own SQL functions */
} Toaster;

extern void toaster_register(const Toaster *toaster);
extern const Toaster *toaster_for_type(Oid type);
extern const Toaster *toaster_for_root(const Chunk *root);

extern bool toaster_equal(ChunkStore *store, const TreePointer *pointer,
						  FlatValue *flat, bool *result);
extern bool toaster_fetch_slice(ChunkStore *store, const TreePointer *pointer,
								uint32 offset, uint32 length, char *target);
extern bool toaster_copy(ChunkStore *source, const TreePointer *pointer,
						 TreeWrite *write, TreePointer *result);
extern bool toaster_walk(ChunkStore *store, const TreePointer *pointer,
						 NodeVisitor visitor, void *arg);
extern bool toaster_list(ChunkStore *store, const TreePointer *pointer,
						 ChunkList *chunks);

#endif							/* PG_TOASTER_TOASTER_H */
