/*-------------------------------------------------------------------------
 *
 * json_tree.h
 *	  Reading parts of a document that is kept as a tree.
 *
 * An item is a value inside an open document: a short one stands in memory
 * as a JsonbValue, a long one is known by its place in the stored form
 * (json_form.h) and is read when somebody asks for its contents.
 *
 * What an item points to belongs to the document and is valid until
 * json_close().  Everything a function returns to its caller is palloc'd in
 * the current memory context.  Missing or damaged chunks raise
 * ERRCODE_DATA_CORRUPTED.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PG_TOASTER_JSON_TREE_H
#define PG_TOASTER_JSON_TREE_H

#include "postgres.h"

#include "utils/jsonb.h"

#include "document.h"
#include "toaster.h"

extern const Toaster json_toaster;

/* A value inside an open document. */
typedef struct JsonItem
{
	Document   *document;
	enum jbvType type;			/* jbvNull, jbvString, jbvNumeric, jbvBool,
								 * jbvArray or jbvObject */
	bool		stored;			/* by its place; if not, value has it */
	JsonbValue	value;			/* a scalar, or jbvBinary for a container */
	uint32		offset;			/* in the stored form */
	uint32		head_size;		/* bytes of a container's first node */
	uint32		stored_size;
	uint32		flat_size;		/* bytes of the flat value, no header */
} JsonItem;

/* A walk over the members of a container, in jsonb's order. */
typedef struct JsonIterator JsonIterator;

extern bool json_open(Datum datum, JsonItem *root);
extern void json_close(JsonItem *root);
extern bool json_root_is_scalar(const JsonItem *root);

extern uint32 json_count(const JsonItem *container);
extern bool json_find_key(const JsonItem *object, const char *key, int length,
						  JsonItem *member);
extern bool json_find_index(const JsonItem *array, int64 index,
							JsonItem *element);

extern JsonIterator *json_iterate(const JsonItem *container, uint32 start);
extern bool json_next(JsonIterator *iterator, JsonbValue *key,
					  JsonItem *value);
extern void json_iterate_end(JsonIterator *iterator);

extern Datum json_item_datum(const JsonItem *item);
extern Jsonb *json_item_jsonb(const JsonItem *item);
extern text *json_item_text(const JsonItem *item);
extern void json_item_read(const JsonItem *item, char *flat);
extern void json_item_value(const JsonItem *item, JsonbValue *value);

#endif							/* PG_TOASTER_JSON_TREE_H */
