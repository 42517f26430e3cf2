/*-------------------------------------------------------------------------
 *
 * plan_walk.c
 *	  Visiting the expressions of a finished plan.
 *
 * The server has walkers for expressions and for plan states, but none for
 * plans.  This one shows a visitor every list of expressions that the
 * executor evaluates, and leaves out what it only takes apart:
 *
 * - the keys of index scans (indexqual, indexorderby): the function of each
 *   operator becomes the one that the index calls;
 * - descriptions of rows (indextlist, exclRelTlist, fdw_scan_tlist,
 *   custom_scan_tlist);
 * - what belongs to a foreign data wrapper or a custom scan.
 *
 * Expressions of partition pruning know no table's columns; they are left
 * out, too.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "compat.h"
#include "plan_walk.h"

typedef struct PlanWalk
{
	PlanVisitor visitor;
	void	   *context;
} PlanWalk;

static void walk_plan(const PlanWalk *walk, Plan *plan);

static void
visit(const PlanWalk *walk, void *expressions)
{
	if (expressions != NULL)
		(void) walk->visitor((Node *) expressions, walk->context);
}

static void
walk_plans(const PlanWalk *walk, List *plans)
{
	ListCell   *cell;

	foreach(cell, plans)
		walk_plan(walk, (Plan *) lfirst(cell));
}

static void
walk_modify_table(const PlanWalk *walk, ModifyTable *modify)
{
	visit(walk, modify->withCheckOptionLists);
	visit(walk, modify->returningLists);
	visit(walk, modify->onConflictSet);
	visit(walk, modify->onConflictWhere);
	visit(walk, modify->mergeActionLists);
	visit(walk, compat_merge_join_conditions(modify));
}

/* What scans have besides their target list and qual.  False: no scan. */
static bool
walk_scan(const PlanWalk *walk, Plan *plan)
{
	switch (nodeTag(plan))
	{
		case T_SampleScan:
			visit(walk, ((SampleScan *) plan)->tablesample);
			return true;
		case T_IndexScan:
			visit(walk, ((IndexScan *) plan)->indexqualorig);
			visit(walk, ((IndexScan *) plan)->indexorderbyorig);
			return true;
		case T_IndexOnlyScan:
			visit(walk, ((IndexOnlyScan *) plan)->recheckqual);
			return true;
		case T_BitmapHeapScan:
			visit(walk, ((BitmapHeapScan *) plan)->bitmapqualorig);
			return true;
		case T_TidScan:
			visit(walk, ((TidScan *) plan)->tidquals);
			return true;
		case T_TidRangeScan:
			visit(walk, ((TidRangeScan *) plan)->tidrangequals);
			return true;
		case T_SubqueryScan:
			walk_plan(walk, ((SubqueryScan *) plan)->subplan);
			return true;
		case T_FunctionScan:
			visit(walk, ((FunctionScan *) plan)->functions);
			return true;
		case T_ValuesScan:
			visit(walk, ((ValuesScan *) plan)->values_lists);
			return true;
		case T_TableFuncScan:
			visit(walk, ((TableFuncScan *) plan)->tablefunc);
			return true;
		case T_CustomScan:
			walk_plans(walk, ((CustomScan *) plan)->custom_plans);
			return true;
		default:
			return false;
	}
}

/* The same for joins. */
static bool
walk_join(const PlanWalk *walk, Plan *plan)
{
	switch (nodeTag(plan))
	{
		case T_MergeJoin:
			visit(walk, ((MergeJoin *) plan)->mergeclauses);
			break;
		case T_HashJoin:
			visit(walk, ((HashJoin *) plan)->hashclauses);
			visit(walk, ((HashJoin *) plan)->hashkeys);
			break;
		case T_NestLoop:
			break;
		default:
			return false;
	}
	visit(walk, ((Join *) plan)->joinqual);
	return true;
}

/* The same for the rest. */
static void
walk_other(const PlanWalk *walk, Plan *plan)
{
	switch (nodeTag(plan))
	{
		case T_Result:
			visit(walk, ((Result *) plan)->resconstantqual);
			break;
		case T_ModifyTable:
			walk_modify_table(walk, (ModifyTable *) plan);
			break;
		case T_Append:
			walk_plans(walk, ((Append *) plan)->appendplans);
			break;
		case T_MergeAppend:
			walk_plans(walk, ((MergeAppend *) plan)->mergeplans);
			break;
		case T_BitmapAnd:
			walk_plans(walk, ((BitmapAnd *) plan)->bitmapplans);
			break;
		case T_BitmapOr:
			walk_plans(walk, ((BitmapOr *) plan)->bitmapplans);
			break;
		case T_Hash:
			visit(walk, ((Hash *) plan)->hashkeys);
			break;
		case T_Memoize:
			visit(walk, ((Memoize *) plan)->param_exprs);
			break;
		case T_Agg:
			walk_plans(walk, ((Agg *) plan)->chain);
			break;
		case T_WindowAgg:
			visit(walk, ((WindowAgg *) plan)->startOffset);
			visit(walk, ((WindowAgg *) plan)->endOffset);
			visit(walk, ((WindowAgg *) plan)->runCondition);
			break;
		case T_Limit:
			visit(walk, ((Limit *) plan)->limitOffset);
			visit(walk, ((Limit *) plan)->limitCount);
			break;
		default:
			break;
	}
}

static void
walk_plan(const PlanWalk *walk, Plan *plan)
{
	if (plan == NULL)
		return;
	check_stack_depth();
	visit(walk, plan->targetlist);
	visit(walk, plan->qual);
	visit(walk, plan->initPlan);
	if (!walk_scan(walk, plan) && !walk_join(walk, plan))
		walk_other(walk, plan);
	walk_plan(walk, plan->lefttree);
	walk_plan(walk, plan->righttree);
}

/*
 * Show the visitor each list of expressions of the statement that the
 * executor evaluates.  It may change functions in place; what it returns is
 * ignored.
 */
void
plan_walk(PlannedStmt *statement, PlanVisitor visitor, void *context)
{
	PlanWalk	walk = {visitor, context};

	walk_plan(&walk, statement->planTree);
	walk_plans(&walk, statement->subplans);
}
