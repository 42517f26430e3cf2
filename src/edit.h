/*-------------------------------------------------------------------------
 *
 * edit.h
 *	  Values that were edited and are not written yet.
 *
 * An edited value is a piece table on a stored one.  Its datum is a TOAST
 * pointer like that of the stored value, with an address of the in-memory
 * class: whoever detoasts it gets the value by way of toast_am.c, an outer
 * edit takes the table as its input, and the table access method writes it
 * if it arrives in the row and the column that it came from.
 *
 * An edit lives as long as the memory that its datum was allocated in, that
 * of the expression: until the next row is read.  A pointer that somebody
 * has copied and kept longer is refused, never mistaken for another one.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PG_TOASTER_EDIT_H
#define PG_TOASTER_EDIT_H

#include "postgres.h"

#include "fmgr.h"

#include "piece_table.h"
#include "pointer.h"

/*
 * A call that may return an edit stands, says its expression, at this place of
 * the query; the planner hook writes that, and no parser does.
 */
#define EDIT_LOCATION	(-2)

typedef struct Edit
{
	TreePointer pointer;		/* in memory */
	TreePointer origin;			/* what was edited first */
	TreePointer base;			/* the rope that the table refers to */
	uint32		base_crc;		/* of its root */
	uint8		kind;			/* of the root to be: NODE_KIND_xxx */
	PieceTable *table;
} Edit;

extern Datum edit_register(Edit *edit, const TreePointer *source,
						   uint32 flat_size);
extern const Edit *edit_get(uint32 address);
extern bool edit_is_wanted(FunctionCallInfo fcinfo);
extern bool edit_exists(void);

#endif							/* PG_TOASTER_EDIT_H */
