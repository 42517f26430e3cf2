/*-------------------------------------------------------------------------
 *
 * functions_test.c
 *	  SQL functions that ask something about a document: ?, ?|, ?&, @>, <@,
 *	  jsonb_typeof, jsonb_array_length.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/numeric.h"

#include "json_call.h"
#include "json_tree.h"

/* One side of a containment. */
typedef struct Side
{
	bool		is_tree;
	bool		is_scalar;		/* a scalar at the root */
	JsonItem	root;
} Side;

static bool contains(const JsonItem *item, const JsonItem *part);

static bool
is_container(const JsonItem *item)
{
	return item->type == jbvArray || item->type == jbvObject;
}

static bool
numerics_equal(Numeric a, Numeric b)
{
	return DatumGetBool(DirectFunctionCall2(numeric_eq, NumericGetDatum(a),
											NumericGetDatum(b)));
}

/* Two scalars. */
static bool
scalars_equal(const JsonItem *item, const JsonbValue *other)
{
	JsonbValue	value;

	if (item->type != other->type)
		return false;
	if (other->type == jbvString && item->stored &&
		item->flat_size != (uint32) other->val.string.len)
		return false;
	if (item->stored)
		json_item_value(item, &value);
	else
		value = item->value;
	switch (other->type)
	{
		case jbvNull:
			return true;
		case jbvBool:
			return value.val.boolean == other->val.boolean;
		case jbvString:
			return value.val.string.len == other->val.string.len &&
				memcmp(value.val.string.val, other->val.string.val,
					   other->val.string.len) == 0;
		case jbvNumeric:
			return numerics_equal(value.val.numeric, other->val.numeric);
		default:
			elog(ERROR, "unexpected type of a scalar: %d", other->type);
	}
	return false;
}

/* Is a member or an element of the right side equal to, or contained in? */
static bool
value_contains(const JsonItem *item, const JsonItem *part)
{
	JsonbValue	value;

	if (item->type != part->type)
		return false;
	if (is_container(part))
		return contains(item, part);
	json_item_value(part, &value);
	return scalars_equal(item, &value);
}

/* Is one of the array's elements equal to the part, or contains it? */
static bool
array_has(const JsonItem *array, const JsonItem *part)
{
	JsonIterator *iterator = json_iterate(array, 0);
	JsonbValue	key;
	JsonItem	element;
	bool		found = false;

	while (!found && json_next(iterator, &key, &element))
	{
		CHECK_FOR_INTERRUPTS();
		found = value_contains(&element, part);
	}
	json_iterate_end(iterator);
	return found;
}

/* Is the key a member of the object, or a string of the array? */
static bool
has_key(const JsonItem *root, Datum key)
{
	JsonItem	string;
	JsonItem	member;

	if (root->type == jbvObject)
		return json_find_key(root, VARDATA_ANY(key), VARSIZE_ANY_EXHDR(key),
							 &member);
	MemSet(&string, 0, sizeof(string));
	string.type = string.value.type = jbvString;
	string.value.val.string.val = VARDATA_ANY(key);
	string.value.val.string.len = VARSIZE_ANY_EXHDR(key);
	return array_has(root, &string);
}

/*
 * Does the document have all of the keys, or any of them?  Elements that are
 * NULL do not count.
 */
static bool
has_keys(const JsonItem *root, ArrayType *array, bool all)
{
	Datum	   *keys;
	bool	   *nulls;
	int			count;

	deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT,
					  &keys, &nulls, &count);
	for (int i = 0; i < count; i++)
	{
		if (!nulls[i] && has_key(root, keys[i]) != all)
			return !all;
	}
	return all;
}

/* jsonb ? text */
PG_FUNCTION_INFO_V1(pg_toaster_jsonb_exists);
Datum
pg_toaster_jsonb_exists(PG_FUNCTION_ARGS)
{
	JsonItem	root;
	bool		result;

	if (!json_open(PG_GETARG_DATUM(0), &root))
		return jsonb_exists(fcinfo);
	result = has_key(&root, PointerGetDatum(PG_GETARG_TEXT_PP(1)));
	json_close(&root);
	PG_RETURN_BOOL(result);
}

/* jsonb ?| text[] */
PG_FUNCTION_INFO_V1(pg_toaster_jsonb_exists_any);
Datum
pg_toaster_jsonb_exists_any(PG_FUNCTION_ARGS)
{
	JsonItem	root;
	bool		result;

	if (!json_open(PG_GETARG_DATUM(0), &root))
		return jsonb_exists_any(fcinfo);
	result = has_keys(&root, PG_GETARG_ARRAYTYPE_P(1), false);
	json_close(&root);
	PG_RETURN_BOOL(result);
}

/* jsonb ?& text[] */
PG_FUNCTION_INFO_V1(pg_toaster_jsonb_exists_all);
Datum
pg_toaster_jsonb_exists_all(PG_FUNCTION_ARGS)
{
	JsonItem	root;
	bool		result;

	if (!json_open(PG_GETARG_DATUM(0), &root))
		return jsonb_exists_all(fcinfo);
	result = has_keys(&root, PG_GETARG_ARRAYTYPE_P(1), true);
	json_close(&root);
	PG_RETURN_BOOL(result);
}

/* Two containers in memory: the server knows how. */
static bool
contains_in_memory(const JsonItem *item, const JsonItem *part)
{
	JsonbIterator *left = JsonbIteratorInit(item->value.val.binary.data);
	JsonbIterator *right = JsonbIteratorInit(part->value.val.binary.data);
	bool		result = JsonbDeepContains(&left, &right);

	/* one that came to its end has freed itself */
	if (left != NULL)
		pfree(left);
	if (right != NULL)
		pfree(right);
	return result;
}

/* Each member of the right side must be in the left side. */
static bool
object_contains(const JsonItem *object, const JsonItem *part)
{
	JsonIterator *iterator;
	JsonbValue	key;
	JsonItem	wanted;
	JsonItem	member;
	bool		result = true;

	/* keys are unique, so the larger cannot be in the smaller */
	if (json_count(object) < json_count(part))
		return false;
	iterator = json_iterate(part, 0);
	while (result && json_next(iterator, &key, &wanted))
	{
		CHECK_FOR_INTERRUPTS();
		result = json_find_key(object, key.val.string.val,
							   key.val.string.len, &member) &&
			value_contains(&member, &wanted);
	}
	json_iterate_end(iterator);
	return result;
}

/* Each element of the right side must be found in the left side. */
static bool
array_contains(const JsonItem *array, const JsonItem *part)
{
	JsonIterator *iterator = json_iterate(part, 0);
	JsonbValue	key;
	JsonItem	wanted;
	bool		result = true;

	while (result && json_next(iterator, &key, &wanted))
	{
		CHECK_FOR_INTERRUPTS();
		if (wanted.stored && !is_container(&wanted))
		{
			/* read it once, not for each element of the left side */
			json_item_value(&wanted, &wanted.value);
			wanted.stored = false;
		}
		result = array_has(array, &wanted);
	}
	json_iterate_end(iterator);
	return result;
}

/*
 * The server's containment, reading of both sides what the other makes
 * necessary.  Neither is a scalar at the root.
 */
static bool
contains(const JsonItem *item, const JsonItem *part)
{
	check_stack_depth();
	if (item->type != part->type)
		return false;
	if (!item->stored && !part->stored)
		return contains_in_memory(item, part);
	if (item->type == jbvObject)
		return object_contains(item, part);
	return array_contains(item, part);
}

/* A side that is no tree, whole. */
static void
open_flat(Datum datum, Side *side)
{
	Jsonb	   *flat = DatumGetJsonbP(datum);

	MemSet(&side->root, 0, sizeof(side->root));
	side->is_scalar = JB_ROOT_IS_SCALAR(flat);
	side->root.type = JB_ROOT_IS_OBJECT(flat) ? jbvObject : jbvArray;
	side->root.flat_size = VARSIZE(flat) - VARHDRSZ;
	side->root.value.type = jbvBinary;
	side->root.value.val.binary.data = &flat->root;
	side->root.value.val.binary.len = VARSIZE(flat) - VARHDRSZ;
}

static void
open_side(Datum datum, Side *side)
{
	side->is_tree = json_open(datum, &side->root);
	if (side->is_tree)
		side->is_scalar = json_root_is_scalar(&side->root);
}

/*
 * Does the document contain the part?  An array may contain a scalar, but a
 * scalar contains no array.
 */
static Datum
test_containment(FunctionCallInfo fcinfo, PGFunction stock, int document,
				 int part)
{
	Side		left;
	Side		right;
	bool		result;

	open_side(PG_GETARG_DATUM(document), &left);
	open_side(PG_GETARG_DATUM(part), &right);
	if (!left.is_tree && !right.is_tree)
		return stock(fcinfo);
	if (!left.is_tree)
		open_flat(PG_GETARG_DATUM(document), &left);
	if (!right.is_tree)
		open_flat(PG_GETARG_DATUM(part), &right);
	result = !(left.is_scalar && !right.is_scalar) &&
		contains(&left.root, &right.root);
	if (right.is_tree)
		json_close(&right.root);
	if (left.is_tree)
		json_close(&left.root);
	PG_RETURN_BOOL(result);
}

/* jsonb @> jsonb */
PG_FUNCTION_INFO_V1(pg_toaster_jsonb_contains);
Datum
pg_toaster_jsonb_contains(PG_FUNCTION_ARGS)
{
	return test_containment(fcinfo, jsonb_contains, 0, 1);
}

/* jsonb <@ jsonb */
PG_FUNCTION_INFO_V1(pg_toaster_jsonb_contained);
Datum
pg_toaster_jsonb_contained(PG_FUNCTION_ARGS)
{
	return test_containment(fcinfo, jsonb_contained, 1, 0);
}

/* jsonb_typeof() */
PG_FUNCTION_INFO_V1(pg_toaster_jsonb_typeof);
Datum
pg_toaster_jsonb_typeof(PG_FUNCTION_ARGS)
{
	JsonItem	root;
	JsonItem	scalar;
	JsonbValue	value;

	if (!json_open(PG_GETARG_DATUM(0), &root))
		return jsonb_typeof(fcinfo);
	value.type = root.type;
	if (json_root_is_scalar(&root) && json_find_index(&root, 0, &scalar))
		value.type = scalar.type;
	json_close(&root);
	PG_RETURN_TEXT_P(cstring_to_text(JsonbTypeName(&value)));
}

/* jsonb_array_length() */
PG_FUNCTION_INFO_V1(pg_toaster_jsonb_array_length);
Datum
pg_toaster_jsonb_array_length(PG_FUNCTION_ARGS)
{
	JsonItem	root;
	Datum		result;

	if (!json_open(PG_GETARG_DATUM(0), &root))
		return jsonb_array_length(fcinfo);
	if (root.type != jbvArray || json_root_is_scalar(&root))
		result = json_call_stand_in(fcinfo, jsonb_array_length, &root);
	else
		result = Int32GetDatum((int32) json_count(&root));
	json_close(&root);
	return result;
}
