/*-------------------------------------------------------------------------
 *
 * edit.c
 *	  Values that were edited and are not written yet.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/primnodes.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"

#include "edit.h"
#include "stats.h"

typedef struct EditEntry
{
	uint32		address;		/* key */
	Edit	   *edit;
} EditEntry;

/* All edits that live, by address. */
static HTAB *edits = NULL;

/* How many there were in this session: addresses are used once. */
static uint32 edit_count = 0;

/* Addresses that are left to the statement that finds them nearly used up. */
#define LAST_EDITS		65536

static void
create_table(void)
{
	HASHCTL		control = {0};

	control.keysize = sizeof(uint32);
	control.entrysize = sizeof(EditEntry);
	control.hcxt = TopMemoryContext;
	edits = hash_create("toaster edits", 64, &control,
						HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

/* The memory of an edit is freed. */
static void
forget_edit(void *arg)
{
	uint32		address = ((Edit *) arg)->pointer.address;

	(void) hash_search(edits, &address, HASH_REMOVE, NULL);
}

/*
 * Give an edit, allocated in the current memory context, an address and
 * return its datum.  source is the pointer that was edited, to a stored value
 * or to another edit; flat_size that of the result.
 */
Datum
edit_register(Edit *edit, const TreePointer *source, uint32 flat_size)
{
	MemoryContextCallback *callback = palloc0(sizeof(MemoryContextCallback));
	EditEntry  *entry;

	if (edits == NULL)
		create_table();
	if (edit_count == ADDRESS_MEMORY_COUNT)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("too many edits of large values in one session"),
				 errhint("Start a new session.")));
	edit->origin = address_is_in_memory(source->address) ?
		edit_get(source->address)->origin : *source;
	edit->pointer = *source;
	edit->pointer.address = ADDRESS_MEMORY_START + edit_count++;
	edit->pointer.size = flat_size;
	entry = hash_search(edits, &edit->pointer.address, HASH_ENTER, NULL);
	entry->edit = edit;
	callback->func = forget_edit;
	callback->arg = edit;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, callback);
	stats_add(STATS_EDITS_APPLIED, 1);
	return PointerGetDatum(pointer_make(&edit->pointer));
}

/* Is there any edit in this session at present? */
bool
edit_exists(void)
{
	return edits != NULL && hash_get_num_entries(edits) > 0;
}

/* The edit with that address; raises an error when it is gone. */
const Edit *
edit_get(uint32 address)
{
	EditEntry  *entry = edits == NULL ? NULL :
		hash_search(edits, &address, HASH_FIND, NULL);

	if (entry == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("value that an UPDATE has edited is not kept any more"),
				 errdetail("It was kept in a variable or a cursor beyond the "
						   "row that it belongs to.")));
	return entry->edit;
}

/*
 * May the function that is called return an edit?  Not if somebody has called
 * it by its name, nor in a session that has made some hundred million edits:
 * values are read whole and changed as in heap then.
 */
bool
edit_is_wanted(FunctionCallInfo fcinfo)
{
	Node	   *call = fcinfo->flinfo == NULL ? NULL :
		fcinfo->flinfo->fn_expr;

	if (call == NULL || edit_count >= ADDRESS_MEMORY_COUNT - LAST_EDITS)
		return false;
	if (IsA(call, FuncExpr))
		return ((FuncExpr *) call)->location == EDIT_LOCATION;
	return IsA(call, OpExpr) && ((OpExpr *) call)->location == EDIT_LOCATION;
}
