/*-------------------------------------------------------------------------
 *
 * row.c
 *	  The per-tuple policy: which values of a row become trees.
 *
 * A row is planned, then stored, then finished:
 *
 *	row_plan()			decides, as heap_toast_insert_or_update() would, which
 *						values stay, which are compressed in the row and which
 *						become trees; reads, but writes nothing
 *	row_plan_store()	writes the nodes and forms the tuple with pointers
 *	...					the caller stores the tuple through heap_seam.c
 *	row_plan_finish()	deletes the chunks that the new version does not use
 *
 * An UPDATE locks the old row between the first and the second, so that all
 * changes of a tree happen under its row's lock.
 *
 * A value becomes a tree just when stock would have moved it out of the row
 * (or when pg_toaster.min_tree_size demands it), and what stays in the row
 * is stored as stock stores it.  Where the old row has a tree in the same
 * column, the new value is compared with it and only what differs written;
 * the same pointer means the same value, at no cost.  An edit of that tree
 * (edit.h) is written as such.
 *
 * Everything that a plan needs lives in a memory context of its own, the
 * formed tuple included.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/heaptoast.h"
#include "access/htup_details.h"
#include "access/sysattr.h"
#include "access/tableam.h"
#include "access/toast_helper.h"
#include "access/toast_internals.h"
#include "miscadmin.h"
#include "utils/datum.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "chunk_store.h"
#include "codec.h"
#include "logical.h"
#include "pointer.h"
#include "rope.h"
#include "row.h"
#include "row_compress.h"
#include "row_edit.h"
#include "settings.h"
#include "stats.h"
#include "toaster.h"

/* Shorter values are never moved out by pg_toaster.min_tree_size. */
#define SMALLEST_TREE	32

/* First block of a plan's context: a row of 8 kB, flat and compressed. */
#define CONTEXT_SIZE	32768

/* A plan's context that is not in use, or NULL. */
static MemoryContext spare_context = NULL;

typedef struct RowColumn
{
	struct varlena *value;		/* what becomes a tree; NULL: none does */
	struct varlena *packed;		/* value compressed in stock's format */
	struct varlena *old;		/* pointer in the old row to replace or drop */
	const Edit *edit;			/* what that becomes; NULL: none of ours */
	FlatValue	flat;			/* value, once it is needed */
} RowColumn;

struct RowPlan
{
	Relation	rel;
	MemoryContext context;
	ToastTupleContext ttc;
	Datum	   *values;			/* of the new tuple */
	bool	   *isnull;
	Datum	   *old_values;		/* NULL for an INSERT */
	bool	   *old_isnull;
	bool		writes;			/* nodes are to be written or deleted */
	int			options;		/* TABLE_INSERT_xxx of the statement */
	ChunkStore	store;
	bool		store_open;
	ChunkList	dropped;
	RowColumn	columns[FLEXIBLE_ARRAY_MEMBER];
};

/* A pointer of the right size, for computing tuple sizes. */
static const struct
{
	uint8		header;
	uint8		tag;
	char		data[sizeof(struct varatt_external)];
}			placeholder = {
#ifdef WORDS_BIGENDIAN
	0x80,
#else
	0x01,
#endif
	VARTAG_ONDISK, {0}
};

/*
 * Is the tuple more than heap may store as it is?  If neither a new tuple
 * nor its old version is, there is nothing for us to do.
 */
bool
row_needs_plan(Relation rel, HeapTuple tuple)
{
	if (!OidIsValid(rel->rd_rel->reltoastrelid))
		return false;
	return HeapTupleHasExternal(tuple) ||
		tuple->t_len > TOAST_TUPLE_THRESHOLD ||
		(settings_min_tree_size > 0 && HeapTupleHasVarWidth(tuple));
}

/* A context for a plan, which may be the one that the last plan has left. */
static MemoryContext
context_take(void)
{
	MemoryContext context = spare_context;

	if (context == NULL)
		return AllocSetContextCreate(CurrentMemoryContext, "toaster row",
									 CONTEXT_SIZE, CONTEXT_SIZE,
									 ALLOCSET_DEFAULT_MAXSIZE);
	spare_context = NULL;
	MemoryContextSetParent(context, CurrentMemoryContext);
	return context;
}

/* Free all in a plan's context, and keep it for the next row. */
static void
context_leave(MemoryContext context)
{
	if (spare_context != NULL)
	{
		MemoryContextDelete(context);
		return;
	}
	MemoryContextReset(context);
	MemoryContextSetParent(context, TopMemoryContext);
	spare_context = context;
}

/* Space for the plan of a row with that many columns. */
static RowPlan *
plan_create(Relation rel)
{
	int			natts = RelationGetNumberOfAttributes(rel);
	MemoryContext context = context_take();
	MemoryContext caller = MemoryContextSwitchTo(context);
	RowPlan    *plan = palloc0(offsetof(RowPlan, columns) +
							   natts * sizeof(RowColumn));

	/* one piece of memory for three arrays, for this is done for each row */
	plan->values = palloc(natts * (sizeof(Datum) + sizeof(ToastAttrInfo) +
								   sizeof(bool)));
	plan->ttc.ttc_attr = (ToastAttrInfo *) (plan->values + natts);
	plan->isnull = (bool *) (plan->ttc.ttc_attr + natts);
	plan->rel = rel;
	plan->context = context;
	plan->ttc.ttc_rel = rel;
	plan->ttc.ttc_values = plan->values;
	plan->ttc.ttc_isnull = plan->isnull;
	chunk_list_init(&plan->dropped);
	MemoryContextSwitchTo(caller);
	return plan;
}

/* The size of a datum's flat form, without header. */
static Size
flat_size(Datum datum)
{
	return toast_raw_datum_size(datum) - VARHDRSZ;
}

/* The value of the column becomes a tree. */
static void
plan_tree(RowPlan *plan, int i)
{
	ToastAttrInfo *attr = &plan->ttc.ttc_attr[i];

	if (plan->columns[i].value == NULL)
		plan->columns[i].value =
			(struct varlena *) DatumGetPointer(plan->values[i]);
	plan->values[i] = PointerGetDatum(&placeholder);
	attr->tai_colflags |= TOASTCOL_IGNORE;
	plan->writes = true;
}

/* The flat form of a column that becomes a tree. */
static FlatValue *
column_flat(RowColumn *column)
{
	struct varlena *value = column->value;
	FlatValue  *flat = &column->flat;

	if (flat->data == NULL)
	{
		if (VARATT_IS_COMPRESSED(value))
		{
			column->packed = value;
			value = column->value = detoast_attr(value);
		}
		flat_value_init(flat, VARDATA_ANY(value), VARSIZE_ANY_EXHDR(value));
	}
	/* the value may have been looked at before it was compressed */
	if (column->packed != NULL)
	{
		flat->packed = (char *) column->packed + VARHDRSZ_COMPRESSED;
		flat->packed_size = VARSIZE(column->packed) - VARHDRSZ_COMPRESSED;
		flat->packed_codec = TOAST_COMPRESS_METHOD(column->packed) ==
			TOAST_LZ4_COMPRESSION_ID ? CODEC_LZ4 : CODEC_PGLZ;
	}
	return flat;
}

/* The other form of a long value must be that much above the row's limit. */
#define FORM_MARGIN(limit)	((limit) + (limit) / 4)

/*
 * Is the value sure not to fit in the row, judging by what it would be stored
 * as?  That form is compressed but once then, and the flat form not at all.
 */
static bool
exceeds_row(RowPlan *plan, int i, Size limit)
{
	Form_pg_attribute attr = TupleDescAttr(RelationGetDescr(plan->rel), i);
	const Toaster *toaster = toaster_for_type(attr->atttypid);
	RowColumn  *column = &plan->columns[i];

	if (toaster->form_exceeds == NULL ||
		flat_size(plan->values[i]) <= 4 * limit)
		return false;
	column->value = (struct varlena *) DatumGetPointer(plan->values[i]);
	return toaster->form_exceeds(column_flat(column), row_column_codec(attr),
								 FORM_MARGIN(limit));
}

/*
 * Try to compress the value in the row; remembers the value as it was, and
 * marks it when compression does not help.
 */
static void
plan_compress(RowPlan *plan, int i, Size limit)
{
	ToastAttrInfo *attr = &plan->ttc.ttc_attr[i];
	Datum		packed = PointerGetDatum(NULL);

	if (!exceeds_row(plan, i, limit))
		packed = row_compress(TupleDescAttr(RelationGetDescr(plan->rel), i),
							  plan->values[i], attr->tai_compression, limit);
	if (DatumGetPointer(packed) == NULL)
	{
		attr->tai_colflags |= TOASTCOL_INCOMPRESSIBLE;
		return;
	}
	plan->columns[i].value = (struct varlena *)
		DatumGetPointer(plan->values[i]);
	plan->columns[i].packed = (struct varlena *) DatumGetPointer(packed);
	plan->values[i] = packed;
	attr->tai_size = VARSIZE(DatumGetPointer(packed));
}

static Size
data_size(RowPlan *plan)
{
	return heap_compute_data_size(RelationGetDescr(plan->rel), plan->values,
								  plan->isnull);
}

/* Move out what pg_toaster.min_tree_size demands. */
static void
plan_forced(RowPlan *plan)
{
	TupleDesc	desc = RelationGetDescr(plan->rel);
	Size		minimum = Max(settings_min_tree_size, SMALLEST_TREE);

	if (settings_min_tree_size == 0)
		return;
	for (int i = 0; i < desc->natts; i++)
	{
		if ((plan->ttc.ttc_attr[i].tai_colflags & TOASTCOL_IGNORE) == 0 &&
			flat_size(plan->values[i]) >= minimum)
			plan_tree(plan, i);
	}
}

/*
 * Compress, and then move out, values of the one kind of storage (MAIN or
 * the others) until the data takes at most limit bytes.
 */
static void
plan_extended(RowPlan *plan, Size limit)
{
	int			i;

	while (data_size(plan) > limit &&
		   (i = toast_tuple_find_biggest_attribute(&plan->ttc, true,
												   false)) >= 0)
	{
		ToastAttrInfo *attr = &plan->ttc.ttc_attr[i];

		if (TupleDescAttr(RelationGetDescr(plan->rel), i)->attstorage ==
			TYPSTORAGE_EXTENDED)
			plan_compress(plan, i, limit);
		else
			attr->tai_colflags |= TOASTCOL_INCOMPRESSIBLE;
		if (attr->tai_size > limit)
			plan_tree(plan, i);
	}
	while (data_size(plan) > limit &&
		   (i = toast_tuple_find_biggest_attribute(&plan->ttc, false,
												   false)) >= 0)
		plan_tree(plan, i);
}

static void
plan_main(RowPlan *plan, Size limit, Size main_limit)
{
	int			i;

	while (data_size(plan) > limit &&
		   (i = toast_tuple_find_biggest_attribute(&plan->ttc, true,
												   true)) >= 0)
		plan_compress(plan, i, main_limit);
	while (data_size(plan) > main_limit &&
		   (i = toast_tuple_find_biggest_attribute(&plan->ttc, false,
												   true)) >= 0)
		plan_tree(plan, i);
}

/* Stock's rounds: EXTENDED and EXTERNAL first, MAIN if that is not enough. */
static void
plan_rounds(RowPlan *plan)
{
	Size		header = SizeofHeapTupleHeader;
	Size		target = RelationGetToastTupleTarget(plan->rel,
													 TOAST_TUPLE_TARGET);

	if ((plan->ttc.ttc_flags & TOAST_HAS_NULLS) != 0)
		header += BITMAPLEN(RelationGetNumberOfAttributes(plan->rel));
	header = MAXALIGN(header);
	plan_extended(plan, target - header);
	plan_main(plan, target - header, TOAST_TUPLE_TARGET_MAIN - header);
}

/* Open the TOAST relation, once, for reading or writing. */
static ChunkStore *
plan_store(RowPlan *plan, LOCKMODE lockmode)
{
	if (plan->store_open && lockmode != plan->store.lockmode)
	{
		chunk_store_close(&plan->store);
		plan->store_open = false;
	}
	if (!plan->store_open)
		chunk_store_open(&plan->store, plan->rel->rd_rel->reltoastrelid,
						 lockmode);
	plan->store_open = true;
	return &plan->store;
}

/* Is the datum a pointer into the TOAST relation of rel? */
bool
row_own_pointer(Relation rel, Datum datum, TreePointer *pointer)
{
	struct varlena *value = (struct varlena *) DatumGetPointer(datum);

	if (!VARATT_IS_EXTERNAL_ONDISK(value))
		return false;
	pointer_read(value, pointer);
	return pointer->toastrelid == rel->rd_rel->reltoastrelid;
}

/* The edit that a new value is, if it is one of the column's old value. */
static const Edit *
column_edit(RowPlan *plan, int i)
{
	TreePointer old;
	const Edit *edit;

	if (plan->isnull[i] || plan->old_isnull[i])
		return NULL;
	edit = row_edit_of(TupleDescAttr(RelationGetDescr(plan->rel), i),
				   plan->values[i]);
	if (edit == NULL ||
		!row_own_pointer(plan->rel, plan->old_values[i], &old) ||
		old.toastrelid != edit->origin.toastrelid ||
		old.address != edit->origin.address || old.size != edit->origin.size)
		return NULL;
	return edit;
}

/*
 * Find the columns whose old value was edited.  What need not be a tree is
 * made flat; the others pass for unchanged until they are stored.
 */
static void
plan_edits(RowPlan *plan)
{
	TupleDesc	desc = RelationGetDescr(plan->rel);
	Size		least = settings_min_tree_size > 0 ?
		Max(settings_min_tree_size, SMALLEST_TREE) :
		RelationGetToastTupleTarget(plan->rel, TOAST_TUPLE_TARGET);

	if (!edit_exists())
		return;
	for (int i = 0; i < desc->natts; i++)
	{
		const Edit *edit = column_edit(plan, i);

		if (edit == NULL)
			continue;
		if (edit->pointer.size < least ||
			TupleDescAttr(desc, i)->attstorage == TYPSTORAGE_PLAIN)
			plan->values[i] = row_edit_flat(edit);
		else
		{
			plan->values[i] = plan->old_values[i];
			plan->columns[i].edit = edit;
		}
	}
}

/*
 * Find the trees of the old row, and keep those whose value came back flat
 * but unchanged.
 */
static void
plan_compare(RowPlan *plan)
{
	TupleDesc	desc = RelationGetDescr(plan->rel);

	plan->writes = false;
	for (int i = 0; i < desc->natts; i++)
	{
		RowColumn  *column = &plan->columns[i];
		bool		tree = plan->values[i] == PointerGetDatum(&placeholder);
		bool		equal = false;
		TreePointer pointer;

		if (plan->old_values != NULL &&
			(plan->ttc.ttc_attr[i].tai_colflags &
			 TOASTCOL_NEEDS_DELETE_OLD) != 0 &&
			row_own_pointer(plan->rel, plan->old_values[i], &pointer))
			column->old = (struct varlena *)
				DatumGetPointer(plan->old_values[i]);
		if (column->edit != NULL)
			column->old = (struct varlena *)
				DatumGetPointer(plan->old_values[i]);
		if (!tree)
			column->value = NULL;
		else if (column->old != NULL)
		{
			ChunkStore *store = plan_store(plan, AccessShareLock);

			if (!toaster_equal(store, &pointer, column_flat(column), &equal))
				chunk_store_raise(store);
			if (equal)
			{
				plan->values[i] = PointerGetDatum(column->old);
				column->value = NULL;
				column->old = NULL;
			}
		}
		if (column->value != NULL || column->old != NULL)
			plan->writes = true;
	}
}

/*
 * Decide how the tuple is to be stored.  old_tuple is the version that it
 * replaces, or NULL; both must last as long as the plan.
 */
RowPlan *
row_plan(Relation rel, HeapTuple tuple, HeapTuple old_tuple)
{
	RowPlan    *plan = plan_create(rel);
	MemoryContext caller = MemoryContextSwitchTo(plan->context);
	int			natts = RelationGetNumberOfAttributes(rel);

	heap_deform_tuple(tuple, RelationGetDescr(rel), plan->values,
					  plan->isnull);
	if (old_tuple != NULL)
	{
		plan->old_values = palloc(natts * sizeof(Datum));
		plan->old_isnull = palloc(natts * sizeof(bool));
		heap_deform_tuple(old_tuple, RelationGetDescr(rel),
						  plan->old_values, plan->old_isnull);
		plan_edits(plan);
	}
	plan->ttc.ttc_oldvalues = plan->old_values;
	plan->ttc.ttc_oldisnull = plan->old_isnull;
	toast_tuple_init(&plan->ttc);
	plan_forced(plan);
	plan_rounds(plan);
	plan_compare(plan);
	MemoryContextSwitchTo(caller);
	return plan;
}

/* Will nodes be written or deleted? */
bool
row_plan_writes(const RowPlan *plan)
{
	return plan->writes;
}

/*
 * Does the new row differ from the old one in one of the columns (numbered
 * as in the bitmaps of RelationGetIndexAttrBitmap())?  A tree that is to be
 * written counts as a difference, as its pointer will.
 */
bool
row_plan_changes(const RowPlan *plan, Bitmapset *columns)
{
	TupleDesc	desc = RelationGetDescr(plan->rel);
	int			member = -1;

	Assert(plan->old_values != NULL);
	while ((member = bms_next_member(columns, member)) >= 0)
	{
		int			i = member + FirstLowInvalidHeapAttributeNumber - 1;
		Form_pg_attribute attr;

		if (i < 0)
			continue;
		attr = TupleDescAttr(desc, i);
		if (plan->isnull[i] != plan->old_isnull[i] ||
			plan->columns[i].edit != NULL)
			return true;
		if (!plan->isnull[i] &&
			!datumIsEqual(plan->values[i], plan->old_values[i],
						  attr->attbyval, attr->attlen))
			return true;
	}
	return false;
}

/* The method for frames of a column. */
int
row_column_codec(Form_pg_attribute attr)
{
	if (attr->attstorage == TYPSTORAGE_EXTERNAL)
		return CODEC_NONE;
	switch (attr->attcompression)
	{
		case TOAST_PGLZ_COMPRESSION:
			return CODEC_PGLZ;
		case TOAST_LZ4_COMPRESSION:
			return CODEC_LZ4;
		default:
			return settings_compression;
	}
}

/* Write, replace or drop the tree of a column. */
static void
store_column(RowPlan *plan, int i, TreeWrite *write)
{
	RowColumn  *column = &plan->columns[i];
	Form_pg_attribute attr = TupleDescAttr(RelationGetDescr(plan->rel), i);
	TreePointer old;
	const Toaster *toaster;
	TreePointer result;

	if (column->old != NULL)
		pointer_read(column->old, &old);
	if (column->value == NULL && column->edit == NULL)
	{
		if (!toaster_list(write->store, &old, write->dropped))
			chunk_store_warn_left(write->store);
		return;
	}
	logical_check_write(plan->rel, plan->options);
	write->codec = row_column_codec(attr);
	toaster = toaster_for_type(attr->atttypid);
	if (column->edit != NULL)
	{
		rope_apply(write, &old, column->edit->table, column->edit->kind,
				   column->edit->pointer.size, &result);
		stats_add(STATS_EDITS_WRITTEN, 1);
	}
	else if (column->old != NULL)
		toaster->update(write, &old, column_flat(column), &result);
	else
		toaster->save(write, column_flat(column), &result);
	plan->values[i] = PointerGetDatum(pointer_make(&result));
}

/*
 * Write the nodes that the plan demands, with the TABLE_INSERT_xxx options
 * of the statement, and form the tuple to be stored.  It lasts until
 * row_plan_finish().
 */
HeapTuple
row_plan_store(RowPlan *plan, int options)
{
	MemoryContext caller = MemoryContextSwitchTo(plan->context);
	TupleDesc	desc = RelationGetDescr(plan->rel);
	HeapTuple	tuple;

	plan->options = options;
	if (plan->writes)
	{
		TreeWrite	write;

		write.store = plan_store(plan, RowExclusiveLock);
		write.store->options = options & (TABLE_INSERT_SKIP_FSM |
										  TABLE_INSERT_FROZEN);
		write.toastrelid = RelationGetRelid(write.store->rel);
		write.dropped = &plan->dropped;
		for (int i = 0; i < desc->natts; i++)
		{
			if (plan->columns[i].value != NULL ||
				plan->columns[i].old != NULL)
				store_column(plan, i, &write);
		}
		FAILPOINT("before_row");
	}
	tuple = heap_form_tuple(desc, plan->values, plan->isnull);
	tuple->t_tableOid = RelationGetRelid(plan->rel);
	MemoryContextSwitchTo(caller);
	return tuple;
}

/*
 * The row is written.  Put pointers to what was written into the caller's
 * tuple, which it was planned from, where that has edits in memory.  False
 * when it has others, which were read whole.
 */
bool
row_plan_settle(RowPlan *plan, HeapTuple tuple)
{
	TupleDesc	desc = RelationGetDescr(plan->rel);
	bool		settled = true;

	if (!HeapTupleHasExternal(tuple) || !edit_exists())
		return true;
	for (int i = 0; i < desc->natts; i++)
	{
		bool		isnull;
		Datum		datum = heap_getattr(tuple, i + 1, desc, &isnull);

		if (isnull || row_edit_of(TupleDescAttr(desc, i), datum) == NULL)
			continue;
		if (plan->columns[i].edit == NULL)
			settled = false;
		else
			memcpy(DatumGetPointer(datum), DatumGetPointer(plan->values[i]),
				   TOAST_POINTER_SIZE);
	}
	return settled;
}

/* The row is written: delete what it no longer uses, free the plan. */
void
row_plan_finish(RowPlan *plan)
{
	if (plan->writes)
		FAILPOINT("after_row");
	if (plan->store_open)
		chunk_store_drop(&plan->store, &plan->dropped);
	row_plan_cancel(plan);
}

/* Free a plan that was not stored, or is finished. */
void
row_plan_cancel(RowPlan *plan)
{
	if (plan->store_open)
		chunk_store_close(&plan->store);
	context_leave(plan->context);
}
