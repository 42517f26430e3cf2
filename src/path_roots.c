/*-------------------------------------------------------------------------
 *
 * path_roots.c
 *	  Where a jsonpath names the document, and what it takes of it.
 *
 * How a path is stored, in the words of this file: an item is its type, then,
 * at the next multiple of 4 bytes, the distance to the item that follows it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/fmgrprotos.h"
#include "utils/numeric.h"

#include "compat.h"
#include "path_roots.h"

static bool find_roots(PathRoots *roots, JsonPathItem *item);

/* Set *step if the item is a plain accessor. */
static bool
read_step(JsonPathItem *item, PathStep *step)
{
	JsonPathItem from;
	JsonPathItem to;

	memset(step, 0, sizeof(PathStep));
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

/* Are two accessors the same? */
bool
path_roots_same_step(const PathStep *a, const PathStep *b)
{
	if ((a->key == NULL) != (b->key == NULL))
		return false;
	if (a->key == NULL)
		return a->last == b->last && a->index == b->index;
	return a->key_length == b->key_length &&
		memcmp(a->key, b->key, a->key_length) == 0;
}

static int32
position_of(const PathRoots *roots, const JsonPathItem *item)
{
	return item->base - roots->path->data;
}

/* Note a $ and what follows it. */
static void
add_root(PathRoots *roots, JsonPathItem *root)
{
	PathUse    *use;
	JsonPathItem item = *root;
	JsonPathItem next;
	int			capacity = 4;

	if (roots->count == roots->capacity)
	{
		roots->capacity *= 2;
		roots->uses = repalloc(roots->uses,
							   roots->capacity * sizeof(PathUse));
	}
	use = &roots->uses[roots->count++];
	use->position = position_of(roots, root);
	use->count = 0;
	use->steps = palloc(capacity * sizeof(PathStep));
	use->following = palloc((capacity + 1) * sizeof(int32));
	for (;;)
	{
		bool		has_next = jspGetNext(&item, &next);

		if (use->count == capacity)
		{
			capacity *= 2;
			use->steps = repalloc(use->steps, capacity * sizeof(PathStep));
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
find_roots_in_subscripts(PathRoots *roots, JsonPathItem *item)
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
find_roots_in_operands(PathRoots *roots, JsonPathItem *item)
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
find_roots(PathRoots *roots, JsonPathItem *item)
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
const PathStep *
path_roots_common_step(const PathRoots *roots, int depth)
{
	for (int i = 0; i < roots->count; i++)
	{
		if (depth >= roots->uses[i].count ||
			!path_roots_same_step(&roots->uses[i].steps[depth],
						 &roots->uses[0].steps[depth]))
			return NULL;
	}
	return &roots->uses[0].steps[depth];
}

/*
 * Find each $ of a path.  Returns false if the path cannot be judged; what it
 * needs of the document is not known then.
 */
bool
path_roots_find(JsonPath *path, PathRoots *roots)
{
	JsonPathItem first;

	roots->path = path;
	roots->lax = (path->header & JSONPATH_LAX) != 0;
	roots->count = 0;
	roots->capacity = 4;
	roots->uses = palloc(roots->capacity * sizeof(PathUse));
	jspInit(&first, path);
	return find_roots(roots, &first);
}

/* Is the path nothing but a $ with plain accessors? */
bool
path_roots_is_plain(const PathRoots *roots)
{
	const PathUse *use = &roots->uses[0];

	return roots->count == 1 && use->position == 0 &&
		use->following[use->count] == 0;
}

/* A copy of the path in which each $ is followed by what comes depth later. */
JsonPath *
path_roots_shorten(const PathRoots *roots, int depth)
{
	JsonPath   *path = palloc(VARSIZE(roots->path));

	memcpy(path, roots->path, VARSIZE(roots->path));
	for (int i = 0; i < roots->count; i++)
	{
		const PathUse *use = &roots->uses[i];
		int32		following = use->following[depth];
		char	   *link = (char *) INTALIGN((uintptr_t) path->data +
											 use->position + 1);

		if (following != 0)
			following -= use->position;
		memcpy(link, &following, sizeof(int32));
	}
	return path;
}
