/*-------------------------------------------------------------------------
 *
 * heap_seam.c
 *	  Writing rows through heap without its own TOASTing.
 *
 * heap looks at every tuple that it is given and TOASTs it anew when it has
 * HEAP_HASEXTERNAL or is longer than TOAST_TUPLE_THRESHOLD; heap_delete()
 * deletes the chunks of what it finds.  Both would destroy our trees: heap
 * would fetch every pointer back, store the value in stock's format, and
 * give it a value id that looks like one of our addresses.
 *
 * heap leaves the tuples of a TOAST relation alone, and it tells a TOAST
 * relation by rd_rel->relkind.  So, for the duration of our own writes and
 * only for that, the relation's entry in the relcache says that it is one.
 *
 * Why that is safe
 *	1. The entry is this backend's own, and PG_FINALLY puts the kind back.
 *	2. Between the two heap's code runs and nothing else: no executor, no
 *	   trigger, no user code.  heap looks at relkind only to decide about
 *	   TOAST (and in assertions of GlobalVisTestFor() that allow it).
 *	3. A rebuild of the entry in the middle would restore the kind.  It takes
 *	   a lock on a relation to process invalidations; heap takes such locks
 *	   only for the bitmaps of indexed columns and, where it logs the old
 *	   values of a replica identity, for the TOAST relation.  Both are done
 *	   here, before.
 *	4. Afterwards it is checked that the mask is still there; if not, the
 *	   statement fails.
 *
 * Rejected: clearing HEAP_HASEXTERNAL on disk, since core trusts the flag
 * wherever it copies a physical tuple, and raw pointers leak into other
 * tables; slot callbacks that restore the flag, since the set of places to
 * cover is open; copying heap's functions.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "access/xlog.h"
#include "catalog/catalog.h"
#include "catalog/pg_class.h"
#include "utils/rel.h"

#include "heap_seam.h"

/*
 * Take every lock that heap would take under the mask.  Returns the TOAST
 * relation, opened, if heap may read it; as long as it is, its entry in the
 * relcache is not built anew, which would take other locks.
 */
static Relation
seam_prepare(Relation rel)
{
	Relation	toastrel = NULL;

	if (RelationIsLogicallyLogged(rel) &&
		OidIsValid(rel->rd_rel->reltoastrelid))
		toastrel = table_open(rel->rd_rel->reltoastrelid, AccessShareLock);
	/* last: what that lock lets in would have forgotten the bitmaps */
	bms_free(RelationGetIndexAttrBitmap(rel, INDEX_ATTR_BITMAP_KEY));
	return toastrel;
}

/* What seam_prepare() has returned is not needed any more. */
static void
seam_finish(Relation toastrel)
{
	if (toastrel != NULL)
		table_close(toastrel, NoLock);
}

/* Set the mask; returns the kind to put back. */
static char
seam_mask(Relation rel, char kind)
{
	char		saved = rel->rd_rel->relkind;

	rel->rd_rel->relkind = kind;
	return saved;
}

/* Fail when the mask did not last. */
static void
seam_check(Relation rel, char kind)
{
	if (rel->rd_rel->relkind != kind)
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("definition of relation \"%s\" changed during a write",
						RelationGetRelationName(rel)),
				 errhint("Retry the statement.")));
}

/*
 * heap_insert(), which takes no locks; the tuple is stored as it is given.
 */
void
heap_seam_insert(Relation rel, HeapTuple tuple, CommandId cid, int options,
				 BulkInsertState bistate)
{
	char		saved;

	saved = seam_mask(rel, RELKIND_TOASTVALUE);
	PG_TRY();
	{
		heap_insert(rel, tuple, cid, options, bistate);
		seam_check(rel, RELKIND_TOASTVALUE);
	}
	PG_FINALLY();
	{
		rel->rd_rel->relkind = saved;
	}
	PG_END_TRY();
}

/* heap_multi_insert(); the slots' tuples are stored as they are given. */
void
heap_seam_multi_insert(Relation rel, TupleTableSlot **slots, int count,
					   CommandId cid, int options, BulkInsertState bistate)
{
	Relation	opened;
	char		saved;

	opened = seam_prepare(rel);
	saved = seam_mask(rel, RELKIND_TOASTVALUE);
	PG_TRY();
	{
		heap_multi_insert(rel, slots, count, cid, options, bistate);
		seam_check(rel, RELKIND_TOASTVALUE);
	}
	PG_FINALLY();
	{
		rel->rd_rel->relkind = saved;
	}
	PG_END_TRY();
	seam_finish(opened);
}

/*
 * heap_update(), with the result in the form of the server's version; the
 * tuple is stored as it is given, and the old version's chunks stay.
 */
TM_Result
heap_seam_update(Relation rel, ItemPointer otid, HeapTuple tuple,
				 CommandId cid, Snapshot crosscheck, bool wait,
				 TM_FailureData *tmfd, LockTupleMode *lockmode,
				 CompatUpdateIndexes *update_indexes)
{
	Relation	opened;
	char		saved;
	volatile TM_Result result;

	opened = seam_prepare(rel);
	saved = seam_mask(rel, RELKIND_TOASTVALUE);
	PG_TRY();
	{
		result = compat_heap_update(rel, otid, tuple, cid, crosscheck, wait,
									tmfd, lockmode, update_indexes);
		seam_check(rel, RELKIND_TOASTVALUE);
	}
	PG_FINALLY();
	{
		rel->rd_rel->relkind = saved;
	}
	PG_END_TRY();
	seam_finish(opened);
	return result;
}

/* heap_delete(); the chunks of the row stay. */
TM_Result
heap_seam_delete(Relation rel, ItemPointer tid, CommandId cid,
				 Snapshot crosscheck, bool wait, TM_FailureData *tmfd,
				 bool changing_part)
{
	Relation	opened;
	char		saved;
	volatile TM_Result result;

	opened = seam_prepare(rel);
	saved = seam_mask(rel, RELKIND_TOASTVALUE);
	PG_TRY();
	{
		result = heap_delete(rel, tid, cid, crosscheck, wait, tmfd,
							 changing_part);
		seam_check(rel, RELKIND_TOASTVALUE);
	}
	PG_FINALLY();
	{
		rel->rd_rel->relkind = saved;
	}
	PG_END_TRY();
	seam_finish(opened);
	return result;
}

/* rewrite_heap_tuple() into new_rel; new_tuple is stored as it is given. */
void
heap_seam_rewrite(RewriteState state, Relation new_rel, HeapTuple old_tuple,
				  HeapTuple new_tuple)
{
	char		saved = seam_mask(new_rel, RELKIND_TOASTVALUE);

	PG_TRY();
	{
		rewrite_heap_tuple(state, old_tuple, new_tuple);
		seam_check(new_rel, RELKIND_TOASTVALUE);
	}
	PG_FINALLY();
	{
		new_rel->rd_rel->relkind = saved;
	}
	PG_END_TRY();
}

/* end_heap_rewrite(), which writes tuples that had to wait. */
void
heap_seam_end_rewrite(RewriteState state, Relation new_rel)
{
	char		saved = seam_mask(new_rel, RELKIND_TOASTVALUE);

	PG_TRY();
	{
		end_heap_rewrite(state);
		seam_check(new_rel, RELKIND_TOASTVALUE);
	}
	PG_FINALLY();
	{
		new_rel->rd_rel->relkind = saved;
	}
	PG_END_TRY();
}

/*
 * heap_update() of a chunk whose new version fits in its page.
 *
 * With wal_level = logical heap would log the whole tuple for decoding,
 * which ignores updates of TOAST relations.  A foreign table is what heap
 * takes for not logically logged; it looks at the kind for nothing else as
 * long as the tuple stays in its page.
 */
TM_Result
heap_seam_update_node(Relation toastrel, ItemPointer otid, HeapTuple tuple,
					  CommandId cid)
{
	Relation	opened;
	char		saved;
	char		mask = RelationIsLogicallyLogged(toastrel) ?
		RELKIND_FOREIGN_TABLE : RELKIND_TOASTVALUE;
	TM_FailureData tmfd;
	LockTupleMode lockmode;
	CompatUpdateIndexes update_indexes;
	volatile TM_Result result;

	opened = seam_prepare(toastrel);
	saved = seam_mask(toastrel, mask);
	PG_TRY();
	{
		result = compat_heap_update(toastrel, otid, tuple, cid,
									InvalidSnapshot, true, &tmfd, &lockmode,
									&update_indexes);
		seam_check(toastrel, mask);
	}
	PG_FINALLY();
	{
		toastrel->rd_rel->relkind = saved;
	}
	PG_END_TRY();
	seam_finish(opened);
	return result;
}

/*
 * heap_page_prune_opt() on a pinned page of chunks, before a node in it is
 * replaced.  heap prunes a page that is nearly full; a page of small roots
 * would run out of line pointers first.  A low fillfactor makes heap look at
 * the page as soon as anything in it can be pruned.
 */
void
heap_seam_prune(Relation toastrel, Buffer buffer)
{
	bytea	   *saved = toastrel->rd_options;
	StdRdOptions eager;

	memset(&eager, 0, sizeof(eager));
	SET_VARSIZE(&eager, sizeof(eager));
	eager.fillfactor = HEAP_MIN_FILLFACTOR;
	toastrel->rd_options = (bytea *) &eager;
	PG_TRY();
	{
		heap_page_prune_opt(toastrel, buffer);
	}
	PG_FINALLY();
	{
		toastrel->rd_options = saved;
	}
	PG_END_TRY();
}
