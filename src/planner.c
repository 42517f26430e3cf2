/*-------------------------------------------------------------------------
 *
 * planner.c
 *	  Our functions in the place of the server's, in finished plans.
 *
 * The hook runs after the planner and changes the functions that the
 * executor will call, never the operators: which index serves a clause is
 * decided by then, and EXPLAIN prints what the user wrote.  Of a call by name
 * it prints our function, with its schema.
 *
 *		doc -> 'a'					OpExpr: opfuncid becomes ours
 *		doc @> ANY (..)				ScalarArrayOpExpr: the same
 *		jsonb_typeof(doc)			FuncExpr: funcid becomes ours
 *		doc['a'][3]					becomes doc #> '{a,3}', which is the
 *									same thing for the server, too; unless
 *									doc is NULL, see guard_extraction()
 *		JSON_VALUE(doc, '$.a')		gets what the path needs of doc
 *									(planner_json.c)
 *
 * A statement is looked at if one of its tables has our access method, or if
 * it has no table: it may be an expression on a variable that holds one of
 * our pointers.  Where a plan reads other tables only, such a variable is
 * read whole, which costs time and nothing else.
 *
 * The library may be loaded by the planner itself: the first statement of a
 * session that names nothing of ours but a partitioned table opens the
 * partitions only then, and goes on without the hook.  Until the end of that
 * transaction plans are looked at once more when they start.  What the plan
 * cache holds was made without the hook and is made anew.
 *
 * Invariants
 *	1. Plans are changed in place when the planner hands them out, as nobody
 *	   else has them yet.  Later, a copy is changed.
 *	2. A plan that was changed depends on the functions on both sides.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/parallel.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/planner.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/memutils.h"
#include "utils/plancache.h"
#include "utils/syscache.h"

#include "executor.h"
#include "function_map.h"
#include "plan_walk.h"
#include "planner.h"
#include "planner_edit.h"
#include "planner_json.h"
#include "planner_text.h"
#include "settings.h"

/* jsonb #> text[]; pg_operator's OIDs have no names in C. */
#define EXTRACT_PATH_OPERATOR	3213

static planner_hook_type previous_planner = NULL;
static ExecutorStart_hook_type previous_start = NULL;

/* Is this the transaction in which the library was loaded? */
static bool loading = false;

/* Note that a pair serves somewhere; true if it is to be put there. */
bool
planner_uses(Replacement *replacement, const FunctionPair *pair)
{
	replacement->count++;
	if (replacement->apply)
		replacement->pairs =
			list_append_unique_ptr(replacement->pairs,
								   unconstify(FunctionPair *, pair));
	return replacement->apply;
}

/* Has the relation that access method? */
bool
planner_has_access_method(Oid relation, Oid access_method)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relation));
	bool		result;

	if (!HeapTupleIsValid(tuple))
		return false;
	result = ((Form_pg_class) GETSTRUCT(tuple))->relam == access_method;
	ReleaseSysCache(tuple);
	return result;
}

/* Can one of our pointers reach an expression of this statement? */
static bool
concerns_us(const PlannedStmt *statement)
{
	Oid			access_method;
	ListCell   *cell;

	if (!settings_enable_planner || statement->planTree == NULL)
		return false;
	access_method = function_map_access_method();
	if (!OidIsValid(access_method))
		return false;
	if (statement->relationOids == NIL)
		return true;
	foreach(cell, statement->relationOids)
	{
		if (planner_has_access_method(lfirst_oid(cell), access_method))
			return true;
	}
	return false;
}

/* Put our function in the place of the server's. */
static void
replace_function(Oid *function, List *arguments, Replacement *replacement)
{
	const FunctionPair *pair = function_map_find(*function);

	if (pair != NULL && planner_text_serves(*function, arguments) &&
		planner_uses(replacement, pair))
		*function = pair->ours;
}

/* Can the subscripts be evaluated without asking whether one should? */
static bool
subscripts_are_simple(List *subscripts)
{
	ListCell   *cell;

	foreach(cell, subscripts)
	{
		Node	   *node = (Node *) lfirst(cell);

		while (node != NULL && IsA(node, RelabelType))
			node = (Node *) ((RelabelType *) node)->arg;
		if (node == NULL ||
			!(IsA(node, Const) || IsA(node, Param) || IsA(node, Var)))
			return false;
	}
	return true;
}

/*
 * CASE WHEN doc IS NOT NULL THEN extraction END, since the server does not
 * evaluate the subscripts of a document that is NULL.
 */
static void
guard_extraction(const OpExpr *extraction, CaseExpr *result)
{
	CaseWhen   *when = makeNode(CaseWhen);
	NullTest   *test = makeNode(NullTest);

	test->arg = copyObject(linitial(extraction->args));
	test->nulltesttype = IS_NOT_NULL;
	test->location = -1;
	when->expr = (Expr *) test;
	when->result = (Expr *) copyObject(extraction);
	when->location = -1;
	MemSet(result, 0, sizeof(CaseExpr));
	result->xpr.type = T_CaseExpr;
	result->casetype = JSONBOID;
	result->args = list_make1(when);
	result->defresult = (Expr *) makeNullConst(JSONBOID, -1, InvalidOid);
	result->location = -1;
}

/* Make doc['a'][3] into doc #> '{a,3}', in place. */
static void
replace_subscripts(SubscriptingRef *ref, Replacement *replacement)
{
	const FunctionPair *pair = function_map_find(F_JSONB_EXTRACT_PATH);
	OpExpr		extraction;
	CaseExpr	guarded;

	StaticAssertStmt(sizeof(OpExpr) <= sizeof(SubscriptingRef) &&
					 sizeof(CaseExpr) <= sizeof(SubscriptingRef),
					 "the result must fit where a SubscriptingRef stood");

	if (pair == NULL || ref->refcontainertype != JSONBOID ||
		ref->refassgnexpr != NULL || ref->reflowerindexpr != NIL)
		return;
	/* the guard evaluates the document twice */
	if (!subscripts_are_simple(ref->refupperindexpr) &&
		contain_volatile_functions((Node *) ref->refexpr))
		return;
	if (!planner_uses(replacement, pair))
		return;
	MemSet(&extraction, 0, sizeof(extraction));
	extraction.xpr.type = T_OpExpr;
	extraction.opno = EXTRACT_PATH_OPERATOR;
	extraction.opfuncid = pair->ours;
	extraction.opresulttype = JSONBOID;
	extraction.inputcollid = DEFAULT_COLLATION_OID;
	extraction.args = list_make2(ref->refexpr,
								 planner_subscript_path(ref->refupperindexpr));
	extraction.location = -1;
	if (subscripts_are_simple(ref->refupperindexpr))
	{
		memcpy(ref, &extraction, sizeof(extraction));
		return;
	}
	guard_extraction(&extraction, &guarded);
	memcpy(ref, &guarded, sizeof(guarded));
}

/* Let JSON_VALUE() and its like read parts of documents. */
static void
replace_document(Node *node, Replacement *replacement)
{
	const FunctionPair *pair = planner_json_project(node,
													replacement->apply);

	if (pair != NULL)
		(void) planner_uses(replacement, pair);
}

static bool
replace_walker(Node *node, void *context)
{
	Replacement *replacement = context;

	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_OpExpr:
			replace_function(&((OpExpr *) node)->opfuncid,
							 ((OpExpr *) node)->args, replacement);
			break;
		case T_ScalarArrayOpExpr:
			replace_function(&((ScalarArrayOpExpr *) node)->opfuncid,
							 ((ScalarArrayOpExpr *) node)->args, replacement);
			break;
		case T_FuncExpr:
			replace_function(&((FuncExpr *) node)->funcid,
							 ((FuncExpr *) node)->args, replacement);
			break;
		case T_SubscriptingRef:
			replace_subscripts((SubscriptingRef *) node, replacement);
			break;
		default:
			replace_document(node, replacement);
			break;
	}
	return expression_tree_walker(node, replace_walker, context);
}

/* Replace what can be replaced in an expression that nobody else has. */
bool
planner_replace(Node *expression)
{
	Replacement replacement = {true};

	(void) replace_walker(expression, &replacement);
	return replacement.count > 0;
}

/* Replace what can be replaced in a plan that nobody else has. */
static void
replace_in_plan(PlannedStmt *statement)
{
	Replacement replacement = {true};

	planner_edit(statement, &replacement);
	plan_walk(statement, replace_walker, &replacement);
	statement->invalItems = function_map_depend(statement->invalItems,
												replacement.pairs);
}

static bool
anything_to_replace(PlannedStmt *statement)
{
	Replacement replacement = {false};

	planner_edit(statement, &replacement);
	plan_walk(statement, replace_walker, &replacement);
	return replacement.count > 0;
}

static PlannedStmt *
plan_statement(Query *parse, const char *query_string, int cursor_options,
			   ParamListInfo params)
{
	PlannedStmt *statement;

	if (previous_planner != NULL)
		statement = previous_planner(parse, query_string, cursor_options,
									 params);
	else
		statement = standard_planner(parse, query_string, cursor_options,
									 params);
	if (concerns_us(statement))
		replace_in_plan(statement);
	return statement;
}

/* A plan that may have been made before the hook was there. */
static void
adopt_plan(QueryDesc *query)
{
	MemoryContext old_context;

	if (!concerns_us(query->plannedstmt) ||
		!anything_to_replace(query->plannedstmt))
		return;
	/* the copy must live as long as the QueryDesc */
	old_context = MemoryContextSwitchTo(GetMemoryChunkContext(query));
	query->plannedstmt = copyObject(query->plannedstmt);
	replace_in_plan(query->plannedstmt);
	MemoryContextSwitchTo(old_context);
}

static void
start_executor(QueryDesc *query, int eflags)
{
	/* a worker is given the plan that its leader has adopted */
	if (unlikely(loading) && !IsParallelWorker())
		adopt_plan(query);
	executor_stay_here(query);
	if (previous_start != NULL)
		previous_start(query, eflags);
	else
		standard_ExecutorStart(query, eflags);
	if (query->estate->es_opened_result_relations != NIL &&
		settings_enable_planner && (eflags & EXEC_FLAG_EXPLAIN_ONLY) == 0)
		executor_adopt(query);
}

static void
end_loading(XactEvent event, void *arg)
{
	loading = false;
}

/* Install the hooks; called once, when the library is loaded. */
void
planner_init(void)
{
	function_map_init();
	previous_planner = planner_hook;
	planner_hook = plan_statement;
	previous_start = ExecutorStart_hook;
	ExecutorStart_hook = start_executor;
	if (process_shared_preload_libraries_in_progress)
		return;
	RegisterXactCallback(end_loading, NULL);
	loading = true;
	ResetPlanCache();
}
