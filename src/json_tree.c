/*-------------------------------------------------------------------------
 *
 * json_tree.c
 *	  Reading parts of a document that is kept as a tree.
 *
 * A search goes from head to head: a directory is searched by its first keys
 * or counts, a run or a plain container by jsonb's own functions, and what
 * they find is either there or a stub, which tells where to go on.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/builtins.h"

#include "json_head.h"
#include "json_lazy.h"
#include "json_tree.h"
#include "stats.h"
#include "toast_am.h"

/* Containers up to this size are returned flat, not as lazy datums. */
#define LAZY_SIZE			2048

void
json_raise_damaged(Document *document, const char *problem)
{
	document_source(document)->problem = problem;
	document_raise(document);
	pg_unreachable();
}

/* The head of a stored container. */
const char *
json_view_head(const JsonItem *container)
{
	if (container->head_size < sizeof(uint32) ||
		container->head_size > container->stored_size)
		json_raise_damaged(container->document, "Container has a wrong size");
	return document_view(container->document, container->offset,
						 container->head_size);
}

/* The first word of a container. */
static uint32
container_word(const JsonItem *container)
{
	if (!container->stored)
		return container->value.val.binary.data->header;
	return *(const uint32 *) document_view(container->document,
										   container->offset, sizeof(uint32));
}

/* An item for a value that is in memory. */
void
json_set_value(Document *document, const JsonbValue *value, JsonItem *item)
{
	memset(item, 0, sizeof(JsonItem));
	item->document = document;
	item->value = *value;
	item->type = value->type;
	if (value->type == jbvBinary)
		item->type = JsonContainerIsObject(value->val.binary.data) ?
			jbvObject : jbvArray;
}

/* An item for the long member of a stub. */
void
json_set_stub(Document *document, const JsonStub *stub, uint32 offset,
		 JsonItem *item)
{
	memset(item, 0, sizeof(JsonItem));
	item->document = document;
	item->stored = true;
	item->offset = offset;
	item->stored_size = stub->stored_size;
	item->flat_size = stub->flat_size;
	item->head_size = stub->head_size;
	switch (stub->word & JENTRY_TYPEMASK)
	{
		case JENTRY_ISSTRING:
			item->type = jbvString;
			break;
		case JENTRY_ISNUMERIC:
			item->type = jbvNumeric;
			break;
		default:
			item->type = (stub->word & STUB_OBJECT) != 0 ? jbvObject :
				jbvArray;
	}
}

/* Set *value to what an entry of a head stands for. */
void
json_entry_value(const char *data, uint32 type, uint32 start, uint32 length,
			JsonbValue *value)
{
	char	   *at = unconstify(char *, data + start);
	char	   *aligned = unconstify(char *, data + FORM_ALIGN(start));

	switch (type)
	{
		case JENTRY_ISSTRING:
			value->type = jbvString;
			value->val.string.val = at;
			value->val.string.len = length;
			break;
		case JENTRY_ISNUMERIC:
			value->type = jbvNumeric;
			value->val.numeric = (Numeric) aligned;
			break;
		case JENTRY_ISBOOL_TRUE:
		case JENTRY_ISBOOL_FALSE:
			value->type = jbvBool;
			value->val.boolean = type == JENTRY_ISBOOL_TRUE;
			break;
		case JENTRY_ISNULL:
			value->type = jbvNull;
			break;
		default:
			value->type = jbvBinary;
			value->val.binary.data = (JsonbContainer *) aligned;
			value->val.binary.len = length - (aligned - at);
	}
}

/* The stub that a value of a run's head is; NULL if it is itself. */
const JsonStub *
json_value_stub(const JsonbValue *value)
{
	if (value->type != jbvBinary ||
		(value->val.binary.data->header & FORM_SPECIAL) == 0)
		return NULL;
	return (const JsonStub *) value->val.binary.data;
}

/*
 * Bytes of the long members of a run with such that come before the entry
 * with that number; first is that of its first value.
 */
uint32
json_stored_before(const char *head, uint32 first, uint32 entry)
{
	const JEntry *entries = (const JEntry *) (head + sizeof(uint32));
	const char *data = (const char *)
		(entries + form_entries(*(const uint32 *) head));
	EntryCursor cursor = {entries, first, entries_sum(entries, 0, first)};
	uint32		before = 0;

	while (cursor.index < entry)
	{
		uint32		start;
		uint32		length;
		const JsonStub *stub;

		if (entry_next(&cursor, &start, &length) != JENTRY_ISCONTAINER ||
			length < sizeof(JsonStub))
			continue;
		stub = (const JsonStub *) (data + FORM_ALIGN(start));
		if ((stub->word & FORM_SPECIAL) != 0)
			before += stub->stored_size;
	}
	return before;
}

/*
 * Check that a value of a head whose data start at data lies in it and is
 * long enough for its type.
 */
void
json_check_value(const JsonItem *run, const char *head, const char *data,
				 uint32 type, uint32 start, uint32 length)
{
	uint32		least = 0;

	if (entry_is_aligned(type))
		least = FORM_ALIGN(start) - start;
	if (type == JENTRY_ISCONTAINER)
		least += sizeof(uint32);
	if (data + start + length > head + run->head_size || length < least ||
		type > JENTRY_ISCONTAINER)
		json_raise_damaged(run->document,
						   "Value reaches past the end of the head");
}

/* Set *item to the member of a run with that number. */
void
json_set_run_member(const JsonItem *run, const char *head, uint32 member,
					JsonItem *item)
{
	uint32		word = *(const uint32 *) head;
	const JEntry *entries = (const JEntry *) (head + sizeof(uint32));
	const char *data = (const char *) (entries + form_entries(word));
	uint32		first = (word & JB_FOBJECT) != 0 ? word & JB_CMASK : 0;
	uint32		start = entries_sum(entries, 0, first + member);
	JEntry		entry = entries[first + member];
	JsonbValue	value;
	const JsonStub *stub;

	json_check_value(run, head, data, entry & JENTRY_TYPEMASK, start,
					 JBE_OFFLENFLD(entry));
	json_entry_value(data, entry & JENTRY_TYPEMASK, start,
					 JBE_OFFLENFLD(entry), &value);
	stub = (word & FORM_SPECIAL) != 0 ? json_value_stub(&value) : NULL;
	if (stub == NULL)
		json_set_value(run->document, &value, item);
	else if (value.val.binary.len != sizeof(JsonStub))
		json_raise_damaged(run->document, "Long member is malformed");
	else
		json_set_stub(run->document, stub, run->offset + run->head_size +
					  json_stored_before(head, first, first + member), item);
}

/*
 * The number in a run's head of the first key that is not below the given
 * one; *found: it is that.  Keys are ordered by length first, so that those
 * of one length are found by their entries alone, and then stand at equal
 * distances.
 */
uint32
json_search_run(const JsonItem *run, const char *head, const char *key,
				uint32 length, bool *found)
{
	uint32		count = *(const uint32 *) head & JB_CMASK;
	const JEntry *entries = (const JEntry *) (head + sizeof(uint32));
	const char *keys = (const char *) (entries + 2 * count);
	uint32		low = 0;
	uint32		high = count;
	uint32		first;

	*found = false;
	while (low < high)
	{
		uint32		middle = (low + high) / 2;

		if (JBE_OFFLENFLD(entries[middle]) < length)
			low = middle + 1;
		else
			high = middle;
	}
	first = low;
	keys += entries_sum(entries, 0, first);
	for (high = count; low < high;)
	{
		uint32		middle = (low + high) / 2;
		const char *at = keys + (Size) (middle - first) * length;
		int			order = JBE_OFFLENFLD(entries[middle]) - length;

		if (order == 0)
		{
			if (at + length > head + run->head_size)
				json_raise_damaged(run->document,
								   "Key reaches past the end of the head");
			order = memcmp(at, key, length);
		}
		if (order == 0)
		{
			*found = true;
			return middle;
		}
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Make container the child of its directory with that number. */
void
json_descend(JsonItem *container, const char *head, int child)
{
	const JsonDirectory *directory = (const JsonDirectory *) head;
	uint32		offset = container->offset + container->head_size;
	uint32		end = container->offset + container->stored_size;

	check_stack_depth();
	for (int i = 0; i < child; i++)
		offset += directory_get(directory, DIRECTORY_STORED_SIZE, i);
	container->stored_size = directory_get(directory, DIRECTORY_STORED_SIZE,
										   child);
	container->head_size = directory_get(directory, DIRECTORY_HEAD_SIZE,
										 child);
	container->offset = offset;
	if (offset > end || container->stored_size > end - offset)
		json_raise_damaged(container->document, "Child reaches past the end");
}

/* The last child of a directory whose first key is not above key; or -1. */
int
json_child_with_key(const JsonItem *container, const char *head,
					const char *key, uint32 length)
{
	const JsonDirectory *directory = (const JsonDirectory *) head;
	uint32		fixed = directory_fixed_size(true, directory->children);
	int			low = 0;
	int			high = directory->children;

	while (low < high)
	{
		int			middle = (low + high) / 2;
		uint32		start = middle == 0 ? 0 :
			directory_get(directory, DIRECTORY_KEY_END, middle - 1);
		uint32		end = directory_get(directory, DIRECTORY_KEY_END, middle);
		bool		above = end - start > length;

		if (end < start || (uint64) fixed + end > container->head_size)
			json_raise_damaged(container->document,
							   "Key reaches past the end of the directory");
		if (end - start == length)
			above = memcmp(head + fixed + start, key, length) > 0;
		if (above)
			high = middle;
		else
			low = middle + 1;
	}
	return low - 1;
}

/* The child of a directory with the member of that number, made relative. */
int
json_child_with_member(const JsonItem *container, const char *head,
					   uint32 *index)
{
	const JsonDirectory *directory = (const JsonDirectory *) head;

	for (int i = 0; i < directory->children; i++)
	{
		uint32		count = directory_get(directory, DIRECTORY_COUNT, i);

		if (*index < count)
			return i;
		*index -= count;
	}
	json_raise_damaged(container->document, "Directory has too few members");
}

/* Is that a head whose entries hold lengths only? */
static bool
is_run(const JsonItem *container, const JsonItem *at, const char *head)
{
	return at->offset != container->offset ||
		(*(const uint32 *) head & FORM_SPECIAL) != 0;
}

/*
 * Set *member to the value of the key; false when the object has no such
 * key.
 */
bool
json_find_key(const JsonItem *object, const char *key, int length,
			  JsonItem *member)
{
	JsonItem	at = *object;
	JsonbValue	value;
	const char *head;
	uint32		number;
	bool		found;

	if (!object->stored)
		head = (const char *) object->value.val.binary.data;
	else
		while (form_is_directory(head = json_view_head(&at)))
		{
			int			child = json_child_with_key(&at, head, key, length);

			if (child < 0)
				return false;
			json_descend(&at, head, child);
		}
	if (object->stored && is_run(object, &at, head))
	{
		number = json_search_run(&at, head, key, length, &found);
		if (!found)
			return false;
		json_set_run_member(&at, head, number, member);
		return true;
	}
	if (getKeyJsonValueFromContainer((JsonbContainer *) head, key, length,
									 &value) == NULL)
		return false;
	json_set_value(object->document, &value, member);
	return true;
}

/* Set *element to an element, counted from 0; false when it has none there. */
bool
json_find_index(const JsonItem *array, int64 index, JsonItem *element)
{
	JsonItem	at = *array;
	JsonbValue *value;
	uint32		left = index;
	const char *head;

	if (index < 0 || index >= json_count(array))
		return false;
	if (!array->stored)
		head = (const char *) array->value.val.binary.data;
	else
		while (form_is_directory(head = json_view_head(&at)))
			json_descend(&at, head, json_child_with_member(&at, head, &left));
	if (left >= (*(const uint32 *) head & JB_CMASK))
		json_raise_damaged(array->document, "Run has too few members");
	if (array->stored && is_run(array, &at, head))
	{
		json_set_run_member(&at, head, left, element);
		return true;
	}
	value = getIthJsonbValueFromContainer((JsonbContainer *) head, left);
	json_set_value(array->document, value, element);
	pfree(value);
	return true;
}

/* Elements of an array or pairs of an object. */
uint32
json_count(const JsonItem *container)
{
	return container_word(container) & JB_CMASK;
}

/* Is the document a scalar, in the array that jsonb wraps it in? */
bool
json_root_is_scalar(const JsonItem *root)
{
	uint32		word = container_word(root);

	return (word & FORM_SPECIAL) == 0 && (word & JB_FSCALAR) != 0;
}

/* An item for the whole of an open document. */
static void
set_root(Document *document, JsonItem *root)
{
	FormSource *source = document_source(document);

	memset(root, 0, sizeof(JsonItem));
	root->document = document;
	root->stored = true;
	root->flat_size = document_pointer(document)->size;
	root->stored_size = source->size;
	root->head_size = source->size;
	if (!document_is_plain(document))
	{
		const JsonPrefix *prefix = (const JsonPrefix *)
			document_view(document, 0, sizeof(JsonPrefix));

		root->offset = sizeof(JsonPrefix);
		root->stored_size -= sizeof(JsonPrefix);
		root->head_size = prefix->head_size;
	}
	root->type = (container_word(root) & JB_FOBJECT) != 0 ? jbvObject :
		jbvArray;
}

/*
 * Open the document that an undetoasted jsonb datum stands for.  Returns
 * false when it is not a tree; close what was opened by json_close().
 */
bool
json_open(Datum datum, JsonItem *root)
{
	TreePointer pointer;

	if (!toast_am_pointer(datum, &pointer))
		return json_lazy_open(datum, root);
	set_root(document_open(&pointer), root);
	return true;
}

/* Close what json_open() opened. */
void
json_close(JsonItem *root)
{
	document_close(root->document);
}

/* Read a stored string or numeric. */
static char *
read_scalar(const JsonItem *item)
{
	char	   *bytes = palloc(item->flat_size + 1);

	if (item->flat_size > item->stored_size)
		json_raise_damaged(item->document,
						   "Long member is longer than it says");
	document_read(item->document, item->offset, item->flat_size, bytes);
	bytes[item->flat_size] = '\0';
	return bytes;
}

/* Restore a stored container, with room for a varlena header before it. */
static Jsonb *
read_container(const JsonItem *item)
{
	Jsonb	   *jsonb = palloc(VARHDRSZ + item->flat_size);

	json_item_read(item, (char *) &jsonb->root);
	SET_VARSIZE(jsonb, VARHDRSZ + item->flat_size);
	return jsonb;
}

/* Restore the flat form of a stored container at flat. */
void
json_item_read(const JsonItem *item, char *flat)
{
	stats_add(STATS_PARTS_FLATTENED, 1);
	if (document_is_plain(item->document) && item->offset == 0)
		document_read(item->document, 0, item->flat_size, flat);
	else if (!form_decode_at(document_source(item->document), item->offset,
							 item->stored_size, item->head_size, flat,
							 item->flat_size))
		document_raise(item->document);
}

/* Set *value to the item, with all it points to in memory. */
void
json_item_value(const JsonItem *item, JsonbValue *value)
{
	if (!item->stored)
	{
		*value = item->value;
		return;
	}
	value->type = item->type;
	switch (item->type)
	{
		case jbvString:
			value->val.string.val = read_scalar(item);
			value->val.string.len = item->flat_size;
			break;
		case jbvNumeric:
			value->val.numeric = (Numeric) read_scalar(item);
			break;
		default:
			value->type = jbvBinary;
			value->val.binary.data = &read_container(item)->root;
			value->val.binary.len = item->flat_size;
	}
}

/* A flat jsonb of the item. */
Jsonb *
json_item_jsonb(const JsonItem *item)
{
	JsonbValue	value;

	if (item->stored && (item->type == jbvArray || item->type == jbvObject))
		return read_container(item);
	json_item_value(item, &value);
	return JsonbValueToJsonb(&value);
}

/* The item as a jsonb datum, lazy if it is a large container. */
Datum
json_item_datum(const JsonItem *item)
{
	if (item->stored && (item->type == jbvArray || item->type == jbvObject) &&
		item->flat_size > LAZY_SIZE)
		return json_lazy_make(item);
	return JsonbPGetDatum(json_item_jsonb(item));
}

/* The item as ->> gives it; NULL for a JSON null. */
text *
json_item_text(const JsonItem *item)
{
	JsonbValue	value;
	Datum		printed;

	json_item_value(item, &value);
	switch (value.type)
	{
		case jbvNull:
			return NULL;
		case jbvBool:
			return cstring_to_text(value.val.boolean ? "true" : "false");
		case jbvString:
			return cstring_to_text_with_len(value.val.string.val,
											value.val.string.len);
		case jbvNumeric:
			printed = DirectFunctionCall1(numeric_out,
										  NumericGetDatum(value.val.numeric));
			return cstring_to_text(DatumGetCString(printed));
		default:
			return cstring_to_text(JsonbToCString(NULL,
												  value.val.binary.data,
												  value.val.binary.len));
	}
}
