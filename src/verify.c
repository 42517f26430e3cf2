/*-------------------------------------------------------------------------
 *
 * verify.c
 *	  toaster.verify(): the problems of a table and its TOAST relation.
 *
 * First the rows of the table are read, and the tree of every value is
 * checked node by node.  Then the TOAST relation is read, and what no sound
 * parent has named is an orphan.  Last, its index must hold nothing but
 * roots of the indexed class.
 *
 * All three see the same moment: one MVCC snapshot, taken when the table is
 * locked.  Rows and chunks of a transaction become visible together, so that
 * concurrent work shows neither as missing nor as orphaned; and a rewrite of
 * the table, whose chunks are newer than its rows, has ended by then.
 *
 * Nothing is trusted.  What lower layers raise is reported like any other
 * problem (guard.c), and a chunk gets one report per value.
 *
 * Memory: tid_set.c's 16 bytes or so per block of the TOAST relation, a page,
 * and one value's node per level and frame.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/table.h"
#include "access/toast_internals.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "compat.h"
#include "guard.h"
#include "inspect.h"
#include "pointer.h"
#include "table_page.h"
#include "toaster.h"
#include "verify.h"

/* Return a problem as a row; chunk may be NULL or invalid. */
static void
put_problem(Verify *verify, Oid relid, ItemPointer row,
			const NameData *attname, ItemPointer chunk, const char *problem)
{
	Datum		values[5];
	bool		nulls[5] = {false};

	values[0] = ObjectIdGetDatum(relid);
	values[1] = PointerGetDatum(row);
	nulls[1] = row == NULL;
	values[2] = NameGetDatum(attname);
	nulls[2] = attname == NULL;
	values[3] = PointerGetDatum(chunk);
	nulls[3] = chunk == NULL ||
		!BlockNumberIsValid(ItemPointerGetBlockNumberNoCheck(chunk));
	values[4] = CStringGetTextDatum(problem);
	tuplestore_putvalues(verify->result->setResult, verify->result->setDesc,
						 values, nulls);
}

/*
 * Report a problem of the value at hand, with the chunk that it is about or
 * NULL.
 */
void
verify_report(Verify *verify, ItemPointer chunk, const char *problem)
{
	put_problem(verify, RelationGetRelid(verify->table), &verify->row,
				verify->attname, chunk, problem);
	verify->problems++;
	if (chunk != NULL && ItemPointerIsValid(chunk))
		tid_set_add(verify->reported, chunk);
}

/* Report a problem of the TOAST relation. */
static void
report_chunk(Verify *verify, ItemPointer chunk, const char *problem)
{
	put_problem(verify, RelationGetRelid(verify->store.rel), NULL, NULL,
				chunk, problem);
}

/* What a guarded read of a node needs, and what it brings. */
typedef struct NodeRead
{
	Verify	   *verify;
	uint32		address;		/* of a root */
	uint32		size;
	uint32		lineage;		/* of a child */
	const Ref  *ref;			/* NULL for a root */
	int			level;
	bool		base;			/* is ref that of a delta? */
	NodeCopy   *copy;			/* copy->node is NULL on failure */
} NodeRead;

static void
read_node(void *arg)
{
	NodeRead   *read = (NodeRead *) arg;
	ChunkStore *store = &read->verify->store;
	NodeCopy   *copy = read->copy;
	Chunk		chunk;
	bool		ok;

	if (read->ref == NULL)
		ok = chunk_store_get_root(store, read->address, read->size, &chunk);
	else if (read->base)
		ok = chunk_store_get_base(store, read->lineage, read->ref,
								  read->level, &chunk);
	else
		ok = chunk_store_get_child(store, read->lineage, read->ref,
								   read->level, &chunk);
	if (!ok)
		return;
	copy->tid = chunk.tid;
	copy->size = chunk.size;
	copy->node = MemoryContextAlloc(read->verify->work_context, chunk.size);
	memcpy(copy->node, chunk.node, chunk.size);
	chunk_store_release(&chunk);
}

/*
 * Read a node that somebody names.  Returns true with a copy, and remembers
 * that the chunk is named; false when a problem was reported.
 */
static bool
take_node(NodeRead *read)
{
	Verify	   *verify = read->verify;
	NodeCopy   *copy = read->copy;
	const char *error;

	copy->node = NULL;
	error = guard_call(read_node, read);
	if (error != NULL)
		verify_report(verify, &copy->tid, error);
	else if (copy->node == NULL)
		verify_report(verify, &verify->store.problem_tid,
					  verify->store.problem);
	else if (tid_set_contains(verify->referenced, &copy->tid))
	{
		verify_report(verify, &copy->tid, "Chunk is referenced twice");
		error = "";
	}
	else
		tid_set_add(verify->referenced, &copy->tid);
	return error == NULL && copy->node != NULL;
}

/* Read the node that a parent names: a child, or the base of a delta. */
static bool
take_below(Verify *verify, uint32 lineage, const Ref *ref, int level,
		   bool base, NodeCopy *below)
{
	NodeRead	read = {0};

	read.verify = verify;
	read.lineage = lineage;
	read.ref = ref;
	read.level = level;
	read.base = base;
	read.copy = below;
	ref_tid(ref, &below->tid);
	return take_node(&read);
}

/*
 * Read the node of the given level that ref names in a value of the given
 * lineage, and check it against what ref says.  Returns true with a copy,
 * which the caller may free; false when a problem was reported.
 */
bool
verify_child(Verify *verify, uint32 lineage, const Ref *ref, int level,
			 NodeCopy *child)
{
	return take_below(verify, lineage, ref, level, false, child);
}

/* The same for the root that a delta stands on. */
bool
verify_base(Verify *verify, uint32 lineage, const Ref *ref, int level,
			NodeCopy *base)
{
	return take_below(verify, lineage, ref, level, true, base);
}

/* Check the tree that the value at hand points to. */
static void
check_tree(Verify *verify, const TreePointer *pointer)
{
	NodeCopy	root;
	NodeRead	read = {0};
	uint64		problems;

	read.verify = verify;
	read.address = pointer->address;
	read.size = pointer->size;
	read.copy = &root;
	ItemPointerSetInvalid(&root.tid);
	if (address_is_direct(pointer->address))
		address_to_tid(pointer->address, &root.tid);
	if (!take_node(&read))
		return;
	if ((node_trailer(root.node, root.size)->version &
		 ADDRESS_VERSION_MASK) != pointer->version)
		verify_report(verify, &root.tid,
					  "Root has another version than the pointer says");
	problems = verify->problems;
	verify_rope(verify, &root);
	if (verify->problems == problems)
		verify_document(verify, &root);
}

/* Check one TOAST pointer of the row at hand. */
static void
check_value(Verify *verify, const struct varlena *value)
{
	struct varatt_external external;
	TreePointer pointer;

	memcpy(&external, VARDATA_EXTERNAL(value), sizeof(external));
	pointer_read(value, &pointer);
	if (pointer.toastrelid != verify->table->rd_rel->reltoastrelid)
		verify_report(verify, NULL, "Value points to another relation");
	else if (external.va_rawsize < VARHDRSZ ||
			 VARATT_EXTERNAL_GET_EXTSIZE(external) != pointer.size)
		verify_report(verify, NULL, "TOAST pointer is damaged");
	else if (!address_is_direct(pointer.address) &&
			 !address_is_indexed(pointer.address))
		verify_report(verify, NULL, "Address is not one of a stored value");
	else
		check_tree(verify, &pointer);
}

/* Check all values of a row. */
static void
check_row(Verify *verify, TablePage *page, const TableRow *row,
		  const struct varlena **external)
{
	TupleDesc	desc = RelationGetDescr(verify->table);
	const char *problem = row->problem;

	ItemPointerSet(&verify->row, page->block, row->offset);
	verify->attname = NULL;
	if (problem == NULL)
		problem = table_page_external(page, row->offset, desc, external);
	else
		memset(external, 0, desc->natts * sizeof(*external));
	if (problem != NULL)
		verify_report(verify, NULL, problem);
	for (int i = 0; i < desc->natts; i++)
	{
		if (external[i] == NULL)
			continue;
		verify->attname = &TupleDescAttr(desc, i)->attname;
		check_value(verify, external[i]);
		MemoryContextReset(verify->work_context);
	}
}

static void
read_rows(void *arg)
{
	table_page_read((TablePage *) arg);
}

/* Check the rows from first to last of the page's block. */
static const char *
check_rows(Verify *verify, TablePage *page, OffsetNumber first,
		   OffsetNumber last, const struct varlena **external)
{
	const char *error;

	page->first = first;
	page->last = last;
	error = guard_call(read_rows, page);
	if (error != NULL)
		return error;
	for (int i = 0; i < page->row_count; i++)
		check_row(verify, page, &page->rows[i], external);
	return NULL;
}

/*
 * Check one block of the table; row by row if it cannot be read as a whole.
 * Works in the work context.
 */
static void
check_block(Verify *verify, TablePage *page,
			const struct varlena **external)
{
	const char *error;

	page->max_offset = 0;
	error = check_rows(verify, page, FirstOffsetNumber, MaxOffsetNumber,
					   external);
	if (error == NULL)
		return;
	verify->attname = NULL;
	if (page->max_offset == 0)
	{
		ItemPointerSet(&verify->row, page->block, InvalidOffsetNumber);
		verify_report(verify, NULL, error);
	}
	for (OffsetNumber offset = FirstOffsetNumber;
		 offset <= page->max_offset; offset++)
	{
		error = check_rows(verify, page, offset, offset, external);
		if (error == NULL)
			continue;
		ItemPointerSet(&verify->row, page->block, offset);
		verify->attname = NULL;
		verify_report(verify, NULL, error);
	}
}

/* A guarded question for the size of a relation. */
typedef struct BlockCount
{
	Relation	rel;
	BlockNumber blocks;
} BlockCount;

static void
count_blocks(void *arg)
{
	BlockCount *count = (BlockCount *) arg;

	count->blocks = RelationGetNumberOfBlocks(count->rel);
}

/* Number of blocks of the table or its TOAST relation; 0 on failure. */
static BlockNumber
relation_blocks(Verify *verify, Relation rel)
{
	BlockCount	count = {rel, 0};
	const char *error = guard_call(count_blocks, &count);

	if (error != NULL)
		put_problem(verify, RelationGetRelid(rel), NULL, NULL, NULL, error);
	return count.blocks;
}

/* Check the table: all rows that the snapshot sees. */
static void
check_table(Verify *verify)
{
	MemoryContext caller = CurrentMemoryContext;
	int			natts = RelationGetNumberOfAttributes(verify->table);
	const struct varlena **external = palloc0(Max(1, natts) *
											  sizeof(*external));
	TablePage  *page = palloc0(sizeof(TablePage));
	BlockNumber blocks = relation_blocks(verify, verify->table);

	page->rel = verify->table;
	page->snapshot = verify->snapshot;
	page->strategy = verify->strategy;
	MemoryContextSwitchTo(verify->work_context);
	for (page->block = 0; page->block < blocks; page->block++)
	{
		CHECK_FOR_INTERRUPTS();
		check_block(verify, page, external);
		MemoryContextReset(verify->work_context);
	}
	MemoryContextSwitchTo(caller);
	pfree(page);
	pfree(external);
}

/* A guarded look at chunks of the TOAST relation. */
typedef struct ChunkScan
{
	Verify	   *verify;
	ItemPointerData tid;		/* the chunk, or in offset 0 its block */
	int			count;
	OffsetNumber offsets[MaxOffsetNumber];
	const char *problem;		/* of the chunk; NULL if it is not there */
} ChunkScan;

static void
list_chunks(void *arg)
{
	ChunkScan  *scan = (ChunkScan *) arg;

	scan->count = chunk_store_list(&scan->verify->store,
								   ItemPointerGetBlockNumberNoCheck(&scan->tid),
								   scan->verify->strategy, scan->offsets);
}

/* Look at a chunk that nobody refers to. */
static void
look_at_orphan(void *arg)
{
	ChunkScan  *scan = (ChunkScan *) arg;
	ChunkStore *store = &scan->verify->store;
	Chunk		chunk;

	if (!chunk_store_get(store, &scan->tid, &chunk))
		scan->problem = store->problem == chunk_missing ? NULL :
			store->problem;
	else
	{
		scan->problem = node_problem(chunk.node, chunk.size) == NULL ?
			"Chunk is not referenced by any row" :
			"Chunk is not referenced by any row, and does not hold a node";
		chunk_store_release(&chunk);
	}
}

/* Check the chunks of one block of the TOAST relation. */
static void
check_chunks(Verify *verify, ChunkScan *scan, BlockNumber block)
{
	const char *error;

	ItemPointerSet(&scan->tid, block, InvalidOffsetNumber);
	error = guard_call(list_chunks, scan);
	if (error != NULL)
	{
		report_chunk(verify, &scan->tid, error);
		return;
	}
	for (int i = 0; i < scan->count; i++)
	{
		ItemPointerSet(&scan->tid, block, scan->offsets[i]);
		if (tid_set_contains(verify->referenced, &scan->tid) ||
			tid_set_contains(verify->reported, &scan->tid))
			continue;
		error = guard_call(look_at_orphan, scan);
		if (error == NULL)
			error = scan->problem;
		if (error != NULL)
			report_chunk(verify, &scan->tid, error);
	}
}

/* Find chunks that no row refers to. */
static void
check_toast(Verify *verify)
{
	MemoryContext caller = CurrentMemoryContext;
	ChunkScan  *scan = palloc0(sizeof(ChunkScan));
	BlockNumber blocks = relation_blocks(verify, verify->store.rel);

	scan->verify = verify;
	MemoryContextSwitchTo(verify->work_context);
	for (BlockNumber block = 0; block < blocks; block++)
	{
		CHECK_FOR_INTERRUPTS();
		check_chunks(verify, scan, block);
		MemoryContextReset(verify->work_context);
	}
	MemoryContextSwitchTo(caller);
	pfree(scan);
}

/* Report an index entry of a chunk that must not have one. */
static void
check_index_entry(Verify *verify, ItemPointer tid)
{
	Chunk		chunk;

	if (!chunk_store_get(&verify->store, tid, &chunk))
		return;
	if (!address_is_indexed(chunk.chunk_id))
		report_chunk(verify, tid, "Chunk must not have an index entry");
	chunk_store_release(&chunk);
}

/* Check that the index of the TOAST relation holds nothing else. */
static void
check_index(void *arg)
{
	Verify	   *verify = (Verify *) arg;
	Relation	toastrel = verify->store.rel;
	Relation   *indexes;
	int			count;
	int			valid;
	IndexScanDesc scan;
	ItemPointer tid;

	valid = toast_open_indexes(toastrel, AccessShareLock, &indexes, &count);
	scan = compat_index_beginscan(toastrel, indexes[valid], verify->snapshot,
								  0);
	index_rescan(scan, NULL, 0, NULL, 0);
	while ((tid = index_getnext_tid(scan, ForwardScanDirection)) != NULL)
	{
		ItemPointerData chunk = *tid;

		CHECK_FOR_INTERRUPTS();
		check_index_entry(verify, &chunk);
	}
	index_endscan(scan);
	toast_close_indexes(indexes, count, AccessShareLock);
}

/* Check the table and, if it has one, its TOAST relation. */
static void
check_all(Verify *verify, Oid toastrelid)
{
	const char *error;

	if (!OidIsValid(toastrelid))
	{
		check_table(verify);
		return;
	}
	chunk_store_open(&verify->store, toastrelid, AccessShareLock);
	verify->store.snapshot = *verify->snapshot;
	verify->store.snapshot_set = true;
	check_table(verify);
	check_toast(verify);
	error = guard_call(check_index, verify);
	if (error != NULL)
		report_chunk(verify, NULL, error);
	chunk_store_close(&verify->store);
}

PG_FUNCTION_INFO_V1(pg_toaster_verify);

/* toaster.verify(rel): a row per problem, none when the table is sound. */
Datum
pg_toaster_verify(PG_FUNCTION_ARGS)
{
	Verify		verify = {0};

	InitMaterializedSRF(fcinfo, 0);
	verify.result = (ReturnSetInfo *) fcinfo->resultinfo;
	verify.table = inspect_open_table(PG_GETARG_OID(0));
	inspect_check_select(verify.table, InvalidAttrNumber);
	verify.snapshot = RegisterSnapshot(GetLatestSnapshot());
	verify.strategy = GetAccessStrategy(BAS_BULKREAD);
	verify.referenced = tid_set_create();
	verify.reported = tid_set_create();
	verify.work_context = AllocSetContextCreate(CurrentMemoryContext,
												"toaster verify",
												ALLOCSET_DEFAULT_SIZES);
	check_all(&verify, verify.table->rd_rel->reltoastrelid);
	MemoryContextDelete(verify.work_context);
	FreeAccessStrategy(verify.strategy);
	UnregisterSnapshot(verify.snapshot);
	table_close(verify.table, AccessShareLock);
	return (Datum) 0;
}
