/*-------------------------------------------------------------------------
 *
 * json_head.h
 *	  Looking into the heads of containers, for those who read and edit
 *	  them: json_tree.c, json_iterate.c and json_edit*.c.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PG_TOASTER_JSON_HEAD_H
#define PG_TOASTER_JSON_HEAD_H

#include "postgres.h"

#include "compat.h"
#include "json_tree.h"

pg_noreturn extern void json_raise_damaged(Document *document,
										   const char *problem);
extern const char *json_view_head(const JsonItem *container);
extern void json_descend(JsonItem *container, const char *head, int child);
extern int	json_child_with_key(const JsonItem *container, const char *head,
								const char *key, uint32 length);
extern int	json_child_with_member(const JsonItem *container,
								   const char *head, uint32 *index);
extern uint32 json_search_run(const JsonItem *run, const char *head,
							  const char *key, uint32 length, bool *found);
extern void json_set_run_member(const JsonItem *run, const char *head,
							uint32 member, JsonItem *item);
extern void json_check_value(const JsonItem *run, const char *head,
							 const char *data, uint32 type, uint32 start,
							 uint32 length);
extern void json_entry_value(const char *data, uint32 type, uint32 start,
							 uint32 length, JsonbValue *value);
extern const JsonStub *json_value_stub(const JsonbValue *value);
extern uint32 json_stored_before(const char *head, uint32 first,
								 uint32 entry);
extern void json_set_value(Document *document, const JsonbValue *value,
						   JsonItem *item);
extern void json_set_stub(Document *document, const JsonStub *stub,
						  uint32 offset, JsonItem *item);

#endif							/* PG_TOASTER_JSON_HEAD_H */
