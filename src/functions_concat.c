/*-------------------------------------------------------------------------
 *
 * functions_concat.c
 *	  SQL function jsonb || jsonb on a document that is kept as a tree.
 *
 * One side is a tree of ours; the other one is added to it member by member:
 * the keys of an object, the elements of an array, or all of it as an element.
 * Where these are very many, the server's function is called.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "utils/fmgrprotos.h"

#include "edit_call.h"

/* Set the pairs of an object; if only_new, those whose key is not there. */
static void
add_pairs(Edited *edited, JsonbContainer *added, bool only_new)
{
	JsonbIterator *iterator = JsonbIteratorInit(added);
	JsonbIteratorToken token;
	JsonbValue	key;
	JsonbValue	value;
	JsonItem	member;

	while ((token = JsonbIteratorNext(&iterator, &key, true)) != WJB_DONE)
	{
		bool		found;

		if (token != WJB_KEY)
			continue;
		(void) JsonbIteratorNext(&iterator, &value, true);
		found = json_edit_find_key(edited->editor, key.val.string.val,
								   key.val.string.len, &member);
		if (!found)
			json_edit_insert(edited->editor, &value);
		else if (!only_new)
			json_edit_replace(edited->editor, &value);
		else
			json_edit_rewind(edited->editor);
	}
}

/* Insert the elements of an array, or an object, from position on. */
static void
add_elements(Edited *edited, Jsonb *added, uint32 position)
{
	JsonbContainer *container = &added->root;
	bool		is_object = JsonContainerIsObject(container);
	uint32		count = is_object ? 1 : JsonContainerSize(container);

	for (uint32 i = 0; i < count; i++)
	{
		JsonbValue	object = {.type = jbvBinary};
		JsonItem	member;

		object.val.binary.data = container;
		object.val.binary.len = VARSIZE(added) - VARHDRSZ;
		(void) json_edit_find_index(edited->editor, position + i, &member);
		json_edit_insert(edited->editor, is_object ? &object :
						 getIthJsonbValueFromContainer(container, i));
	}
}

/* Add what stands on the other side; false if that is not for us. */
static bool
add(Edited *edited, Jsonb *added, bool in_front)
{
	const JsonItem *root = json_edit_container(edited->editor);

	if (JsonContainerSize(&added->root) > MANY_MEMBERS)
		return false;
	if (root->type == jbvObject && JsonContainerIsObject(&added->root))
	{
		add_pairs(edited, &added->root, in_front);
		return true;
	}
	if (root->type == jbvObject)
		json_edit_wrap(edited->editor);
	root = json_edit_container(edited->editor);
	add_elements(edited, added, in_front ? 0 : json_count(root));
	return true;
}

/* jsonb || jsonb */
PG_FUNCTION_INFO_V1(pg_toaster_jsonb_concat);
Datum
pg_toaster_jsonb_concat(PG_FUNCTION_ARGS)
{
	Datum		left = PG_GETARG_DATUM(0);
	Datum		right = PG_GETARG_DATUM(1);
	bool		swap = toast_raw_datum_size(left) < toast_raw_datum_size(right);
	int			tree = swap ? 1 : 0;
	Edited		edited;

	/* the longer one, unless only the other one is a tree */
	if (!edit_call_begin(fcinfo, swap ? right : left, &edited))
	{
		tree = 1 - tree;
		if (!edit_call_begin(fcinfo, swap ? left : right, &edited))
			return jsonb_concat(fcinfo);
	}
	if (!add(&edited, PG_GETARG_JSONB_P(1 - tree), tree == 1))
		return edit_call_give_up(&edited, fcinfo, jsonb_concat);
	return edit_call_finish(&edited, tree == 0 ? left : right);
}
