/*-------------------------------------------------------------------------
 *
 * chunk_store.h
 *	  The rows of the TOAST relation: find, get, put, replace, drop.
 *
 * Each chunk is a row (chunk_id, chunk_seq, chunk_data).  chunk_data is a
 * node; chunk_id is the lineage of its value, below ADDRESS_DIRECT_END and
 * without an index entry, or, in a root of the indexed class, its address,
 * with one; chunk_seq is always 0.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PG_TOASTER_CHUNK_STORE_H
#define PG_TOASTER_CHUNK_STORE_H

#include "postgres.h"

#include "access/htup_details.h"
#include "storage/buf.h"
#include "storage/itemptr.h"
#include "storage/lockdefs.h"
#include "utils/relcache.h"
#include "utils/snapshot.h"

#include "chunk_list.h"
#include "compat.h"
#include "node_format.h"

/* The most chunks that one call of chunk_store_put() takes. */
#define CHUNK_STORE_BATCH	8

/* An open TOAST relation. */
typedef struct ChunkStore
{
	Relation	rel;			/* NULL: not needed so far */
	Oid			relid;
	bool		cached;			/* copies of pages may be used */
	SnapshotData snapshot;		/* that chunks are read with */
	bool		snapshot_set;
	LOCKMODE	lockmode;		/* NoLock: the caller opened it */
	int			options;		/* TABLE_INSERT_xxx of the statement */
	uint32		value;			/* address at hand, for messages */
	ChunkList  *written;		/* if not NULL, has all chunks inserted */
	const char *problem;		/* why the last get returned false */
	ItemPointerData problem_tid;	/* and for which chunk */
} ChunkStore;

/* The problem of a chunk that is not there, or invisible to the snapshot. */
extern const char chunk_missing[];

/*
 * A chunk in its page, valid until chunk_store_release(); in a copy of the
 * page, until the next get.
 */
typedef struct Chunk
{
	Buffer		buffer;			/* pinned; invalid in a copy of the page */
	ItemPointerData tid;
	uint32		chunk_id;
	const void *node;			/* 4-byte aligned */
	Size		size;
} Chunk;

/*
 * A node to be stored, in its place within the tuple that it becomes, so that
 * it need not be copied there.
 */
typedef struct ChunkDraft
{
	HeapTupleData tuple;
	char		header[MAXALIGN(SizeofHeapTupleHeader)];
	uint32		chunk_id;		/* the columns; set when it is stored */
	int32		chunk_seq;
	uint32		length;			/* of chunk_data, a varlena header */
	char		node[FLEXIBLE_ARRAY_MEMBER];
} ChunkDraft;

extern void chunk_store_open(ChunkStore *store, Oid toastrelid,
							 LOCKMODE lockmode);
extern void chunk_store_open_cached(ChunkStore *store, Oid toastrelid);
extern void chunk_store_use(ChunkStore *store, Relation toastrel);
extern void chunk_store_close(ChunkStore *store);

extern bool chunk_store_find(ChunkStore *store, uint32 address,
							 ItemPointer tid);
extern bool chunk_store_get(ChunkStore *store, ItemPointer tid, Chunk *chunk);
extern bool chunk_store_get_root(ChunkStore *store, uint32 address,
								 uint32 size, Chunk *chunk);
extern bool chunk_store_get_child(ChunkStore *store, uint32 lineage,
								  const Ref *ref, int level, Chunk *chunk);
extern bool chunk_store_get_base(ChunkStore *store, uint32 lineage,
								 const Ref *ref, int level, Chunk *chunk);
extern void chunk_store_release(Chunk *chunk);
extern bool chunk_store_problem(ChunkStore *store, ItemPointer tid,
								const char *problem);
pg_noreturn extern void chunk_store_raise(ChunkStore *store);
extern void chunk_store_warn_left(ChunkStore *store);
extern int	chunk_store_list(ChunkStore *store, BlockNumber block,
							 BufferAccessStrategy strategy,
							 OffsetNumber *offsets);

extern uint32 chunk_store_new_lineage(void);
extern ChunkDraft *chunk_store_draft(Size size);
extern void chunk_store_resize(ChunkDraft *draft, Size size);
extern void chunk_store_put(ChunkStore *store, uint32 lineage,
							ChunkDraft **drafts, int count,
							ItemPointerData *tids);
extern void chunk_store_put_near(ChunkStore *store, uint32 lineage,
								 ChunkDraft *draft, ItemPointer near,
								 ItemPointer tid);
extern bool chunk_store_replace(ChunkStore *store, ItemPointer old_tid,
								uint32 lineage, ChunkDraft *draft,
								bool root, ItemPointer tid);
extern uint32 chunk_store_put_indexed(ChunkStore *store,
									  ChunkDraft *draft);
extern void chunk_store_drop(ChunkStore *store, const ChunkList *chunks);
extern void chunk_store_drop_new(ChunkStore *store, ItemPointer tid);
extern void chunk_store_kill(ChunkStore *store, ItemPointer tid);

extern void ref_tid(const Ref *ref, ItemPointer tid);

#endif							/* PG_TOASTER_CHUNK_STORE_H */
