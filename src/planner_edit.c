/*-------------------------------------------------------------------------
 *
 * planner_edit.c
 *	  Our functions that change documents, where a column gets the result.
 *
 * What such a function returns lives until the next row is read (edit.h).  So
 * it is used only where the row is stored before that: in the target lists of
 * ON CONFLICT DO UPDATE and MERGE, which ModifyTable evaluates itself, and in
 * that of the plan node right below the ModifyTable of an UPDATE, if that
 * node hands its rows on as it makes them.  Within an expression it is used
 * for what becomes the column's value, and for the document that this is made
 * of:
 *
 *		SET doc = jsonb_set(doc - 'a', '{b}', other || '1')
 *
 * has jsonb_set() and "-" replaced, but not "||".
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "catalog/pg_class.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "parser/parsetree.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "edit.h"
#include "planner_edit.h"

static void edit_expression(Expr **expression, Replacement *replacement);

/* A subscript as text: as the server converts it, int4 or text. */
static Expr *
subscript_as_text(Expr *subscript)
{
	CoerceViaIO *coerce;

	if (exprType((Node *) subscript) != INT4OID)
		return subscript;
	if (IsA(subscript, Const))
	{
		Const	   *constant = (Const *) subscript;
		Datum		value = (Datum) 0;

		if (!constant->constisnull)
			value = CStringGetTextDatum(DatumGetCString(
				DirectFunctionCall1(int4out, constant->constvalue)));
		return (Expr *) makeConst(TEXTOID, -1, DEFAULT_COLLATION_OID, -1,
								  value, constant->constisnull, false);
	}
	coerce = makeNode(CoerceViaIO);
	coerce->arg = subscript;
	coerce->resulttype = TEXTOID;
	coerce->resultcollid = DEFAULT_COLLATION_OID;
	coerce->coerceformat = COERCE_IMPLICIT_CAST;
	coerce->location = -1;
	return (Expr *) coerce;
}

/* The path that these subscripts make: a constant, if all of them are. */
Expr *
planner_subscript_path(List *subscripts)
{
	ArrayExpr  *path = makeNode(ArrayExpr);
	Datum	   *values = palloc(list_length(subscripts) * sizeof(Datum));
	bool	   *nulls = palloc(list_length(subscripts) * sizeof(bool));
	bool		constant = true;
	int			count = 0;
	int			lower = 1;
	ListCell   *cell;

	foreach(cell, subscripts)
	{
		Expr	   *element = subscript_as_text((Expr *) lfirst(cell));

		path->elements = lappend(path->elements, element);
		if (IsA(element, Const))
		{
			values[count] = ((Const *) element)->constvalue;
			nulls[count] = ((Const *) element)->constisnull;
			count++;
		}
		else
			constant = false;
	}
	if (constant)
	{
		ArrayType  *array = construct_md_array(values, nulls, 1, &count,
											   &lower, TEXTOID, -1, false,
											   TYPALIGN_INT);

		return (Expr *) makeConst(TEXTARRAYOID, -1, DEFAULT_COLLATION_OID, -1,
								  PointerGetDatum(array), false, false);
	}
	path->array_typeid = TEXTARRAYOID;
	path->array_collid = DEFAULT_COLLATION_OID;
	path->element_typeid = TEXTOID;
	path->location = -1;
	return (Expr *) path;
}

/* doc['a'][3] = value becomes a call of our function. */
static void
edit_assignment(Expr **expression, Replacement *replacement)
{
	SubscriptingRef *ref = (SubscriptingRef *) *expression;
	const FunctionPair *pair = function_map_assignment();
	Expr	   *first = linitial(ref->refupperindexpr);
	bool		array = exprType((Node *) first) == INT4OID;

	if (pair == NULL || ref->refcontainertype != JSONBOID ||
		ref->refassgnexpr == NULL || ref->reflowerindexpr != NIL)
		return;
	edit_expression(&ref->refexpr, replacement);
	if (!planner_uses(replacement, pair))
		return;
	*expression = (Expr *)
		makeFuncExpr(pair->ours, JSONBOID,
					 list_make4(ref->refexpr,
								planner_subscript_path(ref->refupperindexpr),
								ref->refassgnexpr,
								makeBoolConst(array, false)),
					 InvalidOid, DEFAULT_COLLATION_OID,
					 COERCE_EXPLICIT_CALL);
	((FuncExpr *) *expression)->location = EDIT_LOCATION;
}

/*
 * Replace a function that changes values, and in those of its arguments that
 * it changes; the call is marked as one that may return an edit.
 */
static void
edit_function(Oid *function, int *location, List *arguments,
			  Replacement *replacement)
{
	const FunctionPair *pair = function_map_find_edit(*function);

	if (pair == NULL)
		return;
	edit_expression((Expr **) &linitial(arguments), replacement);
	if (*function == F_JSONB_CONCAT || *function == F_BYTEACAT ||
		*function == F_TEXTCAT)
		edit_expression((Expr **) &lsecond(arguments), replacement);
	if (planner_uses(replacement, pair))
	{
		*function = pair->ours;
		*location = EDIT_LOCATION;
	}
}

static void
edit_case(CaseExpr *expression, Replacement *replacement)
{
	ListCell   *cell;

	foreach(cell, expression->args)
		edit_expression(&((CaseWhen *) lfirst(cell))->result, replacement);
	edit_expression(&expression->defresult, replacement);
}

/* Replace functions in what becomes the value of a column. */
static void
edit_expression(Expr **expression, Replacement *replacement)
{
	ListCell   *cell;

	if (*expression == NULL)
		return;
	switch (nodeTag(*expression))
	{
		case T_OpExpr:
			edit_function(&((OpExpr *) *expression)->opfuncid,
						  &((OpExpr *) *expression)->location,
						  ((OpExpr *) *expression)->args, replacement);
			break;
		case T_FuncExpr:
			edit_function(&((FuncExpr *) *expression)->funcid,
						  &((FuncExpr *) *expression)->location,
						  ((FuncExpr *) *expression)->args, replacement);
			break;
		case T_SubscriptingRef:
			edit_assignment(expression, replacement);
			break;
		case T_CaseExpr:
			edit_case((CaseExpr *) *expression, replacement);
			break;
		case T_CoalesceExpr:
			foreach(cell, ((CoalesceExpr *) *expression)->args)
				edit_expression((Expr **) &lfirst(cell), replacement);
			break;
		case T_RelabelType:
			edit_expression(&((RelabelType *) *expression)->arg, replacement);
			break;
		case T_CoerceToDomain:
			edit_expression(&((CoerceToDomain *) *expression)->arg,
							replacement);
			break;
		default:
			break;
	}
}

static void
edit_targets(List *targets, Replacement *replacement)
{
	ListCell   *cell;

	foreach(cell, targets)
	{
		TargetEntry *target = lfirst_node(TargetEntry, cell);

		if (!target->resjunk)
			edit_expression(&target->expr, replacement);
	}
}

/* The target lists of nodes that hand on each row as they make it. */
static void
edit_plan(Plan *plan, Replacement *replacement)
{
	ListCell   *cell;

	switch (nodeTag(plan))
	{
		case T_Append:
			foreach(cell, ((Append *) plan)->appendplans)
				edit_plan((Plan *) lfirst(cell), replacement);
			break;
		case T_Result:
		case T_ProjectSet:
		case T_SeqScan:
		case T_SampleScan:
		case T_IndexScan:
		case T_BitmapHeapScan:
		case T_TidScan:
		case T_TidRangeScan:
		case T_SubqueryScan:
		case T_FunctionScan:
		case T_ValuesScan:
		case T_CteScan:
		case T_NestLoop:
		case T_HashJoin:
		case T_MergeJoin:
			edit_targets(plan->targetlist, replacement);
			break;
		default:
			break;
	}
}

static void
edit_merge(List *lists, Replacement *replacement)
{
	ListCell   *list;
	ListCell   *cell;

	foreach(list, lists)
	{
		foreach(cell, (List *) lfirst(list))
		{
			MergeAction *action = lfirst_node(MergeAction, cell);

			if (action->commandType == CMD_UPDATE)
				edit_targets(action->targetList, replacement);
		}
	}
}

/*
 * May rows move to other partitions, of which a trigger sees the new ones in
 * a transition table?  What it is shown is the row before it was stored.
 */
static bool
shows_moved_rows(Oid relid)
{
	Relation	rel;
	bool		result;

	if (get_rel_relkind(relid) != RELKIND_PARTITIONED_TABLE)
		return false;
	rel = table_open(relid, NoLock);
	result = rel->trigdesc != NULL && rel->trigdesc->trig_update_new_table;
	table_close(rel, NoLock);
	return result;
}

/*
 * Does the statement change tables of ours only?  A row that moves to another
 * partition must not meet an access method that does not know edits.
 */
static bool
changes_ours(const PlannedStmt *statement, const ModifyTable *modify)
{
	Index		index = modify->rootRelation > 0 ? modify->rootRelation :
		(Index) linitial_int(modify->resultRelations);
	Oid			relid = rt_fetch(index, statement->rtable)->relid;
	ListCell   *cell;

	foreach(cell, find_all_inheritors(relid, NoLock, NULL))
	{
		Oid			member = lfirst_oid(cell);

		if (get_rel_relkind(member) != RELKIND_PARTITIONED_TABLE &&
			!planner_has_access_method(member, function_map_access_method()))
			return false;
	}
	return !shows_moved_rows(relid);
}

static void
edit_modify_table(PlannedStmt *statement, Plan *plan,
				  Replacement *replacement)
{
	ModifyTable *modify = (ModifyTable *) plan;

	if (plan == NULL || !IsA(plan, ModifyTable) ||
		!changes_ours(statement, modify))
		return;
	if (modify->operation == CMD_UPDATE)
		edit_plan(outerPlan(modify), replacement);
	edit_targets(modify->onConflictSet, replacement);
	edit_merge(modify->mergeActionLists, replacement);
}

/* Replace functions where the statement, or a WITH of it, changes tables. */
void
planner_edit(PlannedStmt *statement, Replacement *replacement)
{
	ListCell   *cell;

	edit_modify_table(statement, statement->planTree, replacement);
	foreach(cell, statement->subplans)
		edit_modify_table(statement, (Plan *) lfirst(cell), replacement);
}
