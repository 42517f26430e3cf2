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

#include "chunk_store.h"
#include "compat.h"
#include "heap_seam.h"
#include "pointer.h"
#include "settings.h"
#include "stats.h"

/* Size of the tuple of a chunk whose chunk_data has that size. */
#define CHUNK_TUPLE_SIZE(data_size) \
	(MAXALIGN(SizeofHeapTupleHeader) + sizeof(Oid) + sizeof(int32) + \
	 (data_size))

/* A number for a new lineage: any that is not an indexed address. */
uint32
chunk_store_new_lineage(void)
{
	return (uint32) pg_prng_uint64_range(&pg_global_prng_state, 1,
										 ADDRESS_DIRECT_END - 1);
}

/* The values of a chunk's columns. */
static void
chunk_values(uint32 chunk_id, bytea *node, Datum *values, bool *isnull)
{
	values[0] = ObjectIdGetDatum(chunk_id);
	values[1] = Int32GetDatum(0);
	values[2] = PointerGetDatum(node);
	memset(isnull, false, 3 * sizeof(bool));
}

static HeapTuple
chunk_form(ChunkStore *store, uint32 chunk_id, bytea *node)
{
	Datum		values[3];
	bool		isnull[3];

	chunk_values(chunk_id, node, values, isnull);
	return heap_form_tuple(RelationGetDescr(store->rel), values, isnull);
}

/* Insert one chunk; returns where in *tid. */
static void
put_one(ChunkStore *store, uint32 chunk_id, bytea *node, ItemPointer tid)
{
	HeapTuple	tuple = chunk_form(store, chunk_id, node);

	heap_insert(store->rel, tuple, GetCurrentCommandId(true),
				store->options | HEAP_INSERT_NO_LOGICAL, NULL);
	*tid = tuple->t_self;
	heap_freetuple(tuple);
	if (store->written)
		chunk_list_add(store->written, tid, chunk_id);
}

/* Insert several chunks at once, which share WAL records. */
static void
put_many(ChunkStore *store, uint32 chunk_id, bytea **nodes, int count,
		 ItemPointerData *tids)
{
	TupleTableSlot *slots[CHUNK_STORE_BATCH];

	for (int i = 0; i < count; i++)
	{
		slots[i] = MakeSingleTupleTableSlot(RelationGetDescr(store->rel),
											&TTSOpsHeapTuple);
		ExecStoreHeapTuple(chunk_form(store, chunk_id, nodes[i]), slots[i],
						   true);
	}
	heap_multi_insert(store->rel, slots, count, GetCurrentCommandId(true),
					  store->options, NULL);
	for (int i = 0; i < count; i++)
	{
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
chunk_store_put(ChunkStore *store, uint32 lineage, bytea **nodes, int count,
				ItemPointerData *tids)
{
	Assert(count > 0 && count <= CHUNK_STORE_BATCH);
	stats_add(STATS_NODES_WRITTEN, count);
	if (count > 1 && !RelationIsLogicallyLogged(store->rel))
		put_many(store, lineage, nodes, count, tids);
	else
	{
		for (int i = 0; i < count; i++)
			put_one(store, lineage, nodes[i], &tids[i]);
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
 * Put node in the place of the chunk at old_tid, which is no longer needed,
 * if its page has room: a HOT update, of which heap logs only the part that
 * differs.  Sets *tid and returns true; false when there is no room, and
 * nothing was done.
 */
bool
chunk_store_replace(ChunkStore *store, ItemPointer old_tid, uint32 lineage,
					bytea *node, bool root, ItemPointer tid)
{
	HeapTuple	tuple;
	TM_Result	result;

	if (!page_has_room(store, old_tid, CHUNK_TUPLE_SIZE(VARSIZE(node)), root))
		return false;
	tuple = chunk_form(store, lineage, node);
	result = heap_seam_update_node(store->rel, old_tid, tuple,
								   GetCurrentCommandId(true));
	if (result != TM_Ok)
		raise_changed(store, old_tid);
	*tid = tuple->t_self;
	heap_freetuple(tuple);
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
chunk_store_put_indexed(ChunkStore *store, bytea *node)
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

	put_one(store, address, node, &tid);
	stats_add(STATS_NODES_WRITTEN, 1);
	chunk_values(address, node, values, isnull);
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
}

/*
 * Make a chunk that this command has inserted, and does not need after all,
 * invisible to everybody at once.
 */
void
chunk_store_kill(ChunkStore *store, ItemPointer tid)
{
	heap_abort_speculative(store->rel, tid);
	stats_add(STATS_NODES_DELETED, 1);
}
