/*-------------------------------------------------------------------------
 *
 * row_edit.c
 *	  Values of a row that were edited in memory.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "document.h"
#include "row_edit.h"
#include "toast_am.h"

/* The edit in memory that a value of the column is; or NULL. */
const Edit *
row_edit_of(Form_pg_attribute attr, Datum datum)
{
	TreePointer pointer;

	if (attr->attlen != -1 || !toast_am_pointer(datum, &pointer) ||
		!address_is_in_memory(pointer.address))
		return NULL;
	return edit_get(pointer.address);
}

/* The flat value of an edit, in the current memory context. */
Datum
row_edit_flat(const Edit *edit)
{
	Size		size = VARHDRSZ + edit->pointer.size;
	struct varlena *flat = palloc(size);

	SET_VARSIZE(flat, size);
	document_fetch_edit(edit, 0, edit->pointer.size, VARDATA(flat));
	return PointerGetDatum(flat);
}
