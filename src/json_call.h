/*-------------------------------------------------------------------------
 *
 * json_call.h
 *	  What the SQL functions on documents have in common: calling the
 *	  server's function on something smaller than the document.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PG_TOASTER_JSON_CALL_H
#define PG_TOASTER_JSON_CALL_H

#include "postgres.h"

#include "fmgr.h"

#include "json_tree.h"

extern Datum json_call_stock(FunctionCallInfo fcinfo, PGFunction stock,
							 const Datum *arguments, int count);
extern Datum json_call_stand_in(FunctionCallInfo fcinfo, PGFunction stock,
								const JsonItem *root);
extern Jsonb *json_call_empty(const JsonItem *root);

extern bool json_call_index(Datum step, int *index);

#endif							/* PG_TOASTER_JSON_CALL_H */
