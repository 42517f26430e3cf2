/*-------------------------------------------------------------------------
 *
 * row_edit.h
 *	  Values of a row that were edited in memory.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PG_TOASTER_ROW_EDIT_H
#define PG_TOASTER_ROW_EDIT_H

#include "postgres.h"

#include "catalog/pg_attribute.h"

#include "edit.h"

extern const Edit *row_edit_of(Form_pg_attribute attr, Datum datum);
extern Datum row_edit_flat(const Edit *edit);

#endif							/* PG_TOASTER_ROW_EDIT_H */
