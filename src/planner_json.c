/*-------------------------------------------------------------------------
 *
 * planner_json.c
 *	  Parts of documents for JSON_VALUE() and its like.
 *
 * The executor evaluates JSON_VALUE(), JSON_QUERY(), JSON_EXISTS() and
 * JSON_TABLE() itself and calls no function that could be replaced.  What it
 * evaluates them on is an expression, though:
 *
 *		JSON_VALUE(doc, path)
 *		JSON_VALUE(toaster.jsonb_path_project(doc, path, '{}'), path)
 *
 * The function returns a document in which the path finds the same
 * (path_project.c).  Everything else, errors and their handling included, is
 * left to the server.  The call looks like an implicit cast, of which EXPLAIN
 * prints nothing.
 *
 * JSON_TABLE() evaluates the paths of its columns on what the path of the
 * rows finds.  They are handed over as well: of a row that is the document
 * itself its columns need only a part.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/array.h"

#include "compat.h"
#include "planner_json.h"

#if COMPAT_SQL_JSON

/* An array of paths as a constant */
static Expr *
make_paths(List *paths)
{
	Datum	   *values = palloc(Max(list_length(paths), 1) * sizeof(Datum));
	ArrayType  *array;

	for (int i = 0; i < list_length(paths); i++)
		values[i] = ((const Const *) list_nth(paths, i))->constvalue;
	array = construct_array(values, list_length(paths), JSONPATHOID, -1,
							false, TYPALIGN_INT);
	return (Expr *) makeConst(JSONPATHARRAYOID, -1, InvalidOid, -1,
							  PointerGetDatum(array), false, false);
}

static bool
is_constant_path(const Node *node)
{
	return node != NULL && IsA(node, Const) &&
		((const Const *) node)->consttype == JSONPATHOID &&
		!((const Const *) node)->constisnull;
}

/*
 * Can the document be one of our pointers, and is it not projected yet?  The
 * columns of JSON_TABLE() have a CaseTestExpr here; a cast makes a new value.
 */
static bool
may_be_tree(const Node *document, Oid projection)
{
	if (document == NULL || exprType(document) != JSONBOID)
		return false;
	switch (nodeTag(document))
	{
		case T_Const:
		case T_CaseTestExpr:
		case T_CoerceViaIO:
			return false;
		case T_FuncExpr:
			return ((const FuncExpr *) document)->funcid != projection;
		default:
			return true;
	}
}

/* The document that the expression is evaluated on, for that path and those. */
static void
project_document(JsonExpr *expression, Oid projection, List *below)
{
	FuncExpr   *call;

	call = makeFuncExpr(projection, JSONBOID,
						list_make3(expression->formatted_expr,
								   copyObject(expression->path_spec),
								   make_paths(below)),
						InvalidOid, InvalidOid, COERCE_IMPLICIT_CAST);
	expression->formatted_expr = (Node *) call;
}

/*
 * Add the paths of the columns from first to last.  False if one of them is
 * not known: then a row is needed whole.
 */
static bool
add_columns(const TableFunc *table, int first, int last, List **paths)
{
	for (int i = first; i >= 0 && i <= last; i++)
	{
		Node	   *column = list_nth(table->colvalexprs, i);

		if (column == NULL)
			continue;			/* FOR ORDINALITY */
		if (!IsA(column, JsonExpr) ||
			!IsA(((JsonExpr *) column)->formatted_expr, CaseTestExpr) ||
			!is_constant_path(((JsonExpr *) column)->path_spec))
			return false;
		*paths = lappend(*paths, ((JsonExpr *) column)->path_spec);
	}
	return true;
}

/* Add the paths of NESTED, evaluated on a row as those of columns are. */
static bool
add_nested(Node *plan, List **paths)
{
	if (plan == NULL)
		return true;
	if (IsA(plan, JsonTableSiblingJoin))
		return add_nested((Node *) ((JsonTableSiblingJoin *) plan)->lplan,
						  paths) &&
			add_nested((Node *) ((JsonTableSiblingJoin *) plan)->rplan,
					   paths);
	if (!IsA(plan, JsonTablePathScan))
		return false;
	*paths = lappend(*paths, ((JsonTablePathScan *) plan)->path->value);
	return true;
}

/* The paths that are evaluated on the rows of JSON_TABLE(); NIL: unknown. */
static List *
paths_of_rows(const TableFunc *table)
{
	const JsonTablePathScan *scan = (JsonTablePathScan *) table->plan;
	List	   *paths = NIL;

	if (scan == NULL || !IsA(scan, JsonTablePathScan) ||
		!add_columns(table, scan->colMin, scan->colMax, &paths) ||
		!add_nested((Node *) scan->child, &paths))
		return NIL;
	return paths;
}

/*
 * The document that a node evaluates a path on, or NULL.  *below becomes what
 * is evaluated on what the path finds.
 */
static JsonExpr *
expression_of(Node *node, List **below)
{
	JsonExpr   *expression = (JsonExpr *) node;

	*below = NIL;
	if (IsA(node, TableFunc))
	{
		expression = (JsonExpr *) ((TableFunc *) node)->docexpr;
		if (((TableFunc *) node)->functype != TFT_JSON_TABLE ||
			expression == NULL || !IsA(expression, JsonExpr))
			return NULL;
		*below = paths_of_rows((TableFunc *) node);
	}
	else if (!IsA(node, JsonExpr) || expression->op == JSON_TABLE_OP)
		return NULL;
	return is_constant_path(expression->path_spec) ? expression : NULL;
}

/*
 * If the node is JSON_VALUE() or its like, and could read less of a document,
 * returns the function that does it; with apply, it is put there.
 */
const FunctionPair *
planner_json_project(Node *node, bool apply)
{
	const FunctionPair *pair;
	JsonExpr   *expression;
	List	   *below;

	if (!IsA(node, JsonExpr) && !IsA(node, TableFunc))
		return NULL;
	expression = expression_of(node, &below);
	pair = function_map_projection();
	if (expression == NULL || pair == NULL ||
		!may_be_tree(expression->formatted_expr, pair->ours))
		return NULL;
	if (apply)
		project_document(expression, pair->ours, below);
	return pair;
}

#else							/* !COMPAT_SQL_JSON */

const FunctionPair *
planner_json_project(Node *node, bool apply)
{
	return NULL;
}

#endif							/* COMPAT_SQL_JSON */
