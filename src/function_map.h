/*-------------------------------------------------------------------------
 *
 * function_map.h
 *	  Which function of ours stands for which function of the server.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PG_TOASTER_FUNCTION_MAP_H
#define PG_TOASTER_FUNCTION_MAP_H

#include "postgres.h"

#include "nodes/pg_list.h"

typedef struct FunctionPair
{
	Oid			stock;			/* the server's function, if there is one */
	bool		edits;			/* where its result goes to a column ... */
	bool		reads;			/* ... and, unlike others, elsewhere, too */
	Oid			ours;			/* InvalidOid: do not replace it */
	uint32		stock_hash;		/* of the pg_proc entries, as plans name */
	uint32		our_hash;		/* what they depend on */
} FunctionPair;

extern Oid	function_map_access_method(void);
extern const FunctionPair *function_map_find(Oid stock);
extern const FunctionPair *function_map_find_edit(Oid function);
extern const FunctionPair *function_map_projection(void);
extern const FunctionPair *function_map_assignment(void);
extern List *function_map_depend(List *inval_items, List *pairs);
extern void function_map_init(void);

#endif							/* PG_TOASTER_FUNCTION_MAP_H */
