/*-------------------------------------------------------------------------
 *
 * json_call.c
 *	  What the SQL functions on documents have in common: calling the
 *	  server's function on something smaller than the document.
 *
 * Errors are the server's: where a function refuses a kind of document, it is
 * called with a small document of that kind and raises its own error.
 *
 * The arguments that we were called with are never changed: the executor
 * fills in those that are constant only once.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/string.h"
#include "utils/builtins.h"

#include "json_call.h"

/*
 * Call the server's function in our place, with these as its first
 * arguments.
 */
Datum
json_call_stock(FunctionCallInfo fcinfo, PGFunction stock,
				const Datum *arguments, int count)
{
	FunctionCallInfo copy;
	Size		size = SizeForFunctionCallInfo(PG_NARGS());
	Datum		result;

	Assert(count <= PG_NARGS());
	copy = (FunctionCallInfo) palloc(size);
	memcpy(copy, fcinfo, size);
	for (int i = 0; i < count; i++)
		copy->args[i].value = arguments[i];
	result = stock(copy);
	fcinfo->isnull = copy->isnull;
	return result;
}

/* An empty container of the same kind, or the scalar null. */
Jsonb *
json_call_empty(const JsonItem *root)
{
	JsonbValue	value;

	MemSet(&value, 0, sizeof(value));
	value.type = json_root_is_scalar(root) ? jbvNull : root->type;
	return JsonbValueToJsonb(&value);
}

/* Call the server's function on such a document. */
Datum
json_call_stand_in(FunctionCallInfo fcinfo, PGFunction stock,
				   const JsonItem *root)
{
	Datum		document = JsonbPGetDatum(json_call_empty(root));

	return json_call_stock(fcinfo, stock, &document, 1);
}

/* The number that a step of a path is; false when it is none. */
bool
json_call_index(Datum step, int *index)
{
	char	   *string = TextDatumGetCString(step);
	char	   *end;

	errno = 0;
	*index = strtoint(string, &end, 10);
	return end != string && *end == '\0' && errno == 0;
}
