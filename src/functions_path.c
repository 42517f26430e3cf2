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
 * 2. From what is left, only what the accessors name is taken (path_project.c).
 *	  A document where that is missing, or an accessor that does not fit, gives
 *	  the server the same answer or error as the whole document would.
 *
 * jsonb_path_project() has no model among the server's functions: JSON_VALUE()
 * and its like get what it returns, with the path unchanged (planner_json.c).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/array.h"
#include "utils/fmgrprotos.h"
#include "utils/jsonpath.h"

#include "json_call.h"
#include "json_tree.h"
#include "path_project.h"
#include "path_roots.h"

/* Evaluate a plain accessor; false if it does not fit the item. */
static bool
take_step(const JsonItem *item, const PathStep *step, bool lax,
		  JsonItem *result)
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

/*
 * The empty container that gives the server the same answer or error as the
 * item, which the step does not fit; jbvNull if there is none.
 */
static enum jbvType
stand_in(const JsonItem *item, const PathStep *step, bool lax)
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
project(const PathRoots *roots, const JsonItem *item, int depth)
{
	PathUse   **uses = palloc(roots->count * sizeof(PathUse *));
	JsonbValue	empty;
	Jsonb	   *projection;

	MemSet(&empty, 0, sizeof(empty));
	empty.type = stand_in(item, path_roots_common_step(roots, depth),
						  roots->lax);
	if (empty.type != jbvNull)
		return JsonbValueToJsonb(&empty);
	for (int i = 0; i < roots->count; i++)
		uses[i] = &roots->uses[i];
	projection = path_project(item, uses, roots->count, depth, roots->lax);
	if (projection != NULL || depth == 0)
		return projection;
	return json_item_jsonb(item);
}

/* Call the server's function on a part of the document. */
static Datum
evaluate(FunctionCallInfo fcinfo, PGFunction stock, const JsonItem *root)
{
	PathRoots	roots;
	JsonItem	item = *root;
	int			depth = 0;
	const PathStep *step;
	Jsonb	   *part;
	Datum		arguments[2];

	if (json_root_is_scalar(root) && json_find_index(root, 0, &item))
	{
		arguments[0] = JsonbPGetDatum(json_item_jsonb(&item));
		return json_call_stock(fcinfo, stock, arguments, 1);
	}
	if (!path_roots_find(PG_GETARG_JSONPATH_P(1), &roots) ||
		roots.count == 0)
		return stock(fcinfo);
	while ((step = path_roots_common_step(&roots, depth)) != NULL)
	{
		JsonItem	next;

		if (!take_step(&item, step, roots.lax, &next))
			break;
		item = next;
		depth++;
	}
	part = project(&roots, &item, depth);
	if (part == NULL)
		return stock(fcinfo);
	arguments[0] = JsonbPGetDatum(part);
	arguments[1] = PointerGetDatum(path_roots_shorten(&roots, depth));
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
/* A use of the document by way of what another one leads to */
static PathUse *
join_uses(const PathUse *first, const PathUse *second)
{
	PathUse    *result = palloc(sizeof(PathUse));

	*result = *first;
	result->count += second->count;
	result->steps = palloc(Max(result->count, 1) * sizeof(PathStep));
	memcpy(result->steps, first->steps, first->count * sizeof(PathStep));
	memcpy(result->steps + first->count, second->steps,
		   second->count * sizeof(PathStep));
	return result;
}

/* Add what a path needs of that to which the use leads. */
static List *
add_uses_below(List *uses, PathUse *use, JsonPath *path, bool lax)
{
	PathRoots	roots;

	if (!path_roots_find(path, &roots) || roots.lax != lax)
		return lappend(uses, use);
	for (int i = 0; i < roots.count; i++)
		uses = lappend(uses, join_uses(use, &roots.uses[i]));
	return uses;
}

/*
 * How a path uses the document, and, where other paths are evaluated on what
 * it finds and nothing else is done with that, how these do.  NIL if that is
 * not known.
 */
static List *
uses_of_paths(JsonPath *path, ArrayType *below)
{
	PathRoots	roots;
	List	   *uses = NIL;
	Datum	   *paths;
	int			count;

	if (!path_roots_find(path, &roots))
		return NIL;
	deconstruct_array(below, JSONPATHOID, -1, false, TYPALIGN_INT,
					  &paths, NULL, &count);
	if (count > 0 && path_roots_is_plain(&roots))
	{
		for (int i = 0; i < count; i++)
			uses = add_uses_below(uses, &roots.uses[0],
								  DatumGetJsonPathP(paths[i]), roots.lax);
		return uses;
	}
	for (int i = 0; i < roots.count; i++)
		uses = lappend(uses, &roots.uses[i]);
	return uses;
}

/*
 * jsonb_path_project(document jsonb, path jsonpath, below jsonpath[]): a
 * document that is to the path, and to those below it, what this one is;
 * this one itself if there is no smaller one.
 */
PG_FUNCTION_INFO_V1(pg_toaster_jsonb_path_project);
Datum
pg_toaster_jsonb_path_project(PG_FUNCTION_ARGS)
{
	JsonItem	root;
	List	   *uses;
	PathUse   **array;
	Jsonb	   *result = NULL;

	if (!json_open(PG_GETARG_DATUM(0), &root))
		PG_RETURN_DATUM(PG_GETARG_DATUM(0));
	uses = uses_of_paths(PG_GETARG_JSONPATH_P(1), PG_GETARG_ARRAYTYPE_P(2));
	if (uses != NIL && !json_root_is_scalar(&root))
	{
		array = palloc(list_length(uses) * sizeof(PathUse *));
		for (int i = 0; i < list_length(uses); i++)
			array[i] = list_nth(uses, i);
		result = path_project(&root, array, list_length(uses), 0,
							  (PG_GETARG_JSONPATH_P(1)->header &
							   JSONPATH_LAX) != 0);
	}
	json_close(&root);
	if (result == NULL)
		PG_RETURN_DATUM(PG_GETARG_DATUM(0));
	PG_RETURN_JSONB_P(result);
}
