/*-------------------------------------------------------------------------
 *
 * edit_call.h
 *	  What the SQL functions that change documents have in common.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PG_TOASTER_EDIT_CALL_H
#define PG_TOASTER_EDIT_CALL_H

#include "postgres.h"

#include "fmgr.h"

#include "json_edit.h"

/* More members than that are not changed one by one. */
#define MANY_MEMBERS	2000

/* A document that is being changed. */
typedef struct Edited
{
	Document   *document;
	JsonEditor *editor;
} Edited;

extern bool edit_call_begin(FunctionCallInfo fcinfo, Datum datum,
							Edited *edited);
extern Datum edit_call_finish(Edited *edited, Datum datum);
extern Datum edit_call_give_up(Edited *edited, FunctionCallInfo fcinfo,
							   PGFunction stock);
extern void edit_call_check(Edited *edited, FunctionCallInfo fcinfo,
							PGFunction stock);

#endif							/* PG_TOASTER_EDIT_CALL_H */
