/*-------------------------------------------------------------------------
 *
 * chunk_store.c
 *	  The rows of the TOAST relation: find and get.
 *
 * With chunk_store_write.c the only code that touches rows of the TOAST
 * relation.  They are heap tuples: heap's WAL, MVCC, freezing and VACUUM
 * apply as they are.  Chunks refer to one another by TID; VACUUM never moves
 * a tuple, and what does (a rewrite of the main table) goes through
 * table_rewrite.c.
 *
 * Reading takes the tuple apart by hand, not by heap_fetch() and
 * heap_deform_tuple(), since a damaged page must end in an error that names
 * the chunk: every offset is checked before it is followed.
 *
 * Snapshots: chunks are read with core's TOAST snapshot, which insists on a
 * registered or active snapshot that keeps them from being pruned (verify
 * uses an MVCC snapshot of its own).  Buffers stay pinned only between look
 * or get and release, within one call of the executor.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/smgr.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "chunk_cache.h"
#include "chunk_store.h"
#include "compat.h"
#include "pointer.h"
#include "stats.h"
#include "toast_am.h"

/* Where the columns stand behind the tuple header of a chunk. */
#define CHUNK_ID_AT		0
#define CHUNK_SEQ_AT	4
#define CHUNK_DATA_AT	8
#define CHUNK_NODE_AT	(CHUNK_DATA_AT + VARHDRSZ)

/* No chunk is locked by two, and VACUUM FULL has not moved any since 9.0. */
#define IMPOSSIBLE_INFOMASK	(HEAP_XMAX_IS_MULTI | HEAP_MOVED)

const char	chunk_missing[] = "Chunk is missing";

/* The TID that a Ref names. */
void
ref_tid(const Ref *ref, ItemPointer tid)
{
	ItemPointerSet(tid, ref->block, ref->offset);
}

/* Open the TOAST relation with the lock given, which is kept on close. */
void
chunk_store_open(ChunkStore *store, Oid toastrelid, LOCKMODE lockmode)
{
	chunk_store_use(store, table_open(toastrelid, lockmode));
	store->lockmode = lockmode;
}

/* Use a TOAST relation that the caller has opened and will close. */
void
chunk_store_use(ChunkStore *store, Relation toastrel)
{
	if (toastrel->rd_tableam != toast_am_routine())
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("relation \"%s\" does not hold trees",
						RelationGetRelationName(toastrel))));
	memset(store, 0, sizeof(ChunkStore));
	store->rel = toastrel;
	store->relid = RelationGetRelid(toastrel);
	store->lockmode = NoLock;
}

/*
 * Open a TOAST relation for reading, with copies of its pages where there
 * are (chunk_cache.h); the relation itself is opened once it is needed.
 */
void
chunk_store_open_cached(ChunkStore *store, Oid toastrelid)
{
	memset(store, 0, sizeof(ChunkStore));
	store->relid = toastrelid;
	store->lockmode = AccessShareLock;
	store->cached = true;
}

/* The relation, opened. */
static Relation
store_rel(ChunkStore *store)
{
	if (store->rel == NULL)
	{
		ChunkStore	opened;

		chunk_store_open(&opened, store->relid, store->lockmode);
		store->rel = opened.rel;
	}
	return store->rel;
}

/* Close what chunk_store_open() opened; locks last until commit. */
void
chunk_store_close(ChunkStore *store)
{
	if (store->lockmode != NoLock && store->rel != NULL)
		table_close(store->rel, NoLock);
}

/* Set the TOAST snapshot, once per store. */
static void
ensure_snapshot(ChunkStore *store)
{
	if (!store->snapshot_set)
	{
		compat_toast_snapshot(&store->snapshot);
		store->snapshot_set = true;
	}
}

/* Is the block within the relation?  Asks the kernel only when in doubt. */
static bool
block_exists(ChunkStore *store, BlockNumber block)
{
	BlockNumber known = RelationGetSmgr(store_rel(store))->
		smgr_cached_nblocks[MAIN_FORKNUM];

	if (known != InvalidBlockNumber && block < known)
		return true;
	return block < RelationGetNumberOfBlocks(store_rel(store));
}

/*
 * Take apart the line pointer and the tuple of a chunk.  The page is locked.
 * Returns what is wrong, or NULL with the chunk's fields set.
 */
static const char *
look_at_tuple(ChunkStore *store, Page page, Chunk *chunk)
{
	OffsetNumber offset = ItemPointerGetOffsetNumber(&chunk->tid);
	ItemId		item;
	HeapTupleData tuple;
	const char *data;
	Size		size;
	int32		seq;

	if (PageIsNew(page) || offset > PageGetMaxOffsetNumber(page))
		return chunk_missing;
	item = PageGetItemId(page, offset);
	if (!ItemIdIsNormal(item))
		return chunk_missing;
	if (ItemIdGetOffset(item) < SizeOfPageHeaderData ||
		ItemIdGetOffset(item) != MAXALIGN(ItemIdGetOffset(item)) ||
		ItemIdGetOffset(item) + ItemIdGetLength(item) > BLCKSZ ||
		ItemIdGetLength(item) < MAXALIGN(SizeofHeapTupleHeader) +
		CHUNK_NODE_AT)
		return "Line pointer is damaged";
	tuple.t_data = (HeapTupleHeader) PageGetItem(page, item);
	tuple.t_len = ItemIdGetLength(item);
	tuple.t_self = chunk->tid;
	tuple.t_tableOid = store->relid;
	if (tuple.t_data->t_hoff != MAXALIGN(SizeofHeapTupleHeader) ||
		HeapTupleHasNulls(&tuple) ||
		(tuple.t_data->t_infomask & IMPOSSIBLE_INFOMASK) != 0 ||
		HeapTupleHeaderGetNatts(tuple.t_data) != 3)
		return "Tuple header is damaged";
	if (!HeapTupleSatisfiesVisibility(&tuple, &store->snapshot,
									  chunk->buffer))
		return chunk_missing;
	data = (const char *) tuple.t_data + tuple.t_data->t_hoff;
	size = tuple.t_len - tuple.t_data->t_hoff;
	memcpy(&chunk->chunk_id, data + CHUNK_ID_AT, sizeof(uint32));
	memcpy(&seq, data + CHUNK_SEQ_AT, sizeof(int32));
	if (seq != 0)
		return "Chunk has a sequence number";
	if (!VARATT_IS_4B_U(data + CHUNK_DATA_AT) ||
		VARSIZE_4B(data + CHUNK_DATA_AT) < VARHDRSZ ||
		VARSIZE_4B(data + CHUNK_DATA_AT) > size - CHUNK_DATA_AT)
		return "Chunk has a damaged length";
	chunk->node = data + CHUNK_NODE_AT;
	chunk->size = VARSIZE_4B(data + CHUNK_DATA_AT) - VARHDRSZ;
	return NULL;
}

/*
 * Record what is wrong with the chunk at tid.  Always returns false, so that
 * a reader can return it to a caller that may tolerate the loss.
 */
bool
chunk_store_problem(ChunkStore *store, ItemPointer tid, const char *problem)
{
	store->problem = problem;
	store->problem_tid = *tid;
	return false;
}

/* Raise the problem that the last get has recorded. */
void
chunk_store_raise(ChunkStore *store)
{
	ItemPointer tid = &store->problem_tid;

	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("damaged chunk (%u,%u) of toast value %u in \"%s\"",
					ItemPointerGetBlockNumberNoCheck(tid),
					ItemPointerGetOffsetNumberNoCheck(tid),
					store->value, RelationGetRelationName(store_rel(store))),
			 errdetail_internal("%s.", store->problem),
			 errhint("Use toaster.verify() to find all damage.  A damaged "
					 "value can be set to NULL, its row deleted.")));
}

/*
 * Warn that chunks of a value that is no longer needed stay behind, because
 * of the problem that the last get has recorded.  Refusing to delete it would
 * leave the user no way to get rid of a damaged row.
 */
void
chunk_store_warn_left(ChunkStore *store)
{
	ItemPointer tid = &store->problem_tid;

	ereport(WARNING,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("not all chunks of damaged toast value %u in \"%s\" "
					"could be deleted",
					store->value, RelationGetRelationName(store_rel(store))),
			 errdetail("Chunk (%u,%u): %s.",
					   ItemPointerGetBlockNumberNoCheck(tid),
					   ItemPointerGetOffsetNumberNoCheck(tid),
					   store->problem),
			 errhint("VACUUM FULL on the table removes them.")));
}

/*
 * Is the chunk, which was just looked at, visible to the active snapshot, which
 * then keeps it from being removed?
 */
static bool
is_kept(ChunkStore *store, Page page, const Chunk *chunk)
{
	Snapshot	snapshot = GetActiveSnapshot();
	ItemId		item = PageGetItemId(page,
									 ItemPointerGetOffsetNumber(&chunk->tid));
	HeapTupleData tuple;

	tuple.t_data = (HeapTupleHeader) PageGetItem(page, item);
	tuple.t_len = ItemIdGetLength(item);
	tuple.t_self = chunk->tid;
	tuple.t_tableOid = store->relid;
	return snapshot->snapshot_type == SNAPSHOT_MVCC &&
		HeapTupleSatisfiesVisibility(&tuple, snapshot, chunk->buffer);
}

/* Copy the page of a chunk that was read, with all chunks that it keeps. */
static void
copy_page(ChunkStore *store, const Chunk *chunk)
{
	Page		page = BufferGetPage(chunk->buffer);

	chunk_cache_begin(store->relid, ItemPointerGetBlockNumber(&chunk->tid),
					  page);
	for (OffsetNumber offset = FirstOffsetNumber;
		 offset <= Min(PageGetMaxOffsetNumber(page), MaxHeapTuplesPerPage);
		 offset++)
	{
		Chunk		other = *chunk;

		ItemPointerSetOffsetNumber(&other.tid, offset);
		if (look_at_tuple(store, page, &other) == NULL &&
			is_kept(store, page, &other))
			chunk_cache_add(&other, page);
	}
}

/*
 * Get the chunk at tid, whatever it holds.  Returns true with *chunk pinned
 * until chunk_store_release(); false, with the problem recorded and nothing
 * to release, when it is missing or its tuple is damaged.
 */
bool
chunk_store_get(ChunkStore *store, ItemPointer tid, Chunk *chunk)
{
	BlockNumber block = ItemPointerGetBlockNumberNoCheck(tid);
	const char *problem;

	CHECK_FOR_INTERRUPTS();
	if (store->cached && chunk_cache_get(store->relid, tid, chunk))
		return true;
	ensure_snapshot(store);
	chunk->tid = *tid;
	if (!ItemPointerIsValid(tid) || !block_exists(store, block))
		return chunk_store_problem(store, &chunk->tid,
								   "Chunk lies past the end of the relation");
	chunk->buffer = ReadBuffer(store_rel(store), block);
	LockBuffer(chunk->buffer, BUFFER_LOCK_SHARE);
	compat_test_old_snapshot(&store->snapshot, store_rel(store),
							 BufferGetPage(chunk->buffer));
	problem = look_at_tuple(store, BufferGetPage(chunk->buffer), chunk);
	if (store->cached && problem == NULL &&
		chunk_cache_wants(store->relid, block, BufferGetPage(chunk->buffer)))
		copy_page(store, chunk);
	LockBuffer(chunk->buffer, BUFFER_LOCK_UNLOCK);
	if (problem != NULL)
	{
		ReleaseBuffer(chunk->buffer);
		return chunk_store_problem(store, &chunk->tid, problem);
	}
	stats_add(STATS_NODES_FETCHED, 1);
	return true;
}

/*
 * List the line pointers of a block that may hold chunks: at most
 * MaxOffsetNumber offsets, of which the number is returned.
 */
int
chunk_store_list(ChunkStore *store, BlockNumber block,
				 BufferAccessStrategy strategy, OffsetNumber *offsets)
{
	Buffer		buffer;
	Page		page;
	int			count = 0;

	CHECK_FOR_INTERRUPTS();
	buffer = ReadBufferExtended(store->rel, MAIN_FORKNUM, block, RBM_NORMAL,
								strategy);
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	page = BufferGetPage(buffer);
	for (OffsetNumber offset = FirstOffsetNumber; !PageIsNew(page) &&
		 offset <= Min(MaxOffsetNumber, PageGetMaxOffsetNumber(page)); offset++)
	{
		if (ItemIdIsNormal(PageGetItemId(page, offset)))
			offsets[count++] = offset;
	}
	UnlockReleaseBuffer(buffer);
	return count;
}

/* Release a chunk that a get has returned. */
void
chunk_store_release(Chunk *chunk)
{
	if (BufferIsValid(chunk->buffer))
		ReleaseBuffer(chunk->buffer);
}

/* What is wrong with the root at hand; NULL when nothing is. */
static const char *
root_problem(const Chunk *chunk, uint32 address, uint32 size)
{
	const char *problem = node_problem(chunk->node, chunk->size);
	const RootTrailer *trailer;

	if (problem != NULL)
		return problem;
	if (!node_is_root(chunk->node))
		return "Chunk is not a root";
	trailer = node_trailer(chunk->node, chunk->size);
	if (trailer->crc != node_root_crc(chunk->node, chunk->size))
		return "Checksum of the root is wrong";
	if (chunk->chunk_id != (address_is_indexed(address) ? address :
							trailer->lineage))
		return "Root belongs to another value";
	if (trailer->flat_size != size)
		return "Root has another size than the pointer says";
	return NULL;
}

/*
 * Get the root of the value with that address and size, checked.  Returns
 * as chunk_store_get() does.
 */
bool
chunk_store_get_root(ChunkStore *store, uint32 address, uint32 size,
					 Chunk *chunk)
{
	ItemPointerData tid;
	const char *problem;

	store->value = address;
	ItemPointerSetInvalid(&tid);
	if (!chunk_store_find(store, address, &tid))
		return chunk_store_problem(store, &tid, "Root is missing");
	if (!chunk_store_get(store, &tid, chunk))
		return false;
	problem = root_problem(chunk, address, size);
	if (problem == NULL)
		return true;
	chunk_store_release(chunk);
	return chunk_store_problem(store, &chunk->tid, problem);
}

/*
 * What is wrong with the child at hand, which is to be a root in a delta's
 * case only; NULL when nothing is.
 */
static const char *
child_problem(const Chunk *chunk, uint32 lineage, const Ref *ref, int level,
			  bool root)
{
	const char *problem;

	if (chunk->chunk_id != lineage)
		return "Chunk belongs to another value";
	if (chunk->size != ref->size)
		return "Chunk has another size than its parent says";
	if (node_crc(chunk->node, chunk->size) != ref->crc)
		return "Chunk has another checksum than its parent says";
	problem = node_problem(chunk->node, chunk->size);
	if (problem != NULL)
		return problem;
	if (((const NodeHeader *) chunk->node)->level != level ||
		node_is_root(chunk->node) != root)
		return "Node has a wrong level";
	if (root && (node_is_delta(chunk->node) ||
				 node_trailer(chunk->node, chunk->size)->lineage != lineage))
		return "Root is not one that a delta can stand on";
	return NULL;
}

/* Get what ref names, a root or none. */
static bool
get_below(ChunkStore *store, uint32 lineage, const Ref *ref, int level,
		  bool root, Chunk *chunk)
{
	Ref			expected = *ref;	/* it may be in a copy that is replaced */
	ItemPointerData tid;
	const char *problem;

	ref_tid(&expected, &tid);
	if (!chunk_store_get(store, &tid, chunk))
		return false;
	problem = child_problem(chunk, lineage, &expected, level, root);
	if (problem == NULL)
		return true;
	chunk_store_release(chunk);
	return chunk_store_problem(store, &chunk->tid, problem);
}

/*
 * Get the child that ref names, a node of the given level of a value of the
 * given lineage, checked.  Returns as chunk_store_get() does.
 */
bool
chunk_store_get_child(ChunkStore *store, uint32 lineage, const Ref *ref,
					  int level, Chunk *chunk)
{
	return get_below(store, lineage, ref, level, false, chunk);
}

/* The same for the root that a delta stands on, which ref names. */
bool
chunk_store_get_base(ChunkStore *store, uint32 lineage, const Ref *ref,
					 int level, Chunk *chunk)
{
	return get_below(store, lineage, ref, level, true, chunk);
}

/*
 * Look an indexed address up in the index; false when it is not there.  Only
 * the index is read by its access method: a fetch of the chunk by heap would
 * prune the page, and trusts what it finds there.
 */
static bool
find_indexed(ChunkStore *store, uint32 address, ItemPointer tid)
{
	Relation   *indexes;
	int			count;
	int			valid;
	ScanKeyData key;
	IndexScanDesc scan;
	ItemPointer place;
	bool		found = false;

	ensure_snapshot(store);
	valid = toast_open_indexes(store_rel(store), AccessShareLock, &indexes,
							   &count);
	ScanKeyInit(&key, (AttrNumber) 1, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(address));
	scan = compat_index_beginscan(store_rel(store), indexes[valid],
								  &store->snapshot, 1);
	index_rescan(scan, &key, 1, NULL, 0);
	while (!found &&
		   (place = index_getnext_tid(scan, ForwardScanDirection)) != NULL)
	{
		Chunk		chunk;

		*tid = *place;
		found = true;
		if (chunk_store_get(store, tid, &chunk))
			chunk_store_release(&chunk);
		else if (store->problem == chunk_missing)
			found = false;		/* an entry that VACUUM has not removed yet */
	}
	index_endscan(scan);
	toast_close_indexes(indexes, count, AccessShareLock);
	return found;
}

/*
 * Set *tid to where the root with that address is, or should be.  Returns
 * false when the address is of no class that can be stored, or not found.
 */
bool
chunk_store_find(ChunkStore *store, uint32 address, ItemPointer tid)
{
	if (address_is_direct(address))
	{
		address_to_tid(address, tid);
		return true;
	}
	return address_is_indexed(address) && find_indexed(store, address, tid);
}
