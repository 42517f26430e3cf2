/*-------------------------------------------------------------------------
 *
 * toast_am.c
 *	  toaster_chunks, the access method of our TOAST relations.
 *
 * heap, with these callbacks replaced:
 *
 *	relation_fetch_toast_slice	rebuilds a value, or a slice, from its tree:
 *								the one door through which all of PostgreSQL
 *								detoasts our values
 *	relation_copy_for_cluster	refuses: a rewrite of the TOAST relation alone
 *								would move chunks that rows refer to by place
 *	index_build_range_scan,		yield only roots of the indexed class
 *	index_validate_scan
 *	relation_set_new_file		refuses relations that are not TOAST relations
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/table.h"
#include "access/tableam.h"
#include "catalog/catalog.h"
#include "fmgr.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "chunk_store.h"
#include "compat.h"
#include "document.h"
#include "edit.h"
#include "heap_index_build.h"
#include "stats.h"
#include "toast_am.h"
#include "toaster.h"

static TableAmRoutine chunks_routine;

/* Whether relations are TOAST relations of ours, as far as is known. */
#define KNOWN_RELATIONS		64

typedef struct KnownRelation
{
	Oid			relid;
	bool		ours;
} KnownRelation;

static KnownRelation known_relations[KNOWN_RELATIONS];

/*
 * Fill target with a slice of a value that was edited in memory.  Slices of
 * documents are rare: jsonb has no use for them.
 */
static void
fetch_edited(const Edit *edit, uint32 offset, uint32 length, char *target)
{
	uint32		size = edit->pointer.size;
	char	   *flat;

	stats_add(STATS_EDITS_FLATTENED, 1);
	if (edit->kind != NODE_KIND_JSON ||
		(offset == 0 && length == size &&
		 (uintptr_t) target % sizeof(uint32) == 0))
	{
		document_fetch_edit(edit, offset, length, target);
		return;
	}
	flat = MemoryContextAllocHuge(CurrentMemoryContext, size);
	document_fetch_edit(edit, 0, size, flat);
	memcpy(target, flat + offset, length);
	pfree(flat);
}

/*
 * Fill result with slice_length bytes, from slice_offset on, of the value
 * whose pointer has that address and size.
 */
static void
chunks_fetch_slice(Relation toastrel, Oid address, int32 size,
				   int32 slice_offset, int32 slice_length,
				   struct varlena *result)
{
	TreePointer pointer = {RelationGetRelid(toastrel), address, size, 0};
	ChunkStore	store;

	if (address_is_in_memory(address))
	{
		fetch_edited(edit_get(address), slice_offset, slice_length,
					 VARDATA(result));
		return;
	}
	chunk_store_use(&store, toastrel);
	stats_add(slice_length == size ? STATS_DOCUMENTS_FLATTENED :
			  STATS_SLICES_FETCHED, 1);
	if (!toaster_fetch_slice(&store, &pointer, slice_offset, slice_length,
							 VARDATA(result)))
		chunk_store_raise(&store);
}

static void
chunks_copy_for_cluster(Relation old_rel, Relation new_rel,
						Relation old_index, bool use_sort,
						TransactionId oldest_xmin,
						TransactionId *xid_cutoff,
						MultiXactId *multi_cutoff, double *num_tuples,
						double *tups_vacuumed, double *tups_recently_dead)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("cannot rewrite TOAST relation \"%s\" alone",
					RelationGetRelationName(old_rel)),
			 errdetail("The rows of its table refer to chunks by their "
					   "place."),
			 errhint("Use VACUUM FULL or CLUSTER on the table itself.")));
}

static void
chunks_set_new_file(Relation rel, const CompatRelFile *file,
					char persistence, TransactionId *freeze_xid,
					MultiXactId *min_multi)
{
	/* a rewrite of a TOAST relation makes a table in its schema first */
	if (!IsToastNamespace(RelationGetNamespace(rel)))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("access method \"%s\" is only for TOAST relations",
						TOAST_AM_NAME),
				 errhint("Create the table with USING toaster.")));
	GetHeapamTableAmRoutine()->compat_set_new_file(rel, file, persistence,
												   freeze_xid, min_multi);
}

/* The routine of toaster_chunks, filled in at the first call. */
const TableAmRoutine *
toast_am_routine(void)
{
	if (chunks_routine.type != T_TableAmRoutine)
	{
		chunks_routine = *GetHeapamTableAmRoutine();
		chunks_routine.relation_fetch_toast_slice = chunks_fetch_slice;
		chunks_routine.relation_copy_for_cluster = chunks_copy_for_cluster;
		chunks_routine.index_build_range_scan = heap_index_build_chunks;
		chunks_routine.index_validate_scan = heap_index_validate_chunks;
		chunks_routine.compat_set_new_file = chunks_set_new_file;
	}
	return &chunks_routine;
}

/* Does a TOAST pointer name a relation of ours? */
static bool
is_ours(const TreePointer *pointer)
{
	Oid			relid = pointer->toastrelid;
	KnownRelation *known = &known_relations[relid % KNOWN_RELATIONS];
	Relation	rel;

	if (known->relid == relid)
		return known->ours;
	rel = table_open(relid, AccessShareLock);
	known->relid = relid;
	known->ours = rel->rd_tableam == toast_am_routine();
	table_close(rel, AccessShareLock);
	return known->ours;
}

/*
 * Is the datum, a varlena value, a TOAST pointer into a relation of ours?  If
 * so, sets *pointer to it; a value edited in memory has such a pointer, too.
 */
bool
toast_am_pointer(Datum datum, TreePointer *pointer)
{
	struct varlena *value = (struct varlena *) DatumGetPointer(datum);

	if (!VARATT_IS_EXTERNAL_ONDISK(value))
		return false;
	pointer_read(value, pointer);
	return is_ours(pointer);
}

static void
forget_relation(Datum arg, Oid relid)
{
	if (OidIsValid(relid))
		known_relations[relid % KNOWN_RELATIONS].relid = InvalidOid;
	else
		memset(known_relations, 0, sizeof(known_relations));
}

/* Called once, when the library is loaded. */
void
toast_am_init(void)
{
	CacheRegisterRelcacheCallback(forget_relation, (Datum) 0);
}

PG_FUNCTION_INFO_V1(pg_toaster_chunks_handler);

Datum
pg_toaster_chunks_handler(PG_FUNCTION_ARGS)
{
	PG_RETURN_POINTER(toast_am_routine());
}
