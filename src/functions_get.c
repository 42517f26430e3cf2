/*-------------------------------------------------------------------------
 *
 * functions_get.c
 *	  SQL functions that take one value out of a document: ->, ->>, #>, #>>,
 *	  subscripts.
 *
 * Each of them takes the document undetoasted.  If it is a tree of ours, the
 * nodes on the path are read; if not, the server's function is called.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"

#include "json_call.h"
#include "json_tree.h"

/* Return an item, or NULL for none, as jsonb or as text. */
static Datum
return_item(FunctionCallInfo fcinfo, JsonItem *root, const JsonItem *item,
			bool as_text)
{
	Datum		result = (Datum) 0;

	if (item == NULL)
		fcinfo->isnull = true;
	else if (as_text)
	{
		text	   *value = json_item_text(item);

		fcinfo->isnull = value == NULL;
		result = PointerGetDatum(value);
	}
	else
		result = json_item_datum(item);
	json_close(root);
	return result;
}

/* The member of an object; any other item has none. */
static bool
find_member(const JsonItem *item, text *key, JsonItem *member)
{
	return item->type == jbvObject &&
		json_find_key(item, VARDATA_ANY(key), VARSIZE_ANY_EXHDR(key), member);
}

/*
 * The element of an array, from the end if index is negative; any other item
 * has none.  A scalar at the root is an array of one element.
 */
static bool
find_element(const JsonItem *item, int64 index, JsonItem *element)
{
	int64		count;

	if (item->type != jbvArray)
		return false;
	count = json_count(item);
	if (index < 0)
		index += count;
	return index >= 0 && index < count &&
		json_find_index(item, index, element);
}

/* The element that a step of a path names: nothing, if it is no integer. */
static bool
find_element_by_text(const JsonItem *item, text *step, JsonItem *element)
{
	int			index;

	return json_call_index(PointerGetDatum(step), &index) &&
		find_element(item, index, element);
}

static Datum
get_member(FunctionCallInfo fcinfo, JsonItem *root, bool as_text)
{
	JsonItem	member;
	bool		found = find_member(root, PG_GETARG_TEXT_PP(1), &member);

	return return_item(fcinfo, root, found ? &member : NULL, as_text);
}

static Datum
get_element(FunctionCallInfo fcinfo, JsonItem *root, bool as_text)
{
	JsonItem	element;
	bool		found = find_element(root, PG_GETARG_INT32(1), &element);

	return return_item(fcinfo, root, found ? &element : NULL, as_text);
}

/* Follow a path; false if it leads nowhere. */
static bool
follow_path(const JsonItem *root, Datum *steps, int count, JsonItem *item)
{
	JsonItem	parent = *root;

	for (int i = 0; i < count; i++)
	{
		text	   *step = DatumGetTextPP(steps[i]);
		bool		found;

		/* nothing leads into a scalar, not even into one at the root */
		if (parent.type == jbvObject)
			found = find_member(&parent, step, item);
		else
			found = parent.type == jbvArray &&
				!(i == 0 && json_root_is_scalar(root)) &&
				find_element_by_text(&parent, step, item);
		if (!found)
			return false;
		parent = *item;
	}
	return true;
}

static Datum
get_by_path(FunctionCallInfo fcinfo, PGFunction stock, JsonItem *root,
			bool as_text)
{
	ArrayType  *path = PG_GETARG_ARRAYTYPE_P(1);
	Datum	   *steps;
	bool	   *nulls;
	int			count;
	JsonItem	item;
	bool		found;

	if (array_contains_nulls(path))
		return return_item(fcinfo, root, NULL, as_text);
	deconstruct_array(path, TEXTOID, -1, false, TYPALIGN_INT,
					  &steps, &nulls, &count);
	if (count > 0)
	{
		found = follow_path(root, steps, count, &item);
		return return_item(fcinfo, root, found ? &item : NULL, as_text);
	}

	/* an empty path leads to the document itself */
	if (as_text && json_root_is_scalar(root))
	{
		found = json_find_index(root, 0, &item);
		return return_item(fcinfo, root, found ? &item : NULL, as_text);
	}
	json_close(root);
	return as_text ? stock(fcinfo) : PG_GETARG_DATUM(0);
}

/* jsonb -> text */
PG_FUNCTION_INFO_V1(pg_toaster_jsonb_object_field);
Datum
pg_toaster_jsonb_object_field(PG_FUNCTION_ARGS)
{
	JsonItem	root;

	if (!json_open(PG_GETARG_DATUM(0), &root))
		return jsonb_object_field(fcinfo);
	return get_member(fcinfo, &root, false);
}

/* jsonb ->> text */
PG_FUNCTION_INFO_V1(pg_toaster_jsonb_object_field_text);
Datum
pg_toaster_jsonb_object_field_text(PG_FUNCTION_ARGS)
{
	JsonItem	root;

	if (!json_open(PG_GETARG_DATUM(0), &root))
		return jsonb_object_field_text(fcinfo);
	return get_member(fcinfo, &root, true);
}

/* jsonb -> int */
PG_FUNCTION_INFO_V1(pg_toaster_jsonb_array_element);
Datum
pg_toaster_jsonb_array_element(PG_FUNCTION_ARGS)
{
	JsonItem	root;

	if (!json_open(PG_GETARG_DATUM(0), &root))
		return jsonb_array_element(fcinfo);
	return get_element(fcinfo, &root, false);
}

/* jsonb ->> int */
PG_FUNCTION_INFO_V1(pg_toaster_jsonb_array_element_text);
Datum
pg_toaster_jsonb_array_element_text(PG_FUNCTION_ARGS)
{
	JsonItem	root;

	if (!json_open(PG_GETARG_DATUM(0), &root))
		return jsonb_array_element_text(fcinfo);
	return get_element(fcinfo, &root, true);
}

/* jsonb #> text[], jsonb[..], jsonb_extract_path() */
PG_FUNCTION_INFO_V1(pg_toaster_jsonb_extract_path);
Datum
pg_toaster_jsonb_extract_path(PG_FUNCTION_ARGS)
{
	JsonItem	root;

	if (!json_open(PG_GETARG_DATUM(0), &root))
		return jsonb_extract_path(fcinfo);
	return get_by_path(fcinfo, jsonb_extract_path, &root, false);
}

/* jsonb #>> text[], jsonb_extract_path_text() */
PG_FUNCTION_INFO_V1(pg_toaster_jsonb_extract_path_text);
Datum
pg_toaster_jsonb_extract_path_text(PG_FUNCTION_ARGS)
{
	JsonItem	root;

	if (!json_open(PG_GETARG_DATUM(0), &root))
		return jsonb_extract_path_text(fcinfo);
	return get_by_path(fcinfo, jsonb_extract_path_text, &root, true);
}
