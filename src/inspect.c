/*-------------------------------------------------------------------------
 *
 * inspect.c
 *	  SQL functions that look into trees: tree, storage, column_size.
 *
 * They show sizes and places, never what a value holds, but that a row
 * exists: hence SELECT on the table is needed, and row-level security that
 * applies to the user ends in an error.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/tableam.h"
#include "catalog/objectaddress.h"
#include "catalog/pg_class.h"
#include "commands/defrem.h"
#include "executor/tuptable.h"
#include "fmgr.h"
#include "funcapi.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"

#include "chunk_store.h"
#include "codec.h"
#include "inspect.h"
#include "pointer.h"
#include "table_am.h"
#include "toast_am.h"
#include "toaster.h"

/* Complain that the relation is not a table of ours. */
static void
raise_not_ours(Relation rel)
{
	char		kind = rel->rd_rel->relkind;
	bool		is_table = kind == RELKIND_RELATION || kind == RELKIND_MATVIEW;
	char	   *am = get_am_name(rel->rd_rel->relam);

	ereport(ERROR,
			(errcode(ERRCODE_WRONG_OBJECT_TYPE),
			 errmsg("\"%s\" is not a table that uses access method \"toaster\"",
					RelationGetRelationName(rel)),
			 is_table && am ? errdetail("It uses access method \"%s\".", am) :
			 errdetail_relkind_not_supported(kind),
			 kind == RELKIND_PARTITIONED_TABLE ?
			 errhint("Name its partitions, one at a time.") : 0));
}

/*
 * Open a table of ours with AccessShareLock.  The caller checks what the
 * user may see of it.
 */
Relation
inspect_open_table(Oid relid)
{
	Relation	rel = try_relation_open(relid, AccessShareLock);

	if (rel == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", relid)));
	if (rel->rd_tableam != table_am_routine())
		raise_not_ours(rel);
	return rel;
}

/*
 * Fail unless the user may read the whole table; or one column of all rows,
 * if attnum is that of a column.
 */
void
inspect_check_select(Relation rel, AttrNumber attnum)
{
	Oid			relid = RelationGetRelid(rel);

	if (pg_class_aclcheck(relid, GetUserId(), ACL_SELECT) != ACLCHECK_OK &&
		(attnum <= 0 ||
		 pg_attribute_aclcheck(relid, attnum, GetUserId(),
							   ACL_SELECT) != ACLCHECK_OK))
		aclcheck_error(ACLCHECK_NO_PRIV,
					   get_relkind_objtype(rel->rd_rel->relkind),
					   RelationGetRelationName(rel));
	if (check_enable_rls(relid, InvalidOid, true) == RLS_ENABLED)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("row-level security hides rows of table \"%s\"",
						RelationGetRelationName(rel))));
}

/* Is the value a pointer to a tree of the table? */
static bool
own_tree(Relation rel, Datum value, TreePointer *pointer)
{
	const struct varlena *datum;

	datum = (const struct varlena *) DatumGetPointer(value);
	if (!VARATT_IS_EXTERNAL_ONDISK(datum))
		return false;
	pointer_read(datum, pointer);
	return pointer->toastrelid == rel->rd_rel->reltoastrelid;
}

/* Number of the column of that name, which must be one of the user's. */
static AttrNumber
find_column(Relation rel, const char *attname)
{
	AttrNumber	attnum = get_attnum(RelationGetRelid(rel), attname);

	inspect_check_select(rel, attnum);
	if (attnum == InvalidAttrNumber)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("column \"%s\" of relation \"%s\" does not exist",
						attname, RelationGetRelationName(rel))));
	if (attnum < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_COLUMN_REFERENCE),
				 errmsg("column \"%s\" of relation \"%s\" is a system column",
						attname, RelationGetRelationName(rel))));
	return attnum;
}

/* Fetch the row at tid that the statement's snapshot sees into a new slot. */
static TupleTableSlot *
fetch_row(Relation rel, ItemPointer tid)
{
	TupleTableSlot *slot = table_slot_create(rel, NULL);

	if (!ItemPointerIsValid(tid) ||
		ItemPointerGetBlockNumber(tid) >= RelationGetNumberOfBlocks(rel) ||
		!table_tuple_fetch_row_version(rel, tid, GetActiveSnapshot(), slot))
		ereport(ERROR,
				(errcode(ERRCODE_NO_DATA_FOUND),
				 errmsg("there is no row (%u,%u) in table \"%s\"",
						ItemPointerGetBlockNumberNoCheck(tid),
						ItemPointerGetOffsetNumberNoCheck(tid),
						RelationGetRelationName(rel)),
				 errdetail("It was never there, or the snapshot of this "
						   "statement does not see it.")));
	return slot;
}

/* Return a node as a row of toaster.tree(). */
static void
tree_visitor(const NodeVisit *visit, void *arg)
{
	ReturnSetInfo *result = (ReturnSetInfo *) arg;
	ItemPointerData tid = visit->tid;
	Datum		values[7];
	bool		nulls[7] = {false};

	values[0] = Int32GetDatum(visit->level);
	values[1] = CStringGetTextDatum(visit->kind);
	values[2] = PointerGetDatum(&tid);
	values[3] = Int32GetDatum(visit->entries);
	values[4] = Int64GetDatum((int64) visit->raw);
	values[5] = Int64GetDatum((int64) visit->stored);
	if (visit->level == 0)
		values[6] = CStringGetTextDatum(codec_name(visit->codec));
	else
		nulls[6] = true;
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

PG_FUNCTION_INFO_V1(pg_toaster_tree);

/*
 * toaster.tree(rel, ctid, attname): a row per node of one value, parents
 * before their children; none when the value is not a tree.
 */
Datum
pg_toaster_tree(PG_FUNCTION_ARGS)
{
	Oid			relid = PG_GETARG_OID(0);
	ItemPointer tid = (ItemPointer) PG_GETARG_POINTER(1);
	Name		attname = PG_GETARG_NAME(2);
	Relation	rel;
	AttrNumber	attnum;
	TupleTableSlot *slot;
	Datum		value;
	bool		isnull;
	TreePointer pointer;

	InitMaterializedSRF(fcinfo, 0);
	rel = inspect_open_table(relid);
	attnum = find_column(rel, NameStr(*attname));
	slot = fetch_row(rel, tid);
	value = slot_getattr(slot, attnum, &isnull);
	if (!isnull && TupleDescAttr(RelationGetDescr(rel), attnum - 1)->attlen ==
		-1 && own_tree(rel, value, &pointer))
	{
		ChunkStore	store;

		chunk_store_open(&store, pointer.toastrelid, AccessShareLock);
		if (!toaster_walk(&store, &pointer, tree_visitor, fcinfo->resultinfo))
			chunk_store_raise(&store);
		chunk_store_close(&store);
	}
	ExecDropSingleTupleTableSlot(slot);
	relation_close(rel, AccessShareLock);
	return (Datum) 0;
}

/* What toaster.storage() says about a column. */
typedef struct ColumnStorage
{
	int64		values;
	int64		chunks;
	int			depth;			/* levels of the deepest tree */
	int64		raw;
	int64		stored;
	bool		codecs[CODEC_COUNT];	/* of data nodes */
} ColumnStorage;

static void
storage_visitor(const NodeVisit *visit, void *arg)
{
	ColumnStorage *column = (ColumnStorage *) arg;

	column->chunks++;
	column->stored += visit->stored;
	column->depth = Max(column->depth, visit->level + 1);
	if (visit->level == 0)
		column->codecs[visit->codec] = true;
}

/* Add the trees of a row to what is known of their columns. */
static void
storage_add_row(ChunkStore *store, Relation rel, TupleTableSlot *slot,
				ColumnStorage *columns)
{
	TupleDesc	desc = RelationGetDescr(rel);

	slot_getallattrs(slot);
	for (int i = 0; i < desc->natts; i++)
	{
		TreePointer pointer;

		if (slot->tts_isnull[i] || TupleDescAttr(desc, i)->attlen != -1 ||
			!own_tree(rel, slot->tts_values[i], &pointer))
			continue;
		if (!toaster_walk(store, &pointer, storage_visitor, &columns[i]))
			chunk_store_raise(store);
		columns[i].values++;
		columns[i].raw += pointer.size;
	}
}

/* Read all rows of a table that has a TOAST relation. */
static void
storage_scan(Relation rel, ColumnStorage *columns)
{
	MemoryContext row_context = AllocSetContextCreate(CurrentMemoryContext,
													  "toaster storage row",
													  ALLOCSET_DEFAULT_SIZES);
	TupleTableSlot *slot = table_slot_create(rel, NULL);
	TableScanDesc scan = table_beginscan(rel, GetActiveSnapshot(), 0, NULL);
	ChunkStore	store;

	chunk_store_open(&store, rel->rd_rel->reltoastrelid, AccessShareLock);
	while (table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		MemoryContext caller = MemoryContextSwitchTo(row_context);

		CHECK_FOR_INTERRUPTS();
		storage_add_row(&store, rel, slot, columns);
		MemoryContextSwitchTo(caller);
		MemoryContextReset(row_context);
	}
	chunk_store_close(&store);
	table_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
	MemoryContextDelete(row_context);
}

/* Return what is known of a column as a row of toaster.storage(). */
static void
storage_put(ReturnSetInfo *result, Name attname, const ColumnStorage *column)
{
	StringInfoData codecs;
	Datum		values[7];
	bool		nulls[7] = {false};

	initStringInfo(&codecs);
	for (int codec = 0; codec < CODEC_COUNT; codec++)
	{
		if (column->codecs[codec])
			appendStringInfo(&codecs, "%s%s", codecs.len > 0 ? "," : "",
							 codec_name(codec));
	}
	values[0] = NameGetDatum(attname);
	values[1] = Int64GetDatum(column->values);
	values[2] = Int64GetDatum(column->chunks);
	values[3] = Int32GetDatum(column->depth);
	values[4] = Int64GetDatum(column->raw);
	values[5] = Int64GetDatum(column->stored);
	values[6] = CStringGetTextDatum(codecs.data);
	nulls[6] = codecs.len == 0;
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

PG_FUNCTION_INFO_V1(pg_toaster_storage);

/*
 * toaster.storage(rel): a row per column of a type that can be a tree, with
 * sums over the trees of all rows that the statement's snapshot sees.
 */
Datum
pg_toaster_storage(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	Relation	rel;
	TupleDesc	desc;
	ColumnStorage *columns;

	InitMaterializedSRF(fcinfo, 0);
	rel = inspect_open_table(PG_GETARG_OID(0));
	inspect_check_select(rel, InvalidAttrNumber);
	desc = RelationGetDescr(rel);
	columns = palloc0(Max(1, desc->natts) * sizeof(ColumnStorage));
	if (OidIsValid(rel->rd_rel->reltoastrelid))
		storage_scan(rel, columns);
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute attr = TupleDescAttr(desc, i);

		if (attr->attlen == -1 && !attr->attisdropped)
			storage_put(result, &attr->attname, &columns[i]);
	}
	relation_close(rel, AccessShareLock);
	return (Datum) 0;
}

static void
size_visitor(const NodeVisit *visit, void *arg)
{
	*(int64 *) arg += visit->stored;
}

/* Set *size to the bytes of a tree's nodes; false if value is not a tree. */
static bool
tree_size(const struct varlena *value, int64 *size)
{
	TreePointer pointer;
	Relation	toastrel;
	ChunkStore	store;
	bool		ours;

	if (!VARATT_IS_EXTERNAL_ONDISK(value))
		return false;
	pointer_read(value, &pointer);
	toastrel = try_table_open(pointer.toastrelid, AccessShareLock);
	if (toastrel == NULL)
		return false;
	ours = toastrel->rd_tableam == toast_am_routine();
	if (ours)
	{
		chunk_store_use(&store, toastrel);
		*size = 0;
		if (!toaster_walk(&store, &pointer, size_visitor, size))
			chunk_store_raise(&store);
		chunk_store_close(&store);
	}
	table_close(toastrel, NoLock);
	return ours;
}

PG_FUNCTION_INFO_V1(pg_toaster_column_size);

/*
 * toaster.column_size(value): for a tree the bytes of its nodes, without
 * what heap adds for each row and page; for others as pg_column_size().
 */
Datum
pg_toaster_column_size(PG_FUNCTION_ARGS)
{
	Datum		value = PG_GETARG_DATUM(0);
	int16	   *typlen = (int16 *) fcinfo->flinfo->fn_extra;
	int64		size;

	if (typlen == NULL)
	{
		Oid			argtype = get_fn_expr_argtype(fcinfo->flinfo, 0);

		typlen = MemoryContextAlloc(fcinfo->flinfo->fn_mcxt, sizeof(int16));
		*typlen = get_typlen(argtype);
		if (*typlen == 0)
			elog(ERROR, "cache lookup failed for type %u", argtype);
		fcinfo->flinfo->fn_extra = typlen;
	}
	if (*typlen == -2)
		size = strlen(DatumGetCString(value)) + 1;
	else if (*typlen != -1)
		size = *typlen;
	else if (!tree_size((const struct varlena *) DatumGetPointer(value),
						&size))
		size = toast_datum_size(value);
	PG_RETURN_INT64(size);
}
