/*-------------------------------------------------------------------------
 *
 * executor.c
 *	  Our functions in the expressions that belong to tables, not to plans.
 *
 * Indexes on expressions, their predicates, CHECK constraints and generated
 * columns are not planned with the statement: the executor takes them from
 * the catalogs when it opens a table that is to be changed.  What it has
 * prepared by then is its own copy, in which functions are replaced as they
 * are in a plan (planner.c); what it would prepare at the first row is
 * prepared here.  So an UPDATE that edits a document need not read it whole for
 * an index on one of its keys.
 *
 * Not looked at: partitions that are opened while rows are routed, COPY, and
 * logical replication.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "executor/nodeModifyTable.h"
#include "nodes/execnodes.h"
#include "rewrite/rewriteHandler.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "compat.h"
#include "edit.h"
#include "executor.h"
#include "planner_edit.h"
#include "table_am.h"

/* Does that part of the plan change the table? */
static bool
changes_table(const Plan *plan, const ResultRelInfo *info)
{
	return plan != NULL && IsA(plan, ModifyTable) &&
		list_member_int(((const ModifyTable *) plan)->resultRelations,
						info->ri_RangeTableIndex);
}

/* What changes the table in this statement. */
static const ModifyTable *
find_modify_table(const QueryDesc *query, const ResultRelInfo *info)
{
	const Plan *plan = query->plannedstmt->planTree;
	ListCell   *cell;

	if (changes_table(plan, info))
		return (const ModifyTable *) plan;
	foreach(cell, query->plannedstmt->subplans)
	{
		plan = lfirst(cell);
		if (changes_table(plan, info))
			return (const ModifyTable *) plan;
	}
	return NULL;
}

/*
 * Expressions and predicates of indexes.  The executor would open them at the
 * first row that is written.
 */
static void
adopt_indexes(ResultRelInfo *info, const ModifyTable *modify)
{
	if (info->ri_IndexRelationDescs == NULL &&
		info->ri_RelationDesc->rd_rel->relhasindex)
		ExecOpenIndices(info, modify->onConflictAction != ONCONFLICT_NONE);
	for (int i = 0; i < info->ri_NumIndices; i++)
	{
		IndexInfo  *index = info->ri_IndexRelationInfo[i];

		if (index->ii_ExpressionsState == NIL)
			(void) planner_replace((Node *) index->ii_Expressions);
		if (index->ii_PredicateState == NULL)
			(void) planner_replace((Node *) index->ii_Predicate);
	}
}

/* CHECK constraints. */
static void
adopt_checks(ResultRelInfo *info, EState *estate)
{
	Relation	rel = info->ri_RelationDesc;
	TupleConstr *constr = rel->rd_att->constr;
	ExprState **states;

	if (constr == NULL || constr->num_check == 0 ||
		constr->num_check != rel->rd_rel->relchecks ||
		compat_check_states(info) != NULL)
		return;
	states = palloc0(constr->num_check * sizeof(ExprState *));
	for (int i = 0; i < constr->num_check; i++)
	{
		Node	   *check = compat_check_expression(rel, &constr->check[i]);

		if (check == NULL)
			continue;
		(void) planner_replace(check);
		states[i] = ExecPrepareExpr((Expr *) check, estate);
	}
	compat_check_states(info) = states;
}

/*
 * Must what an UPDATE of generated columns needs be prepared here?  Where
 * INSERT and UPDATE share it, other statements have done so by now.
 */
static bool
prepares_generated(const ModifyTable *modify)
{
	return modify->operation == CMD_UPDATE ||
		(COMPAT_GENERATED_APART &&
		 (modify->operation == CMD_MERGE ||
		  modify->onConflictAction == ONCONFLICT_UPDATE));
}

/* Stored generated columns, as an UPDATE computes them. */
static void
adopt_generated(ResultRelInfo *info, EState *estate,
				const ModifyTable *modify)
{
	TupleConstr *constr = info->ri_RelationDesc->rd_att->constr;
	ExprState **states;

	if (constr == NULL || !constr->has_generated_stored)
		return;
	if (compat_generated_states(info) == NULL && prepares_generated(modify))
		compat_init_generated(info, estate);
	states = compat_generated_states(info);
	for (int i = 0; states != NULL && i < info->ri_RelationDesc->rd_att->natts;
		 i++)
	{
		Node	   *expression;

		if (states[i] == NULL)
			continue;
		expression = copyObject((Node *) states[i]->expr);
		if (planner_replace(expression))
			states[i] = ExecPrepareExpr((Expr *) expression, estate);
	}
}

/*
 * Let a statement that is about to start do without workers, which could not
 * read what this session has edited in memory: a trigger may hand the row that
 * an UPDATE is about to store to a query.
 */
void
executor_stay_here(QueryDesc *query)
{
	PlannedStmt *statement;

	if (!query->plannedstmt->parallelModeNeeded || !edit_exists())
		return;
	statement = MemoryContextAlloc(GetMemoryChunkContext(query),
								   sizeof(PlannedStmt));
	*statement = *query->plannedstmt;
	statement->parallelModeNeeded = false;
	query->plannedstmt = statement;
}

/* Look at the tables that a statement, which was just started, changes. */
void
executor_adopt(QueryDesc *query)
{
	EState	   *estate = query->estate;
	MemoryContext caller = MemoryContextSwitchTo(estate->es_query_cxt);
	ListCell   *cell;

	foreach(cell, estate->es_opened_result_relations)
	{
		ResultRelInfo *info = lfirst(cell);
		const ModifyTable *modify;

		if (info->ri_RelationDesc->rd_tableam != table_am_routine())
			continue;
		modify = find_modify_table(query, info);
		if (modify == NULL || modify->operation == CMD_DELETE)
			continue;
		adopt_indexes(info, modify);
		adopt_checks(info, estate);
		adopt_generated(info, estate, modify);
	}
	MemoryContextSwitchTo(caller);
}
