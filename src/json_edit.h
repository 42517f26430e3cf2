/*-------------------------------------------------------------------------
 *
 * json_edit.h
 *	  Changing members of a document by splices of its stored form.
 *
 * An editor stands in a stored container of an open, private document
 * (document_overlay()), at first in the root, and may be at one of its
 * members or where one could be.  A change costs the nodes between the root
 * and the member, not the document: a run's entries, the fields of its
 * directories, the stubs and sizes above.
 *
 * After a change the editor stands in the root again, at no member; items
 * that it has given before are void.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PG_TOASTER_JSON_EDIT_H
#define PG_TOASTER_JSON_EDIT_H

#include "postgres.h"

#include "json_tree.h"

typedef struct JsonEditor JsonEditor;

extern JsonEditor *json_edit_begin(Document *document);
extern void json_edit_rewind(JsonEditor *editor);
extern const JsonItem *json_edit_container(const JsonEditor *editor);
extern bool json_edit_find_key(JsonEditor *editor, const char *key,
							   int length, JsonItem *member);
extern bool json_edit_find_index(JsonEditor *editor, uint32 index,
								 JsonItem *member);
extern void json_edit_enter(JsonEditor *editor);
extern void json_edit_replace(JsonEditor *editor, const JsonbValue *value);
extern void json_edit_insert(JsonEditor *editor, const JsonbValue *value);
extern void json_edit_delete(JsonEditor *editor);
extern void json_edit_wrap(JsonEditor *editor);
extern uint32 json_edit_flat_size(const JsonEditor *editor);

#endif							/* PG_TOASTER_JSON_EDIT_H */
