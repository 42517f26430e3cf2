/*-------------------------------------------------------------------------
 *
 * planner_text.c
 *	  Which calls of functions that read bytea and text are worth replacing.
 *
 * EXPLAIN shows our function where one was called by name, and length() of
 * some short text is called everywhere.  So a call stays as it is if its
 * argument cannot be one of our pointers, and if the server's function reads
 * no more than ours.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/primnodes.h"
#include "utils/fmgroids.h"

#include "planner_text.h"
#include "text_scan.h"

/* So many characters take less than any value that has left its row. */
#define FEW_CHARACTERS	500

/* Can the value of the expression be one that has not been read yet? */
static bool
may_be_stored(const Node *node)
{
	for (;;)
	{
		if (IsA(node, RelabelType))
			node = (const Node *) ((const RelabelType *) node)->arg;
		else if (IsA(node, CoerceToDomain))
			node = (const Node *) ((const CoerceToDomain *) node)->arg;
		else
			break;
	}
	switch (nodeTag(node))
	{
		case T_Var:
		case T_Param:
		case T_Aggref:
		case T_WindowFunc:
		case T_CaseExpr:
		case T_CoalesceExpr:
		case T_FieldSelect:
		case T_SubPlan:
		case T_AlternativeSubPlan:
			return true;
		default:
			return false;
	}
}

/* Is it a constant, a small number if it is one? */
static bool
is_small(const Node *node)
{
	const Const *constant = (const Const *) node;

	if (!IsA(node, Const))
		return false;
	return constant->constisnull || constant->consttype != INT4OID ||
		(DatumGetInt32(constant->constvalue) >= 0 &&
		 DatumGetInt32(constant->constvalue) <= FEW_CHARACTERS);
}

/*
 * Is a call of the server's function worth replacing?  So is that of any
 * function on documents.
 */
bool
planner_text_serves(Oid function, List *arguments)
{
	bool		front = false;	/* little is left out, or only the front read */
	bool		characters = false; /* no matter where all have one byte */

	switch (function)
	{
		case F_TEXTLEN:
		case F_LENGTH_TEXT:
		case F_CHAR_LENGTH_TEXT:
		case F_CHARACTER_LENGTH_TEXT:
			characters = true;
			break;
		case F_SUBSTR_TEXT_INT4:
		case F_SUBSTRING_TEXT_INT4:
			characters = true;
			front = is_small(lsecond(arguments));
			break;
		case F_SUBSTR_TEXT_INT4_INT4:
		case F_SUBSTRING_TEXT_INT4_INT4:
			characters = true;
			front = is_small(lsecond(arguments)) &&
				is_small(lthird(arguments));
			break;
		case F_LEFT:
		case F_STARTS_WITH:
			front = is_small(lsecond(arguments));
			break;
		case F_RIGHT:
		case F_STRPOS:
		case F_POSITION_TEXT_TEXT:
		case F_POSITION_BYTEA_BYTEA:
		case F_GET_BYTE:
		case F_GET_BIT_BYTEA_INT8:
			break;
		default:
			return true;
	}
	return !front && !(characters && text_scan_single_byte()) &&
		may_be_stored(linitial(arguments));
}
