/*-------------------------------------------------------------------------
 *
 * row_chunks.c
 *	  The trees of a row that is stored already: listed, deleted, read.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "utils/rel.h"

#include "chunk_store.h"
#include "pointer.h"
#include "row.h"
#include "toaster.h"

/*
 * Add the chunks of all trees of a stored row to the list, roots of the
 * indexed class only if asked for.
 */
void
row_list_chunks(Relation rel, HeapTuple tuple, ChunkList *chunks,
				bool indexed_roots)
{
	TupleDesc	desc = RelationGetDescr(rel);
	Datum	   *values = palloc(desc->natts * sizeof(Datum));
	bool	   *isnull = palloc(desc->natts * sizeof(bool));
	ChunkStore	store;

	chunk_store_open(&store, rel->rd_rel->reltoastrelid, AccessShareLock);
	heap_deform_tuple(tuple, desc, values, isnull);
	for (int i = 0; i < desc->natts; i++)
	{
		TreePointer pointer;
		int			root = chunks->count;

		if (isnull[i] || TupleDescAttr(desc, i)->attlen != -1 ||
			!row_own_pointer(rel, values[i], &pointer))
			continue;
		if (!toaster_list(&store, &pointer, chunks))
			chunk_store_warn_left(&store);
		if (chunks->count > root && !indexed_roots &&
			address_is_indexed(pointer.address))
			chunks->places[root] = chunks->places[--chunks->count];
	}
	chunk_store_close(&store);
	pfree(values);
	pfree(isnull);
}

/* Delete the chunks of a row that was deleted. */
void
row_drop_chunks(Relation rel, const ChunkList *chunks)
{
	ChunkStore	store;

	if (chunks->count == 0)
		return;
	chunk_store_open(&store, rel->rd_rel->reltoastrelid, RowExclusiveLock);
	chunk_store_drop(&store, chunks);
	chunk_store_close(&store);
}

/* Kill the chunks of a speculative row that lost. */
void
row_kill_chunks(Relation rel, const ChunkList *chunks)
{
	ChunkStore	store;

	if (chunks->count == 0)
		return;
	chunk_store_open(&store, rel->rd_rel->reltoastrelid, RowExclusiveLock);
	for (int i = 0; i < chunks->count; i++)
		chunk_store_kill(&store, &chunks->places[i].tid);
	chunk_store_close(&store);
}

/* A flat copy of a tree in the current memory context; NULL if damaged. */
static struct varlena *
flatten(ChunkStore *store, const TreePointer *pointer)
{
	struct varlena *flat = palloc(VARHDRSZ + pointer->size);

	SET_VARSIZE(flat, VARHDRSZ + pointer->size);
	return toaster_fetch_slice(store, pointer, 0, pointer->size,
							   VARDATA(flat)) ? flat : NULL;
}

/*
 * Take a row apart with flat copies in place of its trees, in the current
 * memory context.  Returns false when a chunk is missing, as it may be in a
 * row version that is dead to everybody but not yet removed.
 */
bool
row_flatten(Relation rel, HeapTuple tuple, Datum *values, bool *isnull)
{
	TupleDesc	desc = RelationGetDescr(rel);
	ChunkStore	store;
	bool		ok = true;

	heap_deform_tuple(tuple, desc, values, isnull);
	if (!HeapTupleHasExternal(tuple))
		return true;
	chunk_store_open(&store, rel->rd_rel->reltoastrelid, AccessShareLock);
	for (int i = 0; i < desc->natts && ok; i++)
	{
		TreePointer pointer;

		if (isnull[i] || TupleDescAttr(desc, i)->attlen != -1 ||
			!row_own_pointer(rel, values[i], &pointer))
			continue;
		values[i] = PointerGetDatum(flatten(&store, &pointer));
		ok = DatumGetPointer(values[i]) != NULL;
	}
	chunk_store_close(&store);
	return ok;
}
