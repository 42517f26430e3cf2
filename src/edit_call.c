/*-------------------------------------------------------------------------
 *
 * edit_call.c
 *	  What the SQL functions that change documents have in common.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "edit_call.h"
#include "json_call.h"
#include "toast_am.h"

/*
 * Start to change the document that the datum stands for; false when it is
 * not a tree of ours, or a scalar, or the function may not return an edit.
 */
bool
edit_call_begin(FunctionCallInfo fcinfo, Datum datum, Edited *edited)
{
	TreePointer pointer;

	if (!edit_is_wanted(fcinfo) || !toast_am_pointer(datum, &pointer))
		return false;
	edited->document = document_overlay(&pointer);
	edited->editor = json_edit_begin(edited->document);
	if (!json_root_is_scalar(json_edit_container(edited->editor)))
		return true;
	document_close(edited->document);
	return false;
}

/* The result: an edit, or the document itself if nothing has changed. */
Datum
edit_call_finish(Edited *edited, Datum datum)
{
	if (document_has_changed(edited->document))
		datum = document_edit(edited->document,
							  json_edit_flat_size(edited->editor));
	document_close(edited->document);
	return datum;
}

/* Is the document not to be changed here?  Then call the server's function. */
Datum
edit_call_give_up(Edited *edited, FunctionCallInfo fcinfo, PGFunction stock)
{
	document_close(edited->document);
	return stock(fcinfo);
}

/* Would raise the server's error for that kind of document, if there is one. */
void
edit_call_check(Edited *edited, FunctionCallInfo fcinfo, PGFunction stock)
{
	JsonItem	root = *json_edit_container(edited->editor);

	(void) json_call_stand_in(fcinfo, stock, &root);
}
