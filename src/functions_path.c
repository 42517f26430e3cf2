/*-------------------------------------------------------------------------
 *
 * functions_path.c
 *	  SQL functions that evaluate a jsonpath on a document.
 *
 * The server's functions do the evaluation, on a smaller document.  A path
 * may name the document ($) in several places, each followed by accessors:
 *
 *		$.a.b[3].c ? (@.d > $.a.b[4].e)
 *
 * 1. The accessors that all places have in common, here .a.b, are evaluated
 *	  on the tree as long as they are plain: a member of an object, or an
 *	  element that an array has.  The document becomes what they lead to, and
 *	  in a copy of the path each $ is linked to what follows them.
 * 2. From what is left, only those members of objects, and in lax mode of
 *	  objects in an array, are taken which the accessors name; a document where
 *	  these are missing, or an accessor that does not fit, gives the server the
 *	  same answer or error as the whole document would.
 *
 * How a path is stored, in the words of this file: an item is its type, then,
 * at the next multiple of 4 bytes, the distance to the item that follows it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/datum.h"
#include "utils/fmgrprotos.h"
#include "utils/jsonpath.h"
#include "utils/numeric.h"

#include "compat.h"
#include "json_call.h"
#include "json_tree.h"

/* An accessor that can be evaluated on a tree. */
typedef struct Step
{
	const char *key;			/* NULL: an index */
	int			key_length;
	int64		index;
	bool		last;			/* the index "last" */
} Step;

/* A $ with the plain accessors that follow it. */
typedef struct RootUse
{
	int32		position;		/* of the $ in the path */
	int			count;			/* of steps */
	Step	   *steps;
	int32	   *following;		/* [i]: position after i steps, 0 for none */
} RootUse;

typedef struct RootUses
{
	JsonPath   *path;
	int			count;
	int			capacity;
	RootUse    *uses;
} RootUses;

static bool find_roots(RootUses *roots, JsonPathItem *item);

/* Set *step if the item is a plain accessor. */
static bool
read_step(JsonPathItem *item, Step *step)
{
	JsonPathItem from;
	JsonPathItem to;

	memset(step, 0, sizeof(Step));
	if (item->type == jpiKey)
	{
		int32		length;

		step->key = jspGetString(item, &length);
		step->key_length = length;
		return true;
	}
	if (item->type != jpiIndexArray || item->content.array.nelems != 1 ||
		jspGetArraySubscript(item, &from, &to, 0) || jspHasNext(&from))
		return false;
	if (from.type == jpiLast)
		step->last = true;
	else if (from.type == jpiNumeric)
	{
		Numeric		limit = int64_to_numeric(PG_INT32_MAX);
		Datum		number = NumericGetDatum(jspGetNumeric(&from));

		if (DatumGetBool(DirectFunctionCall2(numeric_gt, number,
											 NumericGetDatum(limit))))
			return false;
		number = DirectFunctionCall2(numeric_trunc, number, Int32GetDatum(0));
		step->index = DatumGetInt64(DirectFunctionCall1(numeric_int8, number));
	}
	else
		return false;
	return step->last || step->index >= 0;
}

static bool
steps_equal(const Step *a, const Step *b)
{
	if ((a->key == NULL) != (b->key == NULL))
		return false;
	if (a->key == NULL)
		return a->last == b->last && a->index == b->index;
	return a->key_length == b->key_length &&
		memcmp(a->key, b->key, a->key_length) == 0;
}

static int32
position_of(const RootUses *roots, const JsonPathItem *item)
{
	return item->base - roots->path->data;
}

/* Note a $ and what follows it. */
static void
add_root(RootUses *roots, JsonPathItem *root)
{
	RootUse    *use;
	JsonPathItem item = *root;
	JsonPathItem next;
	int			capacity = 4;

	if (roots->count == roots->capacity)
	{
		roots->capacity *= 2;
		roots->uses = repalloc(roots->uses,
							   roots->capacity * sizeof(RootUse));
	}
	use = &roots->uses[roots->count++];
	use->position = position_of(roots, root);
	use->count = 0;
	use->steps = palloc(capacity * sizeof(Step));
	use->following = palloc((capacity + 1) * sizeof(int32));
	for (;;)
	{
		bool		has_next = jspGetNext(&item, &next);

		if (use->count == capacity)
		{
			capacity *= 2;
			use->steps = repalloc(use->steps, capacity * sizeof(Step));
			use->following = repalloc(use->following,
									  (capacity + 1) * sizeof(int32));
		}
		use->following[use->count] = has_next ? position_of(roots, &next) : 0;
		if (!has_next || !read_step(&next, &use->steps[use->count]))
			break;
		use->count++;
		item = next;
	}
}

/* Find each $ in the subscripts of an array accessor. */
static bool
find_roots_in_subscripts(RootUses *roots, JsonPathItem *item)
{
	for (int i = 0; i < item->content.array.nelems; i++)
	{
		JsonPathItem from;
		JsonPathItem to;
		bool		is_range = jspGetArraySubscript(item, &from, &to, i);

		if (!find_roots(roots, &from) ||
			(is_range && !find_roots(roots, &to)))
			return false;
	}
	return true;
}

/* Find each $ in the operands of an item. */
static bool
find_roots_in_operands(RootUses *roots, JsonPathItem *item)
{
	JsonPathItem operand;

	switch (item->type)
	{
		case jpiAnd:
		case jpiOr:
		case jpiEqual:
		case jpiNotEqual:
		case jpiLess:
		case jpiGreater:
		case jpiLessOrEqual:
		case jpiGreaterOrEqual:
		case jpiAdd:
		case jpiSub:
		case jpiMul:
		case jpiDiv:
		case jpiMod:
		case jpiStartsWith:
			jspGetLeftArg(item, &operand);
			if (!find_roots(roots, &operand))
				return false;
			jspGetRightArg(item, &operand);
			return find_roots(roots, &operand);
		case jpiNot:
		case jpiIsUnknown:
		case jpiExists:
		case jpiPlus:
		case jpiMinus:
		case jpiFilter:
			jspGetArg(item, &operand);
			return find_roots(roots, &operand);
		case jpiLikeRegex:
			jspInitByBuffer(&operand, item->base,
							item->content.like_regex.expr);
			return find_roots(roots, &operand);
		case jpiIndexArray:
			return find_roots_in_subscripts(roots, item);
		default:
			return false;
	}
}

/* Has the item no operands that may contain a $? */
static bool
is_leaf(JsonPathItemType type)
{
	switch (type)
	{
		case jpiNull:
		case jpiString:
		case jpiNumeric:
		case jpiBool:
		case jpiVariable:
		case jpiRoot:
		case jpiCurrent:
		case jpiKey:
		case jpiAnyKey:
		case jpiAnyArray:
		case jpiAny:
		case jpiLast:
		case jpiType:
		case jpiSize:
		case jpiAbs:
		case jpiFloor:
		case jpiCeiling:
		case jpiDouble:
		case jpiDatetime:
			return true;
		default:
			return compat_is_path_method(type);
	}
}

/*
 * Find each $ from an item on.  Returns false if there is anything in the
 * path that is not known here, or .keyvalue(), which returns where in the
 * document an object stands.
 */
static bool
find_roots(RootUses *roots, JsonPathItem *item)
{
	JsonPathItem current = *item;

	check_stack_depth();
	for (;;)
	{
		JsonPathItem next;

		if (current.type == jpiRoot)
			add_root(roots, &current);
		if (!is_leaf(current.type) &&
			!find_roots_in_operands(roots, &current))
			return false;
		if (!jspGetNext(&current, &next))
			return true;
		current = next;
	}
}

/* The step that all uses have at that depth; NULL if they differ. */
static const Step *
common_step(const RootUses *roots, int depth)
{
	for (int i = 0; i < roots->count; i++)
	{
		if (depth >= roots->uses[i].count ||
			!steps_equal(&roots->uses[i].steps[depth],
						 &roots->uses[0].steps[depth]))
			return NULL;
	}
	return &roots->uses[0].steps[depth];
}

/* Evaluate a plain accessor; false if it does not fit the item. */
static bool
take_step(const JsonItem *item, const Step *step, bool lax, JsonItem *result)
{
	int64		count;
	int64		index;

	if (step->key != NULL)
		return item->type == jbvObject &&
			json_find_key(item, step->key, step->key_length, result);
	if (item->type != jbvArray)
	{
		/* lax takes it for an array of one element */
		*result = *item;
		return lax && step->index == 0;
	}
	count = json_count(item);
	index = step->last ? count - 1 : step->index;
	return index >= 0 && index < count &&
		json_find_index(item, index, result);
}

/* Have all uses a member accessor at that depth? */
static bool
all_name_members(RootUse **uses, int count, int depth)
{
	for (int i = 0; i < count; i++)
	{
		if (depth >= uses[i]->count || uses[i]->steps[depth].key == NULL)
			return false;
	}
	return true;
}

static void project_members(const JsonItem *object, RootUse **uses, int count,
							int depth, bool lax, JsonbParseState **state);

/* Push what the uses need of an object: the members that they name. */
static JsonbValue *
project_object(const JsonItem *object, RootUse **uses, int count, int depth,
			   bool lax, JsonbParseState **state)
{
	pushJsonbValue(state, WJB_BEGIN_OBJECT, NULL);
	project_members(object, uses, count, depth, lax, state);
	return pushJsonbValue(state, WJB_END_OBJECT, NULL);
}

/*
 * Push what the uses, which name members, need of an array in lax mode: these
 * members of its objects.  Anything else in it has no member.
 */
static JsonbValue *
project_array(const JsonItem *array, RootUse **uses, int count, int depth,
			  JsonbParseState **state)
{
	JsonIterator *iterator = json_iterate(array, 0);
	JsonbValue	key;
	JsonItem	element;
	JsonbValue	null;

	null.type = jbvNull;
	pushJsonbValue(state, WJB_BEGIN_ARRAY, NULL);
	while (json_next(iterator, &key, &element))
	{
		CHECK_FOR_INTERRUPTS();
		if (element.type == jbvObject)
			project_object(&element, uses, count, depth, true, state);
		else
			pushJsonbValue(state, WJB_ELEM, &null);
	}
	json_iterate_end(iterator);
	return pushJsonbValue(state, WJB_END_ARRAY, NULL);
}

/*
 * Push what the uses need of an item.  NULL if that is all of it: nothing is
 * pushed then.
 */
static JsonbValue *
project_item(const JsonItem *item, RootUse **uses, int count, int depth,
			 bool lax, JsonbParseState **state)
{
	if (!all_name_members(uses, count, depth))
		return NULL;
	if (item->type == jbvObject)
		return project_object(item, uses, count, depth, lax, state);
	if (item->type == jbvArray && lax)
		return project_array(item, uses, count, depth, state);
	return NULL;
}

/* Set *value to an item, in memory of its own: iterators move on. */
static void
copy_value(const JsonItem *item, JsonbValue *value)
{
	json_item_value(item, value);
	if (item->stored)
		return;
	switch (value->type)
	{
		case jbvString:
			value->val.string.val = pnstrdup(value->val.string.val,
											 value->val.string.len);
			break;
		case jbvNumeric:
			value->val.numeric = DatumGetNumeric(datumCopy(
				NumericGetDatum(value->val.numeric), false, -1));
			break;
		case jbvBinary:
			value->val.binary.data =
				memcpy(palloc(value->val.binary.len), value->val.binary.data,
					   value->val.binary.len);
			break;
		default:
			break;
	}
}

/* Push those members of an object that the uses name at that depth. */
static void
project_members(const JsonItem *object, RootUse **uses, int count, int depth,
				bool lax, JsonbParseState **state)
{
	RootUse   **same = palloc(count * sizeof(RootUse *));
	bool	   *pushed = palloc0(count * sizeof(bool));

	check_stack_depth();
	for (int i = 0; i < count; i++)
	{
		const Step *step = &uses[i]->steps[depth];
		int			same_count = 0;
		JsonItem	member;
		JsonbValue	key;
		JsonbValue	value;

		if (pushed[i])
			continue;
		for (int j = i; j < count; j++)
		{
			if (!steps_equal(step, &uses[j]->steps[depth]))
				continue;
			pushed[j] = true;
			same[same_count++] = uses[j];
		}
		if (!json_find_key(object, step->key, step->key_length, &member))
			continue;
		key.type = jbvString;
		key.val.string.val = unconstify(char *, step->key);
		key.val.string.len = step->key_length;
		pushJsonbValue(state, WJB_KEY, &key);
		if (project_item(&member, same, same_count, depth + 1, lax,
						 state) != NULL)
			continue;
		copy_value(&member, &value);
		pushJsonbValue(state, WJB_VALUE, &value);
	}
	pfree(same);
	pfree(pushed);
}

/*
 * The empty container that gives the server the same answer or error as the
 * item, which the step does not fit; jbvNull if there is none.
 */
static enum jbvType
stand_in(const JsonItem *item, const Step *step, bool lax)
{
	if (step == NULL)
		return jbvNull;
	if (step->key == NULL)
	{
		/* an index past the end, or of no array */
		return item->type == jbvArray || lax ? jbvArray : jbvObject;
	}
	/* a member of an array: lax looks into the elements */
	return item->type == jbvArray && !lax ? jbvArray : jbvNull;
}

/*
 * The document that the server gets: all it needs of the item.  NULL for the
 * whole document.
 */
static Jsonb *
project(const RootUses *roots, const JsonItem *item, int depth, bool lax)
{
	JsonbParseState *state = NULL;
	RootUse   **uses = palloc(roots->count * sizeof(RootUse *));
	JsonbValue	empty;
	JsonbValue *projection;

	MemSet(&empty, 0, sizeof(empty));
	empty.type = stand_in(item, common_step(roots, depth), lax);
	if (empty.type != jbvNull)
		return JsonbValueToJsonb(&empty);
	for (int i = 0; i < roots->count; i++)
		uses[i] = &roots->uses[i];
	projection = project_item(item, uses, roots->count, depth, lax, &state);
	if (projection != NULL)
		return JsonbValueToJsonb(projection);
	return depth == 0 ? NULL : json_item_jsonb(item);
}

/* A copy of the path in which each $ is followed by what comes depth later. */
static JsonPath *
shorten(const RootUses *roots, int depth)
{
	JsonPath   *path = palloc(VARSIZE(roots->path));

	memcpy(path, roots->path, VARSIZE(roots->path));
	for (int i = 0; i < roots->count; i++)
	{
		const RootUse *use = &roots->uses[i];
		int32		following = use->following[depth];
		char	   *link = (char *) INTALIGN((uintptr_t) path->data +
											 use->position + 1);

		if (following != 0)
			following -= use->position;
		memcpy(link, &following, sizeof(int32));
	}
	return path;
}

/* Call the server's function on a part of the document. */
static Datum
evaluate(FunctionCallInfo fcinfo, PGFunction stock, const JsonItem *root)
{
	RootUses	roots;
	JsonPathItem first;
	JsonItem	item = *root;
	int			depth = 0;
	const Step *step;
	Jsonb	   *part;
	Datum		arguments[2];
	bool		lax;

	roots.path = PG_GETARG_JSONPATH_P(1);
	lax = (roots.path->header & JSONPATH_LAX) != 0;
	roots.count = 0;
	roots.capacity = 4;
	roots.uses = palloc(roots.capacity * sizeof(RootUse));
	jspInit(&first, roots.path);
	if (json_root_is_scalar(root) && json_find_index(root, 0, &item))
	{
		arguments[0] = JsonbPGetDatum(json_item_jsonb(&item));
		return json_call_stock(fcinfo, stock, arguments, 1);
	}
	if (!find_roots(&roots, &first) || roots.count == 0)
		return stock(fcinfo);
	while ((step = common_step(&roots, depth)) != NULL)
	{
		JsonItem	next;

		if (!take_step(&item, step, lax, &next))
			break;
		item = next;
		depth++;
	}
	part = project(&roots, &item, depth, lax);
	if (part == NULL)
		return stock(fcinfo);
	arguments[0] = JsonbPGetDatum(part);
	arguments[1] = PointerGetDatum(shorten(&roots, depth));
	return json_call_stock(fcinfo, stock, arguments, 2);
}

/* All of these functions. */
static Datum
evaluate_path(FunctionCallInfo fcinfo, PGFunction stock)
{
	JsonItem	root;
	Datum		result;

	if (!json_open(PG_GETARG_DATUM(0), &root))
		return stock(fcinfo);
	result = evaluate(fcinfo, stock, &root);
	json_close(&root);
	return result;
}

/* Those that return a set look at their arguments in the first call only. */
static Datum
query_path(FunctionCallInfo fcinfo, PGFunction stock)
{
	if (fcinfo->flinfo->fn_extra != NULL)
		return stock(fcinfo);
	return evaluate_path(fcinfo, stock);
}

/* jsonb @? jsonpath */
PG_FUNCTION_INFO_V1(pg_toaster_jsonb_path_exists_opr);
Datum
pg_toaster_jsonb_path_exists_opr(PG_FUNCTION_ARGS)
{
	return evaluate_path(fcinfo, jsonb_path_exists_opr);
}

/* jsonb @@ jsonpath */
PG_FUNCTION_INFO_V1(pg_toaster_jsonb_path_match_opr);
Datum
pg_toaster_jsonb_path_match_opr(PG_FUNCTION_ARGS)
{
	return evaluate_path(fcinfo, jsonb_path_match_opr);
}

PG_FUNCTION_INFO_V1(pg_toaster_jsonb_path_exists);
Datum
pg_toaster_jsonb_path_exists(PG_FUNCTION_ARGS)
{
	return evaluate_path(fcinfo, jsonb_path_exists);
}

PG_FUNCTION_INFO_V1(pg_toaster_jsonb_path_exists_tz);
Datum
pg_toaster_jsonb_path_exists_tz(PG_FUNCTION_ARGS)
{
	return evaluate_path(fcinfo, jsonb_path_exists_tz);
}

PG_FUNCTION_INFO_V1(pg_toaster_jsonb_path_match);
Datum
pg_toaster_jsonb_path_match(PG_FUNCTION_ARGS)
{
	return evaluate_path(fcinfo, jsonb_path_match);
}

PG_FUNCTION_INFO_V1(pg_toaster_jsonb_path_match_tz);
Datum
pg_toaster_jsonb_path_match_tz(PG_FUNCTION_ARGS)
{
	return evaluate_path(fcinfo, jsonb_path_match_tz);
}

PG_FUNCTION_INFO_V1(pg_toaster_jsonb_path_query);
Datum
pg_toaster_jsonb_path_query(PG_FUNCTION_ARGS)
{
	return query_path(fcinfo, jsonb_path_query);
}

PG_FUNCTION_INFO_V1(pg_toaster_jsonb_path_query_tz);
Datum
pg_toaster_jsonb_path_query_tz(PG_FUNCTION_ARGS)
{
	return query_path(fcinfo, jsonb_path_query_tz);
}

PG_FUNCTION_INFO_V1(pg_toaster_jsonb_path_query_array);
Datum
pg_toaster_jsonb_path_query_array(PG_FUNCTION_ARGS)
{
	return evaluate_path(fcinfo, jsonb_path_query_array);
}

PG_FUNCTION_INFO_V1(pg_toaster_jsonb_path_query_array_tz);
Datum
pg_toaster_jsonb_path_query_array_tz(PG_FUNCTION_ARGS)
{
	return evaluate_path(fcinfo, jsonb_path_query_array_tz);
}

PG_FUNCTION_INFO_V1(pg_toaster_jsonb_path_query_first);
Datum
pg_toaster_jsonb_path_query_first(PG_FUNCTION_ARGS)
{
	return evaluate_path(fcinfo, jsonb_path_query_first);
}

PG_FUNCTION_INFO_V1(pg_toaster_jsonb_path_query_first_tz);
Datum
pg_toaster_jsonb_path_query_first_tz(PG_FUNCTION_ARGS)
{
	return evaluate_path(fcinfo, jsonb_path_query_first_tz);
}
