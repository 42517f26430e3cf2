/*-------------------------------------------------------------------------
 *
 * functions_each.c
 *	  SQL functions that return the members of a document one by one:
 *	  jsonb_object_keys, jsonb_each, jsonb_array_elements and the forms of
 *	  these that return text.
 *
 * The server's functions put all rows into a tuplestore.  Ours do that where
 * the caller would otherwise do it, which is in FROM; in a select list they
 * return a row for each call, so that LIMIT ends the reading.
 *
 * Members are read in batches; between the batches the document is closed, so
 * that nothing is kept open when the executor stops asking, and what has been
 * read of the document can be forgotten.  The first batch is one member, each
 * further one is twice as long, up to a limit of members and bytes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/memutils.h"

#include "json_call.h"
#include "json_tree.h"

/* Members of the longest batch, and bytes after which a batch ends. */
#define BATCH_MEMBERS		512
#define BATCH_BYTES			32768

/*
 * What stands in max_calls of a call context of ours; the server's functions
 * leave it 0.
 */
#define OUR_CALLS			PG_UINT64_MAX

/* What a function returns of each member. */
typedef enum Columns
{
	KEYS,
	VALUES,
	KEYS_AND_VALUES
} Columns;

typedef struct Member
{
	Datum		key;
	Datum		value;
	bool		is_null;		/* a JSON null as text */
} Member;

typedef struct MemberWalk
{
	Datum		document;
	Columns		columns;
	bool		as_text;
	TupleDesc	desc;			/* of KEYS_AND_VALUES */
	uint32		next;			/* member that the next batch begins with */
	bool		done;			/* no further batch */
	MemoryContext context;		/* of the batch */
	int			size;			/* members of the next batch */
	int			count;			/* members of this batch */
	int			returned;
	Member		members[BATCH_MEMBERS];
} MemberWalk;

/* Take one member; returns the bytes that it takes, roughly. */
static Size
take_member(MemberWalk *walk, const JsonbValue *key, const JsonItem *item)
{
	Member	   *member = &walk->members[walk->count++];
	MemoryContext old_context = MemoryContextSwitchTo(walk->context);
	Size		size = 0;

	memset(member, 0, sizeof(Member));
	if (walk->columns != VALUES)
	{
		member->key = PointerGetDatum(
			cstring_to_text_with_len(key->val.string.val,
									 key->val.string.len));
		size += key->val.string.len;
	}
	if (walk->columns != KEYS && walk->as_text)
	{
		text	   *value = json_item_text(item);

		member->value = PointerGetDatum(value);
		member->is_null = value == NULL;
		size += value == NULL ? 0 : VARSIZE(value);
	}
	else if (walk->columns != KEYS)
	{
		struct varlena *value;

		member->value = json_item_datum(item);
		value = (struct varlena *) DatumGetPointer(member->value);
		size += VARSIZE_ANY(value);
	}
	MemoryContextSwitchTo(old_context);
	return size;
}

/* Read the next batch. */
static void
read_batch(MemberWalk *walk)
{
	JsonItem	root;
	JsonIterator *iterator;
	JsonbValue	key;
	JsonItem	item;
	Size		bytes = 0;
	MemoryContext old_context;

	MemoryContextReset(walk->context);
	walk->count = walk->returned = 0;
	if (!json_open(walk->document, &root))
		elog(ERROR, "document is no tree any more");
	/* the iterator keeps what it reads */
	old_context = MemoryContextSwitchTo(walk->context);
	iterator = json_iterate(&root, walk->next);
	while (walk->count < walk->size && bytes < BATCH_BYTES && !walk->done)
	{
		if (json_next(iterator, &key, &item))
			bytes += take_member(walk, &key, &item);
		else
			walk->done = true;
	}
	json_iterate_end(iterator);
	MemoryContextSwitchTo(old_context);
	json_close(&root);
	walk->next += walk->count;
	walk->size = Min(2 * walk->size, BATCH_MEMBERS);
}

/* Set up a walk in the current memory context. */
static MemberWalk *
make_walk(FunctionCallInfo fcinfo, Columns columns, bool as_text)
{
	MemberWalk *walk = palloc0(sizeof(MemberWalk));

	walk->document = PG_GETARG_DATUM(0);
	walk->columns = columns;
	walk->as_text = as_text;
	walk->size = 1;
	walk->context = AllocSetContextCreate(CurrentMemoryContext,
										  "toaster members",
										  ALLOCSET_DEFAULT_SIZES);
	return walk;
}

/* Set the columns of a member's row; returns how many there are. */
static int
member_columns(const MemberWalk *walk, const Member *member, Datum *values,
			   bool *nulls)
{
	int			count = 0;

	if (walk->columns != VALUES)
	{
		values[count] = member->key;
		nulls[count++] = false;
	}
	if (walk->columns != KEYS)
	{
		values[count] = member->value;
		nulls[count++] = member->is_null;
	}
	return count;
}

/* Return all members in a tuplestore. */
static Datum
return_all(FunctionCallInfo fcinfo, Columns columns, bool as_text)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	MemberWalk *walk = make_walk(fcinfo, columns, as_text);
	bits32		flags = MAT_SRF_BLESS;

	if (columns != KEYS_AND_VALUES)
		flags |= MAT_SRF_USE_EXPECTED_DESC;
	InitMaterializedSRF(fcinfo, flags);
	while (!walk->done)
	{
		read_batch(walk);
		for (int i = 0; i < walk->count; i++)
		{
			Datum		values[2];
			bool		nulls[2];

			(void) member_columns(walk, &walk->members[i], values, nulls);
			tuplestore_putvalues(result->setResult, result->setDesc, values,
								 nulls);
		}
	}
	MemoryContextDelete(walk->context);
	pfree(walk);
	return (Datum) 0;
}

/* Begin to return the members one by one. */
static void
begin_walk(FunctionCallInfo fcinfo, Columns columns, bool as_text)
{
	FuncCallContext *calls = SRF_FIRSTCALL_INIT();
	MemoryContext old_context =
		MemoryContextSwitchTo(calls->multi_call_memory_ctx);
	MemberWalk *walk = make_walk(fcinfo, columns, as_text);

	if (columns == KEYS_AND_VALUES)
	{
		TupleDesc	desc;

		if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
			elog(ERROR, "return type must be a row type");
		walk->desc = BlessTupleDesc(CreateTupleDescCopy(desc));
	}
	calls->max_calls = OUR_CALLS;
	calls->user_fctx = walk;
	MemoryContextSwitchTo(old_context);
}

/* Return the next member. */
static Datum
return_next(FunctionCallInfo fcinfo)
{
	FuncCallContext *calls = SRF_PERCALL_SETUP();
	MemberWalk *walk = calls->user_fctx;
	Datum		values[2];
	bool		nulls[2];

	if (walk->returned == walk->count && !walk->done)
		read_batch(walk);
	if (walk->returned == walk->count)
		SRF_RETURN_DONE(calls);
	if (member_columns(walk, &walk->members[walk->returned++], values,
					   nulls) == 2)
	{
		values[0] = HeapTupleGetDatum(heap_form_tuple(walk->desc, values,
													  nulls));
		nulls[0] = false;
	}
	if (nulls[0])
		SRF_RETURN_NEXT_NULL(calls);
	SRF_RETURN_NEXT(calls, values[0]);
}

/*
 * All of these functions: the members of a container of the given type, or
 * what the server's function does with anything else.
 */
static Datum
return_members(FunctionCallInfo fcinfo, PGFunction stock, enum jbvType type,
			   Columns columns, bool as_text)
{
	if (SRF_IS_FIRSTCALL())
	{
		JsonItem	root;
		bool		fits;

		if (!json_open(PG_GETARG_DATUM(0), &root))
			return stock(fcinfo);
		fits = root.type == type && !json_root_is_scalar(&root);
		if (!fits)
			return json_call_stand_in(fcinfo, stock, &root);
		json_close(&root);
		if (fcinfo->resultinfo != NULL &&
			IsA(fcinfo->resultinfo, ReturnSetInfo) &&
			(((ReturnSetInfo *) fcinfo->resultinfo)->allowedModes &
			 SFRM_Materialize_Preferred) != 0)
			return return_all(fcinfo, columns, as_text);
		begin_walk(fcinfo, columns, as_text);
	}
	else if (((FuncCallContext *) fcinfo->flinfo->fn_extra)->max_calls !=
			 OUR_CALLS)
		return stock(fcinfo);
	return return_next(fcinfo);
}

PG_FUNCTION_INFO_V1(pg_toaster_jsonb_object_keys);
Datum
pg_toaster_jsonb_object_keys(PG_FUNCTION_ARGS)
{
	return return_members(fcinfo, jsonb_object_keys, jbvObject, KEYS, false);
}

PG_FUNCTION_INFO_V1(pg_toaster_jsonb_each);
Datum
pg_toaster_jsonb_each(PG_FUNCTION_ARGS)
{
	return return_members(fcinfo, jsonb_each, jbvObject, KEYS_AND_VALUES,
						  false);
}

PG_FUNCTION_INFO_V1(pg_toaster_jsonb_each_text);
Datum
pg_toaster_jsonb_each_text(PG_FUNCTION_ARGS)
{
	return return_members(fcinfo, jsonb_each_text, jbvObject,
						  KEYS_AND_VALUES, true);
}

PG_FUNCTION_INFO_V1(pg_toaster_jsonb_array_elements);
Datum
pg_toaster_jsonb_array_elements(PG_FUNCTION_ARGS)
{
	return return_members(fcinfo, jsonb_array_elements, jbvArray, VALUES,
						  false);
}

PG_FUNCTION_INFO_V1(pg_toaster_jsonb_array_elements_text);
Datum
pg_toaster_jsonb_array_elements_text(PG_FUNCTION_ARGS)
{
	return return_members(fcinfo, jsonb_array_elements_text, jbvArray, VALUES,
						  true);
}
