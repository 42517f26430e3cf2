/*-------------------------------------------------------------------------
 *
 * functions_edit.c
 *	  SQL functions that change a document: jsonb_set(), -, #-,
 *	  subscripts that are assigned to.
 *
 * Each of them takes the document undetoasted and returns an edit of it
 * (edit.h), if it is a tree of ours; if not, the server's function is called.
 * The planner puts them where the result goes into a column only.
 *
 * What a path means is left to the server: it is followed as far as it leads
 * through stored containers.  For the last of these a *stand-in* is made,
 * with the one member that the path names, at the same depth, and the
 * server's function changes that, or raises its error.  What has become of the
 * member then is done to the document.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/jsonfuncs.h"

#include "edit_call.h"
#include "json_call.h"

/* A path, and how far it leads through stored containers. */
typedef struct Path
{
	Datum	   *steps;
	bool	   *nulls;
	int			count;
	int			depth;			/* steps that lead into stored containers */
	bool		is_object;		/* the last of these */
	bool		found;			/* has it the member of the next step? */
	JsonItem	member;
	uint32		count_there;	/* members of that container */
	int64		index;			/* in an array; if not found, where to be */
	bool		behind;			/* behind the end of the array */
	int64		beyond;			/* and so far */
} Path;

static void
read_path(ArrayType *array, Path *path)
{
	memset(path, 0, sizeof(Path));
	deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT,
					  &path->steps, &path->nulls, &path->count);
}

/* Look for the member of an array that a step names. */
static bool
find_element(Edited *edited, Path *path, Datum step)
{
	int64		count = path->count_there;
	int			index;

	path->behind = false;
	path->beyond = 0;
	path->index = 0;
	if (!json_call_index(step, &index))
		return false;
	if (index < 0)
	{
		path->index = Max(count + index, 0);
		return -(int64) index <= count;
	}
	path->behind = index >= count;
	path->beyond = path->behind ? index - count : 0;
	path->index = path->behind ? count : index;
	return !path->behind;
}

/* Look for the member of the present container that the next step names. */
static void
find_step(Edited *edited, Path *path)
{
	Datum		step = path->steps[path->depth];

	path->is_object =
		json_edit_container(edited->editor)->type == jbvObject;
	path->count_there =
		json_count(json_edit_container(edited->editor));
	path->found = false;
	if (path->nulls[path->depth])
		return;
	if (path->is_object)
	{
		text	   *key = DatumGetTextPP(step);

		path->found = json_edit_find_key(edited->editor, VARDATA_ANY(key),
										 VARSIZE_ANY_EXHDR(key),
										 &path->member);
		return;
	}
	path->found = find_element(edited, path, step);
	if (path->found)
		(void) json_edit_find_index(edited->editor, path->index,
									&path->member);
}

/* Follow a path as far as it leads through stored containers. */
static void
follow(Edited *edited, Path *path)
{
	for (;;)
	{
		find_step(edited, path);
		if (!path->found || path->depth == path->count - 1 ||
			!path->member.stored ||
			(path->member.type != jbvObject &&
			 path->member.type != jbvArray))
			return;
		json_edit_enter(edited->editor);
		path->depth++;
	}
}

/* A short value for the member: itself, or an empty one of its type. */
static void
stand_in_value(const JsonItem *member, JsonbValue *value)
{
	if (!member->stored)
	{
		*value = member->value;
		return;
	}
	memset(value, 0, sizeof(JsonbValue));
	value->type = jbvString;
	if (member->type == jbvNumeric)
	{
		value->type = jbvNumeric;
		value->val.numeric =
			DatumGetNumeric(DirectFunctionCall1(int4_numeric,
												Int32GetDatum(0)));
	}
	else if (member->type != jbvString)
	{
		value->type = jbvBinary;
		value->val.binary.data = (JsonbContainer *)
			palloc0(sizeof(JsonbContainer));
		value->val.binary.data->header = member->type == jbvObject ?
			JB_FOBJECT : JB_FARRAY;
		value->val.binary.len = sizeof(uint32);
	}
}

static void
set_key(Datum step, JsonbValue *key)
{
	text	   *value = DatumGetTextPP(step);

	key->type = jbvString;
	key->val.string.val = VARDATA_ANY(value);
	key->val.string.len = VARSIZE_ANY_EXHDR(value);
}

/* A key other than the one that is looked for. */
static void
set_other_key(const Path *path, JsonbValue *key)
{
	bool		empty = !path->nulls[path->depth] &&
		VARSIZE_ANY_EXHDR(DatumGetTextPP(path->steps[path->depth])) == 0;

	key->type = jbvString;
	key->val.string.val = "x";
	key->val.string.len = empty ? 1 : 0;
}

/*
 * The last stored container with the member in question alone; with another
 * one if that is not there, since the server takes empty containers for a
 * special case.
 */
static Jsonb *
make_stand_in(const Path *path)
{
	JsonbParseState *state = NULL;
	JsonbValue	key = {0};
	JsonbValue	value;
	JsonbValue *result;

	key.type = jbvString;
	key.val.string.val = "";
	for (int i = 0; i < path->depth; i++)
	{
		pushJsonbValue(&state, WJB_BEGIN_OBJECT, NULL);
		pushJsonbValue(&state, WJB_KEY, &key);
	}
	pushJsonbValue(&state, path->is_object ? WJB_BEGIN_OBJECT :
				   WJB_BEGIN_ARRAY, NULL);
	value.type = jbvNull;
	if (path->found)
		stand_in_value(&path->member, &value);
	if (path->is_object && path->found)
		set_key(path->steps[path->depth], &key);
	else if (path->is_object)
		set_other_key(path, &key);
	if (path->count_there > 0)
	{
		if (path->is_object)
			pushJsonbValue(&state, WJB_KEY, &key);
		pushJsonbValue(&state, path->is_object ? WJB_VALUE : WJB_ELEM,
					   &value);
	}
	result = pushJsonbValue(&state, path->is_object ? WJB_END_OBJECT :
							WJB_END_ARRAY, NULL);
	for (int i = 0; i < path->depth; i++)
		result = pushJsonbValue(&state, WJB_END_OBJECT, NULL);
	return JsonbValueToJsonb(result);
}

/* The steps that lead to the same place in the stand-in. */
static Datum *
stand_in_steps(const Path *path)
{
	Datum	   *steps = palloc(path->count * sizeof(Datum));

	for (int i = 0; i < path->count; i++)
		steps[i] = i < path->depth ? PointerGetDatum(cstring_to_text("")) :
			path->steps[i];
	if (!path->is_object && path->found)
		steps[path->depth] = PointerGetDatum(cstring_to_text("0"));
	else if (!path->is_object && path->behind)
		steps[path->depth] =
			PointerGetDatum(cstring_to_text(psprintf(INT64_FORMAT,
													 path->beyond +
													 Min(path->count_there,
														 1))));
	return steps;
}

static Datum
make_path(const Path *path, Datum *steps)
{
	int			count = path->count;
	int			lower = 1;

	return PointerGetDatum(construct_md_array(steps, path->nulls, 1, &count,
											  &lower, TEXTOID, -1, false,
											  TYPALIGN_INT));
}

/* The container in a changed stand-in that stands for the last stored one. */
static JsonbContainer *
stand_in_result(Jsonb *jsonb, const Path *path)
{
	JsonbContainer *container = &jsonb->root;

	for (int i = 0; i < path->depth; i++)
	{
		JsonbValue	value;

		if (getKeyJsonValueFromContainer(container, "", 0, &value) == NULL ||
			value.type != jbvBinary)
			elog(ERROR, "function has changed more than the path names");
		container = value.val.binary.data;
	}
	return container;
}

/* Do to the object what was done to the stand-in. */
static void
apply_to_object(Edited *edited, const Path *path, JsonbContainer *result)
{
	text	   *key = path->nulls[path->depth] ? NULL :
		DatumGetTextPP(path->steps[path->depth]);
	JsonbValue	buffer;
	JsonbValue *value = key == NULL ? NULL :
		getKeyJsonValueFromContainer(result, VARDATA_ANY(key),
									 VARSIZE_ANY_EXHDR(key), &buffer);

	if (path->found && value == NULL)
		json_edit_delete(edited->editor);
	else if (path->found)
		json_edit_replace(edited->editor, value);
	else if (value != NULL)
		json_edit_insert(edited->editor, value);
}

/* Go back to the container that the path leads to, after a change. */
static void
go_back(Edited *edited, const Path *path)
{
	Path		part = *path;

	for (part.depth = 0; part.depth < path->depth; part.depth++)
	{
		find_step(edited, &part);
		json_edit_enter(edited->editor);
	}
}

/* Insert the new elements of a stand-in at one end of the array. */
static void
insert_new(Edited *edited, const Path *path, JsonbContainer *result)
{
	uint32		old = Min(path->count_there, 1);
	uint32		count = JsonContainerSize(result) - old;

	for (uint32 i = 0; i < count; i++)
	{
		JsonItem	member;

		if (i > 0)
			go_back(edited, path);
		(void) json_edit_find_index(edited->editor, path->index + i, &member);
		json_edit_insert(edited->editor,
						 getIthJsonbValueFromContainer(result,
													   path->behind ? old + i :
													   i));
	}
}

/* The same for arrays. */
static void
apply_to_array(Edited *edited, const Path *path, JsonbContainer *result,
			   bool insert_after)
{
	uint32		count = JsonContainerSize(result);
	JsonItem	member;

	if (path->found && count == 0)
		json_edit_delete(edited->editor);
	else if (path->found && count == 1)
		json_edit_replace(edited->editor,
						  getIthJsonbValueFromContainer(result, 0));
	else if (path->found)
	{
		(void) json_edit_find_index(edited->editor,
									path->index + (insert_after ? 1 : 0),
									&member);
		json_edit_insert(edited->editor,
						 getIthJsonbValueFromContainer(result,
													   insert_after ? 1 : 0));
	}
	else
		insert_new(edited, path, result);
}

/*
 * The path leads into a scalar that is stored by itself: the server raises
 * an error or changes nothing.
 */
static bool
leads_into_scalar(const Path *path)
{
	return path->found && path->depth < path->count - 1 &&
		path->member.stored;
}

/* Change the document as the server's function changes the stand-in. */
static void
apply(Edited *edited, const Path *path, Jsonb *result, bool insert_after)
{
	JsonbContainer *container;

	if (leads_into_scalar(path))
		return;
	container = stand_in_result(result, path);
	if (path->is_object)
		apply_to_object(edited, path, container);
	else
		apply_to_array(edited, path, container, insert_after);
}

/*
 * What the functions with a path have in common: document and path are their
 * first arguments.
 */
static Datum
edit_by_path(FunctionCallInfo fcinfo, PGFunction stock, bool insert_after)
{
	Datum		datum = PG_GETARG_DATUM(0);
	ArrayType  *array;
	Edited		edited;
	Path		path;
	Datum		arguments[2];
	Datum		result;

	/* jsonb_set_lax() changes its arguments, which may be constants */
	if (!edit_call_begin(fcinfo, datum, &edited))
		return json_call_stock(fcinfo, stock, NULL, 0);
	array = PG_GETARG_ARRAYTYPE_P(1);
	if (ARR_NDIM(array) > 1)
		edit_call_check(&edited, fcinfo, stock);
	read_path(array, &path);
	if (path.count == 0)
		edit_call_check(&edited, fcinfo, stock);
	else
	{
		follow(&edited, &path);
		arguments[0] = JsonbPGetDatum(make_stand_in(&path));
		arguments[1] = make_path(&path, stand_in_steps(&path));
		result = json_call_stock(fcinfo, stock, arguments, 2);
		apply(&edited, &path, DatumGetJsonbP(result), insert_after);
	}
	return edit_call_finish(&edited, datum);
}

/* jsonb_set() */
PG_FUNCTION_INFO_V1(pg_toaster_jsonb_set);
Datum
pg_toaster_jsonb_set(PG_FUNCTION_ARGS)
{
	return edit_by_path(fcinfo, jsonb_set, false);
}

/* jsonb_set_lax() */
PG_FUNCTION_INFO_V1(pg_toaster_jsonb_set_lax);
Datum
pg_toaster_jsonb_set_lax(PG_FUNCTION_ARGS)
{
	if (PG_ARGISNULL(0) || PG_ARGISNULL(1) || PG_ARGISNULL(3) ||
		PG_ARGISNULL(4))
		return jsonb_set_lax(fcinfo);
	if (PG_ARGISNULL(2) &&
		strcmp(text_to_cstring(PG_GETARG_TEXT_PP(4)), "return_target") == 0)
		return PG_GETARG_DATUM(0);
	return edit_by_path(fcinfo, jsonb_set_lax, false);
}

/* jsonb_insert() */
PG_FUNCTION_INFO_V1(pg_toaster_jsonb_insert);
Datum
pg_toaster_jsonb_insert(PG_FUNCTION_ARGS)
{
	return edit_by_path(fcinfo, jsonb_insert, PG_GETARG_BOOL(3));
}

/* jsonb #- text[] */
PG_FUNCTION_INFO_V1(pg_toaster_jsonb_delete_path);
Datum
pg_toaster_jsonb_delete_path(PG_FUNCTION_ARGS)
{
	return edit_by_path(fcinfo, jsonb_delete_path, false);
}

/* The value that is assigned: that of the third argument, or a JSON null. */
static void
assigned_value(FunctionCallInfo fcinfo, JsonbValue *value)
{
	memset(value, 0, sizeof(JsonbValue));
	value->type = jbvNull;
	if (!PG_ARGISNULL(2))
		JsonbToJsonbValue(PG_GETARG_JSONB_P(2), value);
}

/* Assign to a place in a document that is not a tree of ours. */
static Datum
assign_flat(FunctionCallInfo fcinfo, Path *path, JsonbValue *value)
{
	JsonbValue	empty = {0};
	Jsonb	   *jsonb;

	if (!PG_ARGISNULL(0))
		jsonb = PG_GETARG_JSONB_P(0);
	else
	{
		empty.type = PG_GETARG_BOOL(3) ? jbvArray : jbvObject;
		jsonb = JsonbValueToJsonb(&empty);
	}
	return jsonb_set_element(jsonb, path->steps, path->count, value);
}

/*
 * jsonb_subscript_assign(document, path, value, array): the document with the
 * value assigned to document[path]; array: what a document that is NULL
 * becomes, an array or an object.
 */
PG_FUNCTION_INFO_V1(pg_toaster_jsonb_subscript_assign);
Datum
pg_toaster_jsonb_subscript_assign(PG_FUNCTION_ARGS)
{
	Edited		edited;
	Path		path;
	JsonbValue	value;
	Datum		result;

	if (PG_ARGISNULL(1) || PG_ARGISNULL(3))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("path of an assignment must not be null")));
	read_path(PG_GETARG_ARRAYTYPE_P(1), &path);
	for (int i = 0; i < path.count; i++)
	{
		if (path.nulls[i])
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("jsonb subscript in assignment must not be null")));
	}
	assigned_value(fcinfo, &value);
	if (PG_ARGISNULL(0) ||
		!edit_call_begin(fcinfo, PG_GETARG_DATUM(0), &edited))
		return assign_flat(fcinfo, &path, &value);
	follow(&edited, &path);
	if (path.beyond > MANY_MEMBERS)
	{
		document_close(edited.document);
		return assign_flat(fcinfo, &path, &value);
	}
	result = jsonb_set_element(make_stand_in(&path), stand_in_steps(&path),
							   path.count, &value);
	apply(&edited, &path, DatumGetJsonbP(result), false);
	return edit_call_finish(&edited, PG_GETARG_DATUM(0));
}

/* Delete a key, if it is there. */
static void
delete_key(Edited *edited, text *key)
{
	JsonItem	member;

	if (json_edit_find_key(edited->editor, VARDATA_ANY(key),
						   VARSIZE_ANY_EXHDR(key), &member))
		json_edit_delete(edited->editor);
	else
		json_edit_rewind(edited->editor);
}

/* Is the item one of these strings? */
static bool
is_string_of(const JsonItem *item, text **strings, int count)
{
	JsonbValue	value;

	if (item->type != jbvString)
		return false;
	for (int i = 0; i < count; i++)
	{
		uint32		length = VARSIZE_ANY_EXHDR(strings[i]);

		if (item->stored && item->flat_size != length)
			continue;
		json_item_value(item, &value);
		if (value.val.string.len == length &&
			memcmp(value.val.string.val, VARDATA_ANY(strings[i]), length) == 0)
			return true;
	}
	return false;
}

/* Delete the elements that are one of these strings; false if too many. */
static bool
delete_strings(Edited *edited, text **strings, int count)
{
	uint32	   *places = palloc(MANY_MEMBERS * sizeof(uint32));
	JsonIterator *iterator =
		json_iterate(json_edit_container(edited->editor), 0);
	JsonItem	item;
	int			found = 0;

	for (uint32 i = 0; json_next(iterator, NULL, &item); i++)
	{
		if (!is_string_of(&item, strings, count))
			continue;
		if (found == MANY_MEMBERS)
			return false;
		places[found++] = i;
	}
	json_iterate_end(iterator);
	while (found-- > 0)
	{
		(void) json_edit_find_index(edited->editor, places[found], &item);
		json_edit_delete(edited->editor);
	}
	return true;
}

/* Delete keys of an object, or strings of an array. */
static Datum
delete_members(FunctionCallInfo fcinfo, PGFunction stock, Edited *edited,
			   text **keys, int count)
{
	if (json_edit_container(edited->editor)->type == jbvArray)
	{
		if (!delete_strings(edited, keys, count))
			return edit_call_give_up(edited, fcinfo, stock);
	}
	else if (count > MANY_MEMBERS)
		return edit_call_give_up(edited, fcinfo, stock);
	else
		for (int i = 0; i < count; i++)
			delete_key(edited, keys[i]);
	return edit_call_finish(edited, PG_GETARG_DATUM(0));
}

/* jsonb - text */
PG_FUNCTION_INFO_V1(pg_toaster_jsonb_delete);
Datum
pg_toaster_jsonb_delete(PG_FUNCTION_ARGS)
{
	Edited		edited;
	text	   *key;

	if (!edit_call_begin(fcinfo, PG_GETARG_DATUM(0), &edited))
		return jsonb_delete(fcinfo);
	key = PG_GETARG_TEXT_PP(1);
	return delete_members(fcinfo, jsonb_delete, &edited, &key, 1);
}

/* jsonb - text[] */
PG_FUNCTION_INFO_V1(pg_toaster_jsonb_delete_array);
Datum
pg_toaster_jsonb_delete_array(PG_FUNCTION_ARGS)
{
	Edited		edited;
	Path		path;
	text	  **keys;
	int			count = 0;

	if (!edit_call_begin(fcinfo, PG_GETARG_DATUM(0), &edited))
		return jsonb_delete_array(fcinfo);
	if (ARR_NDIM(PG_GETARG_ARRAYTYPE_P(1)) > 1)
		edit_call_check(&edited, fcinfo, jsonb_delete_array);
	read_path(PG_GETARG_ARRAYTYPE_P(1), &path);
	keys = palloc(path.count * sizeof(text *));
	for (int i = 0; i < path.count; i++)
	{
		if (!path.nulls[i])
			keys[count++] = DatumGetTextPP(path.steps[i]);
	}
	return delete_members(fcinfo, jsonb_delete_array, &edited, keys, count);
}

/* jsonb - int */
PG_FUNCTION_INFO_V1(pg_toaster_jsonb_delete_idx);
Datum
pg_toaster_jsonb_delete_idx(PG_FUNCTION_ARGS)
{
	int64		index = PG_GETARG_INT32(1);
	Edited		edited;
	JsonItem	member;
	int64		count;

	if (!edit_call_begin(fcinfo, PG_GETARG_DATUM(0), &edited))
		return jsonb_delete_idx(fcinfo);
	if (json_edit_container(edited.editor)->type == jbvObject)
		edit_call_check(&edited, fcinfo, jsonb_delete_idx);
	count = json_count(json_edit_container(edited.editor));
	if (index < 0)
		index += count;
	if (index >= 0 && index < count)
	{
		(void) json_edit_find_index(edited.editor, index, &member);
		json_edit_delete(edited.editor);
	}
	return edit_call_finish(&edited, PG_GETARG_DATUM(0));
}
