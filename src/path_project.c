/*-------------------------------------------------------------------------
 *
 * path_project.c
 *	  The part of a document that a jsonpath needs.
 *
 * It is a document of the same shape in which the accessors that follow each
 * $ find what they find in the whole document, and do not fit where they do
 * not fit there; what no $ leads to is left out:
 *
 *		accessor	item			what is taken
 *		.key		object			that member, if there is one
 *		.key		array, lax		that member of each object in it
 *		[index]		array			that element, and nulls before it
 *		[index]		other, lax		the item, if the index is 0 or last
 *		any other accessor			the whole item
 *
 * Where several $ lead to an item, and are followed by accessors of the same
 * kind, what each of them needs is taken.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/datum.h"

#include "path_project.h"

/* Accessors of one kind, those of all uses at some depth */
typedef enum StepKind
{
	KIND_OTHER,					/* not plain, none, or different kinds */
	KIND_KEY,
	KIND_INDEX,
} StepKind;

/* Those that lead to an item, and how far they have come */
typedef struct Uses
{
	PathUse   **uses;
	int			count;
	int			depth;
	bool		lax;
} Uses;

static JsonbValue *project_item(const JsonItem *item, const Uses *uses,
								JsonbParseState **state);

/* The step of a use at the depth that is reached. */
static const PathStep *
step_of(const Uses *uses, int i)
{
	return &uses->uses[i]->steps[uses->depth];
}

static StepKind
kind_of_steps(const Uses *uses)
{
	StepKind	result = KIND_OTHER;

	for (int i = 0; i < uses->count; i++)
	{
		StepKind	kind;

		if (uses->depth >= uses->uses[i]->count)
			return KIND_OTHER;
		kind = step_of(uses, i)->key != NULL ? KIND_KEY : KIND_INDEX;
		if (i > 0 && kind != result)
			return KIND_OTHER;
		result = kind;
	}
	return result;
}

/* None yet of those that come one step further. */
static Uses
next_uses(const Uses *uses)
{
	Uses		next = {NULL, 0, uses->depth + 1, uses->lax};

	next.uses = palloc(uses->count * sizeof(PathUse *));
	return next;
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

static JsonbValue *
push_empty(enum jbvType type, JsonbParseState **state)
{
	bool		is_array = type == jbvArray;

	pushJsonbValue(state, is_array ? WJB_BEGIN_ARRAY : WJB_BEGIN_OBJECT,
				   NULL);
	return pushJsonbValue(state, is_array ? WJB_END_ARRAY : WJB_END_OBJECT,
						  NULL);
}

/* Push what the uses need of a member or element. */
static void
push_item(const JsonItem *item, const Uses *uses, JsonbIteratorToken token,
		  JsonbParseState **state)
{
	JsonbValue	value;

	if (project_item(item, uses, state) != NULL)
		return;
	copy_value(item, &value);
	pushJsonbValue(state, token, &value);
}

/* Push those members of an object that the uses name. */
static void
push_members(const JsonItem *object, const Uses *uses,
			 JsonbParseState **state)
{
	Uses		same = next_uses(uses);
	bool	   *pushed = palloc0(uses->count * sizeof(bool));

	for (int i = 0; i < uses->count; i++)
	{
		const PathStep *step = step_of(uses, i);
		JsonItem	member;
		JsonbValue	key;

		if (pushed[i])
			continue;
		same.count = 0;
		for (int j = i; j < uses->count; j++)
		{
			if (!path_roots_same_step(step, step_of(uses, j)))
				continue;
			pushed[j] = true;
			same.uses[same.count++] = uses->uses[j];
		}
		if (!json_find_key(object, step->key, step->key_length, &member))
			continue;
		key.type = jbvString;
		key.val.string.val = unconstify(char *, step->key);
		key.val.string.len = step->key_length;
		pushJsonbValue(state, WJB_KEY, &key);
		push_item(&member, &same, WJB_VALUE, state);
	}
	pfree(same.uses);
	pfree(pushed);
}

static JsonbValue *
project_object(const JsonItem *object, const Uses *uses,
			   JsonbParseState **state)
{
	pushJsonbValue(state, WJB_BEGIN_OBJECT, NULL);
	push_members(object, uses, state);
	return pushJsonbValue(state, WJB_END_OBJECT, NULL);
}

/*
 * In lax mode a member accessor looks into an array: push these members of
 * its objects.  Anything else in it has no member.
 */
static JsonbValue *
project_elements(const JsonItem *array, const Uses *uses,
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
			project_object(&element, uses, state);
		else
			pushJsonbValue(state, WJB_ELEM, &null);
	}
	json_iterate_end(iterator);
	return pushJsonbValue(state, WJB_END_ARRAY, NULL);
}

/* The place in an array of a size that an index names; the size for none. */
static int64
place_of(const PathStep *step, int64 size)
{
	if (step->last)
		return Max(size - 1, 0);
	return Min(step->index, size);
}

/* The first place from one on that the uses name; the size for none. */
static int64
next_place(const Uses *uses, int64 from, int64 size, Uses *same)
{
	int64		result = size;

	for (int i = 0; i < uses->count; i++)
	{
		int64		place = place_of(step_of(uses, i), size);

		if (place < from || place > result)
			continue;
		if (place < result)
			same->count = 0;
		result = place;
		same->uses[same->count++] = uses->uses[i];
	}
	return result;
}

static bool
all_name_last(const Uses *uses)
{
	for (int i = 0; i < uses->count; i++)
	{
		if (!step_of(uses, i)->last)
			return false;
	}
	return true;
}

/* Push those elements of an array that the uses name, where they stand. */
static JsonbValue *
project_array(const JsonItem *array, const Uses *uses,
			  JsonbParseState **state)
{
	Uses		same = next_uses(uses);
	int64		size = json_count(array);
	int64		place = all_name_last(uses) ? size - 1 : 0;
	JsonbValue	null;

	null.type = jbvNull;
	pushJsonbValue(state, WJB_BEGIN_ARRAY, NULL);
	while (place < size)
	{
		int64		next = next_place(uses, place, size, &same);
		JsonItem	element;

		if (next == size)
			break;
		CHECK_FOR_INTERRUPTS();
		for (; place < next; place++)
			pushJsonbValue(state, WJB_ELEM, &null);
		if (!json_find_index(array, place, &element))
			break;
		push_item(&element, &same, WJB_ELEM, state);
		place++;
	}
	pfree(same.uses);
	return pushJsonbValue(state, WJB_END_ARRAY, NULL);
}

/* Lax mode takes what is no array for an array of one element. */
static JsonbValue *
project_wrapped(const JsonItem *item, const Uses *uses,
				JsonbParseState **state)
{
	Uses		same = next_uses(uses);

	for (int i = 0; i < uses->count; i++)
	{
		if (place_of(step_of(uses, i), 1) == 0)
			same.uses[same.count++] = uses->uses[i];
	}
	if (same.count == 0)
		return push_empty(jbvObject, state);
	return project_item(item, &same, state);
}

/*
 * Push what the uses need of an item.  NULL if that is all of it: nothing is
 * pushed then.
 */
static JsonbValue *
project_item(const JsonItem *item, const Uses *uses, JsonbParseState **state)
{
	bool		is_array = item->type == jbvArray;

	check_stack_depth();
	switch (kind_of_steps(uses))
	{
		case KIND_KEY:
			if (item->type == jbvObject)
				return project_object(item, uses, state);
			if (!is_array)
				return NULL;
			return uses->lax ? project_elements(item, uses, state) :
				push_empty(jbvArray, state);
		case KIND_INDEX:
			if (is_array)
				return project_array(item, uses, state);
			return uses->lax ? project_wrapped(item, uses, state) :
				push_empty(jbvObject, state);
		case KIND_OTHER:
			break;
	}
	return NULL;
}

/*
 * The part of an item, not a scalar at the root, that these uses need after
 * depth steps.  NULL if that is all of it.
 */
Jsonb *
path_project(const JsonItem *item, PathUse **uses, int count, int depth,
			 bool lax)
{
	Uses		all = {uses, count, depth, lax};
	JsonbParseState *state = NULL;
	JsonbValue *projection = project_item(item, &all, &state);

	return projection == NULL ? NULL : JsonbValueToJsonb(projection);
}
