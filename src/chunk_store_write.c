/*-------------------------------------------------------------------------
 *
 * chunk_store_write.c
 *	  The rows of the TOAST relation: put, replace, drop.
 *
 * Chunks are inserted without index entries, except the roots of the
 * indexed class.  Nothing here is decoded logically.  The caller holds
 * RowExclusiveLock on the TOAST relation until commit, and the lock of the
 * row that the value belongs to, so that a tree has one writer.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/catalog.h"
#include "catalog/index.h"
#include "common/pg_prng.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "chunk_cache.h"
#include "chunk_store.h"
#include "compat.h"
#include "heap_seam.h"
#include "pointer.h"
#include "settings.h"
#include "stats.h"

/* A chunk shorter than that is a short one. */
#define SHORT_CHUNK			512

/* Where the last one went: a hint. */
static struct
{
	Oid			relid;
	BlockNumber block;
}			short_chunks;

/* A number for a new lineage: any that is not an indexed address. */
uint32
chunk_store_new_lineage(void)
{
	return (uint32) pg_prng_uint64_range(&pg_global_prng_state, 1,
										 ADDRESS_DIRECT_END - 1);
}

/* Space for a node of that size, to be filled, and freed by pfree(). */
ChunkDraft *
chunk_store_draft(Size size)
{
	ChunkDraft *draft = palloc(offsetof(ChunkDraft, node) + size);

	chunk_store_resize(draft, size);
	return draft;
}

/* Set the size of the node, which is at most that of its space. */
void
chunk_store_resize(ChunkDraft *draft, Size size)
{
	draft->tuple.t_len = offsetof(ChunkDraft, node) + size -
		offsetof(ChunkDraft, header);
	SET_VARSIZE(&draft->length, VARHDRSZ + size);
}

/* Complete the tuple around a node, as heap_form_tuple() would form it. */
static HeapTuple
chunk_form(ChunkStore *store, uint32 chunk_id, ChunkDraft *draft)
{
	HeapTuple	tuple = &draft->tuple;
	HeapTupleHeader header = (HeapTupleHeader) draft->header;

	chunk_cache_reset();
	memset(header, 0, sizeof(draft->header));
	ItemPointerSetInvalid(&header->t_ctid);
	HeapTupleHeaderSetNatts(header, 3);
	header->t_infomask = HEAP_HASVARWIDTH;
	header->t_hoff = sizeof(draft->header);
	draft->chunk_id = chunk_id;
	draft->chunk_seq = 0;
	ItemPointerSetInvalid(&tuple->t_self);
	tuple->t_tableOid = RelationGetRelid(store->rel);
	tuple->t_data = header;
	return tuple;
}

/*
 * Insert a short chunk.  They have pages of their own, where many fit, lest
 * they take the room of a fourth long one between three.  Not so roots: a
 * page may have more line pointers than a direct address can express.
 */
static void
insert_short(ChunkStore *store, HeapTuple tuple)
{
	Relation	rel = store->rel;
	BlockNumber target = RelationGetTargetBlock(rel);
	BlockNumber block = InvalidBlockNumber;

	/* the relation may have been truncated since */
	if (short_chunks.relid == store->relid &&
		short_chunks.block < RelationGetNumberOfBlocks(rel))
		block = short_chunks.block;
	RelationSetTargetBlock(rel, block);
	heap_insert(rel, tuple, GetCurrentCommandId(true),
				store->options | HEAP_INSERT_NO_LOGICAL, NULL);
	short_chunks.relid = store->relid;
	short_chunks.block = ItemPointerGetBlockNumber(&tuple->t_self);
	RelationSetTargetBlock(rel, target);
}

/* Insert one chunk; returns where in *tid. */
static void
put_one(ChunkStore *store, uint32 chunk_id, ChunkDraft *draft,
		ItemPointer tid)
{
	HeapTuple	tuple = chunk_form(store, chunk_id, draft);

	if (tuple->t_len < SHORT_CHUNK && !node_is_root(draft->node))
		insert_short(store, tuple);
	else
		heap_insert(store->rel, tuple, GetCurrentCommandId(true),
					store->options | HEAP_INSERT_NO_LOGICAL, NULL);
	*tid = tuple->t_self;
	if (store->written)
		chunk_list_add(store->written, tid, chunk_id);
}

/* Insert several chunks at once, which share WAL records. */
static void
put_many(ChunkStore *store, uint32 chunk_id, ChunkDraft **drafts, int count,
		 ItemPointerData *tids)
{
	TupleTableSlot *slots[CHUNK_STORE_BATCH];

	for (int i = 0; i < count; i++)
	{
		slots[i] = MakeSingleTupleTableSlot(RelationGetDescr(store->rel),
											&TTSOpsHeapTuple);
		ExecStoreHeapTuple(chunk_form(store, chunk_id, drafts[i]), slots[i],
						   true);
	}
	heap_multi_insert(store->rel, slots, count, GetCurrentCommandId(true),
					  store->options, NULL);
	for (int i = 0; i < count; i++)
	{
		/* The slot was said to own the tuple lest heap copy it. */
		slots[i]->tts_flags &= ~TTS_FLAG_SHOULDFREE;
		tids[i] = slots[i]->tts_tid;
		if (store->written)
			chunk_list_add(store->written, &tids[i], chunk_id);
		ExecDropSingleTupleTableSlot(slots[i]);
	}
}

/*
 * Insert count nodes (at most CHUNK_STORE_BATCH) of the lineage and set
 * tids[] to where they are.  heap_multi_insert() cannot keep tuples from
 * being decoded, so that they go one by one where they would be.
 */
void
chunk_store_put(ChunkStore *store, uint32 lineage, ChunkDraft **drafts,
				int count, ItemPointerData *tids)
{
	Assert(count > 0 && count <= CHUNK_STORE_BATCH);
	stats_add(STATS_NODES_WRITTEN, count);
	if (count > 1 && !RelationIsLogicallyLogged(store->rel))
		put_many(store, lineage, drafts, count, tids);
	else
	{
		for (int i = 0; i < count; i++)
			put_one(store, lineage, drafts[i], &tids[i]);
	}
}

/* A tree has one writer: this can happen only to a damaged one. */
static void
raise_changed(ChunkStore *store, ItemPointer tid)
{
	chunk_store_problem(store, tid, "Chunk was changed by somebody else");
	chunk_store_raise(store);
}

/*
 * Is there room in the old chunk's page for a new one of that size, in a
 * root's case at a line pointer that a direct address can express?
 */
static bool
page_has_room(ChunkStore *store, ItemPointer old_tid, Size tuple_size,
			  bool root)
{
	Buffer		buffer;
	Page		page;
	bool		result;

	buffer = ReadBuffer(store->rel, ItemPointerGetBlockNumber(old_tid));
	heap_seam_prune(store->rel, buffer);
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	page = BufferGetPage(buffer);
	result = PageGetHeapFreeSpace(page) >= MAXALIGN(tuple_size) &&
		(!root || PageGetMaxOffsetNumber(page) < ADDRESS_OFFSETS - 1);
	UnlockReleaseBuffer(buffer);
	return result;
}

/*
 * Insert a root of the lineage, in the page of the chunk at near if there is
 * room, so that who reads both reads one page.
 */
void
chunk_store_put_near(ChunkStore *store, uint32 lineage, ChunkDraft *draft,
					 ItemPointer near, ItemPointer tid)
{
	Relation	rel = store->rel;
	BlockNumber target = RelationGetTargetBlock(rel);

	stats_add(STATS_NODES_WRITTEN, 1);
	if (page_has_room(store, near, draft->tuple.t_len, true))
		RelationSetTargetBlock(rel, ItemPointerGetBlockNumber(near));
	put_one(store, lineage, draft, tid);
	RelationSetTargetBlock(rel, target);
}

/*
 * Put a node in the place of the chunk at old_tid, which is no longer needed,
 * if its page has room: a HOT update, of which heap logs only the part that
 * differs.  Sets *tid and returns true; false when there is no room, and
 * nothing was done.
 */
bool
chunk_store_replace(ChunkStore *store, ItemPointer old_tid, uint32 lineage,
					ChunkDraft *draft, bool root, ItemPointer tid)
{
	HeapTuple	tuple = chunk_form(store, lineage, draft);
	TM_Result	result;

	if (!page_has_room(store, old_tid, tuple->t_len, root))
		return false;
	result = heap_seam_update_node(store->rel, old_tid, tuple,
								   GetCurrentCommandId(true));
	if (result != TM_Ok)
		raise_changed(store, old_tid);
	*tid = tuple->t_self;
	stats_add(STATS_NODES_WRITTEN, 1);
	stats_add(STATS_NODES_REPLACED, 1);
	return true;
}

/* Is the indexed address in use, by a live or a dead chunk? */
static bool
address_in_use(ChunkStore *store, Relation index, uint32 address)
{
	ScanKeyData key;
	SysScanDesc scan;
	bool		result;

	ScanKeyInit(&key, (AttrNumber) 1, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(address));
	scan = systable_beginscan_ordered(store->rel, index, SnapshotAny, 1, &key);
	result = systable_getnext_ordered(scan, ForwardScanDirection) != NULL;
	systable_endscan_ordered(scan);
	return result;
}

/*
 * Insert a root of the indexed class, with entries in the TOAST relation's
 * indexes, and return its new address.
 */
uint32
chunk_store_put_indexed(ChunkStore *store, ChunkDraft *draft)
{
	Relation   *indexes;
	int			count;
	int			valid;
	uint32		address;
	Datum		values[3];
	bool		isnull[3];
	ItemPointerData tid;

	valid = toast_open_indexes(store->rel, RowExclusiveLock, &indexes,
							   &count);
	do
	{
		CHECK_FOR_INTERRUPTS();
		address = ADDRESS_INDEXED_START +
			pg_prng_uint64_range(&pg_global_prng_state, 0,
								 ADDRESS_INDEXED_COUNT - 1);
	} while (address_in_use(store, indexes[valid], address));

	put_one(store, address, draft, &tid);
	stats_add(STATS_NODES_WRITTEN, 1);
	heap_deform_tuple(&draft->tuple, RelationGetDescr(store->rel), values,
					  isnull);
	for (int i = 0; i < count; i++)
	{
		if (!indexes[i]->rd_index->indisready)
			continue;
		index_insert(indexes[i], values, isnull, &tid, store->rel,
					 indexes[i]->rd_index->indisunique ?
					 UNIQUE_CHECK_YES : UNIQUE_CHECK_NO,
					 false, NULL);
	}
	toast_close_indexes(indexes, count, NoLock);
	return address;
}

static void
drop_chunk(ChunkStore *store, ItemPointer tid, CommandId cid)
{
	TM_FailureData tmfd;
	TM_Result	result;

	CHECK_FOR_INTERRUPTS();
	chunk_cache_reset();
	result = heap_delete(store->rel, tid, cid, InvalidSnapshot, true, &tmfd,
						 false);
	if (result != TM_Ok)
		raise_changed(store, tid);
	stats_add(STATS_NODES_DELETED, 1);
}

/* Is there, at the place, a chunk of the value that it was listed for? */
static bool
place_is_sound(ChunkStore *store, ChunkPlace *place)
{
	Chunk		chunk;
	bool		sound;

	if (!chunk_store_get(store, &place->tid, &chunk))
		return false;
	sound = chunk.chunk_id == place->chunk_id;
	chunk_store_release(&chunk);
	return sound ||
		chunk_store_problem(store, &place->tid,
							"Chunk belongs to another value");
}

/*
 * Delete chunks that the new version of their row no longer uses.  What is
 * damaged stays, with a warning.
 */
void
chunk_store_drop(ChunkStore *store, const ChunkList *chunks)
{
	CommandId	cid;
	bool		sound = true;

	if (chunks->count == 0)
		return;
	cid = GetCurrentCommandId(true);
	for (int i = 0; i < chunks->count; i++)
	{
		if (place_is_sound(store, &chunks->places[i]))
			drop_chunk(store, &chunks->places[i].tid, cid);
		else
			sound = false;
		FAILPOINT("node_deleted");
	}
	if (!sound)
		chunk_store_warn_left(store);
}

/*
 * Delete a chunk that this very command has inserted, where it cannot be
 * killed, because a row version that is dead needs it for old snapshots or
 * because of what the tuple is.  heap lets only later commands delete it: to
 * an MVCC snapshot of the next command it still looks alive.
 */
void
chunk_store_drop_new(ChunkStore *store, ItemPointer tid)
{
	drop_chunk(store, tid, GetCurrentCommandId(true) + 1);
	if (store->written)
		chunk_list_remove(store->written, tid);
}

/*
 * Make a chunk that this command has inserted, and does not need after all,
 * invisible to everybody at once.
 */
void
chunk_store_kill(ChunkStore *store, ItemPointer tid)
{
	chunk_cache_reset();
	heap_abort_speculative(store->rel, tid);
	if (store->written)
		chunk_list_remove(store->written, tid);
	stats_add(STATS_NODES_DELETED, 1);
}
