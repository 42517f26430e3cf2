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

#include "json_lazy.h"
#include "json_tree.h"
#include "stats.h"

/* Containers up to this size are returned flat, not as lazy datums. */
#define LAZY_SIZE			2048

struct JsonIterator
{
	JsonItem	container;
	uint32		next;			/* member to come */
	uint32		count;
	bool		object;
	char	   *run;			/* head of the run with the next member */
	uint32		run_count;
	uint32		run_next;
	uint32		long_offset;	/* of the next long member */
	EntryCursor keys;
	EntryCursor values;
	const char *data;
};

pg_noreturn static void
raise_damaged(Document *document, const char *problem)
{
	document_source(document)->problem = problem;
	document_raise(document);
	pg_unreachable();
}

/* The head of a stored container. */
static const char *
view_head(const JsonItem *container)
{
	if (container->head_size < sizeof(uint32) ||
		container->head_size > container->stored_size)
		raise_damaged(container->document, "Container has a wrong size");
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
static void
set_value(Document *document, const JsonbValue *value, JsonItem *item)
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
static void
set_stub(Document *document, const JsonStub *stub, uint32 offset,
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

/* The stub that stands in a run's head for a value; NULL if it is no stub. */
static const JsonStub *
value_stub(const char *head, const JsonbValue *value)
{
	if ((*(const uint32 *) head & FORM_SPECIAL) == 0 ||
		value->type != jbvBinary ||
		(value->val.binary.data->header & FORM_SPECIAL) == 0)
		return NULL;
	return (const JsonStub *) value->val.binary.data;
}

/* Bytes of the long members before the one with that stub. */
static uint32
stored_before(const char *head, const JsonStub *stub)
{
	uint32		word = *(const uint32 *) head;
	const char *data = head + sizeof(uint32) +
		form_entries(word) * sizeof(JEntry);
	EntryCursor cursor;
	uint32		before = 0;

	cursor.entries = (const JEntry *) (head + sizeof(uint32));
	cursor.index = 0;
	cursor.end = 0;
	if ((word & JB_FOBJECT) != 0)
	{
		cursor.index = word & JB_CMASK;
		cursor.end = getJsonbOffset((const JsonbContainer *) head,
									cursor.index);
	}
	for (;;)
	{
		uint32		start;
		uint32		length;
		const JsonStub *other;

		if (entry_next(&cursor, &start, &length) != JENTRY_ISCONTAINER)
			continue;
		other = (const JsonStub *) (data + FORM_ALIGN(start));
		if (other >= stub)
			return before;
		if ((other->word & FORM_SPECIAL) != 0)
			before += other->stored_size;
	}
}

/* What a search found in a run's head, as an item. */
static void
set_found(const JsonItem *run, const char *head, const JsonbValue *value,
		  JsonItem *item)
{
	const JsonStub *stub = value_stub(head, value);

	if (stub == NULL)
		set_value(run->document, value, item);
	else
		set_stub(run->document, stub, run->offset + run->head_size +
				 stored_before(head, stub), item);
}

/* Make container the child of its directory with that number. */
static void
descend(JsonItem *container, const char *head, int child)
{
	const JsonDirectory *directory = (const JsonDirectory *) head;
	const JsonDirEntry *entries = (const JsonDirEntry *) (directory + 1);
	uint32		offset = container->offset + container->head_size;
	uint32		end = container->offset + container->stored_size;

	check_stack_depth();
	for (int i = 0; i < child; i++)
		offset += entries[i].stored_size;
	container->stored_size = entries[child].stored_size;
	container->head_size = entries[child].head_size;
	container->offset = offset;
	if (offset > end || container->stored_size > end - offset)
		raise_damaged(container->document, "Child reaches past the end");
}

static bool
is_directory(const char *head)
{
	uint32		word = *(const uint32 *) head;

	return (word & FORM_SPECIAL) != 0 && (word & FORM_DIRECTORY) != 0;
}

/* Compare keys in jsonb's order. */
static int
compare_keys(const char *a, uint32 a_size, const char *b, uint32 b_size)
{
	if (a_size != b_size)
		return a_size > b_size ? 1 : -1;
	return memcmp(a, b, a_size);
}

/* The last child of a directory whose first key is not above key; or -1. */
static int
child_with_key(const char *head, const char *key, uint32 length)
{
	const JsonDirectory *directory = (const JsonDirectory *) head;
	const JsonDirEntry *entries = (const JsonDirEntry *) (directory + 1);
	const uint32 *ends = (const uint32 *) (entries + directory->children);
	const char *keys = (const char *) (ends + directory->children);
	int			low = 0;
	int			high = directory->children;

	while (low < high)
	{
		int			middle = (low + high) / 2;
		uint32		start = middle == 0 ? 0 : ends[middle - 1];

		if (compare_keys(keys + start, ends[middle] - start, key,
						 length) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low - 1;
}

/* The child of a directory with the member of that number, made relative. */
static int
child_with_member(const JsonItem *container, const char *head, uint32 *index)
{
	const JsonDirectory *directory = (const JsonDirectory *) head;
	const JsonDirEntry *entries = (const JsonDirEntry *) (directory + 1);

	for (int i = 0; i < directory->children; i++)
	{
		if (*index < entries[i].count)
			return i;
		*index -= entries[i].count;
	}
	raise_damaged(container->document, "Directory has too few members");
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

	if (!object->stored)
	{
		if (getKeyJsonValueFromContainer(object->value.val.binary.data, key,
										 length, &value) == NULL)
			return false;
		set_value(object->document, &value, member);
		return true;
	}
	while (is_directory(head = view_head(&at)))
	{
		int			child = child_with_key(head, key, length);

		if (child < 0)
			return false;
		descend(&at, head, child);
	}
	if (getKeyJsonValueFromContainer((JsonbContainer *) head, key, length,
									 &value) == NULL)
		return false;
	set_found(&at, head, &value, member);
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
	{
		value = getIthJsonbValueFromContainer(array->value.val.binary.data,
											  left);
		set_value(array->document, value, element);
		pfree(value);
		return true;
	}
	while (is_directory(head = view_head(&at)))
		descend(&at, head, child_with_member(&at, head, &left));
	value = getIthJsonbValueFromContainer((JsonbContainer *) head, left);
	if (value == NULL)
		raise_damaged(array->document, "Run has too few members");
	set_found(&at, head, value, element);
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
	struct varlena *value = (struct varlena *) DatumGetPointer(datum);
	TreePointer pointer;

	if (VARATT_IS_EXTERNAL_ONDISK(value))
	{
		pointer_read(value, &pointer);
		if (!document_is_tree(&pointer))
			return false;
		set_root(document_open(&pointer), root);
		return true;
	}
	return json_lazy_open(datum, root);
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
		raise_damaged(item->document, "Long member is longer than it says");
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

/*
 * Start to walk over the members of a container, from the one with that
 * number on.  Memory: a head, whatever the size of the container.
 */
JsonIterator *
json_iterate(const JsonItem *container, uint32 start)
{
	JsonIterator *iterator = palloc0(sizeof(JsonIterator));

	iterator->container = *container;
	iterator->object = container->type == jbvObject;
	iterator->count = json_count(container);
	iterator->next = start;
	return iterator;
}

void
json_iterate_end(JsonIterator *iterator)
{
	if (iterator->run != NULL)
		pfree(iterator->run);
	pfree(iterator);
}

/* Set the cursors to a member of the run whose head is at hand. */
static void
run_begin(JsonIterator *iterator, const char *head, uint32 skip)
{
	uint32		word = *(const uint32 *) head;

	iterator->run_count = word & JB_CMASK;
	iterator->run_next = skip;
	iterator->data = head + sizeof(uint32) +
		form_entries(word) * sizeof(JEntry);
	iterator->keys.entries = iterator->values.entries =
		(const JEntry *) (head + sizeof(uint32));
	iterator->keys.index = skip;
	iterator->keys.end = getJsonbOffset((const JsonbContainer *) head, skip);
	iterator->values.index = skip;
	if (iterator->object)
		iterator->values.index += iterator->run_count;
	iterator->values.end = getJsonbOffset((const JsonbContainer *) head,
										  iterator->values.index);
}

/* Go to the run that has the next member. */
static void
next_run(JsonIterator *iterator)
{
	JsonItem	at = iterator->container;
	uint32		skip = iterator->next;
	const char *head;

	CHECK_FOR_INTERRUPTS();
	if (!at.stored)
	{
		run_begin(iterator, (const char *) at.value.val.binary.data, skip);
		return;
	}
	while (is_directory(head = view_head(&at)))
		descend(&at, head, child_with_member(&at, head, &skip));
	if (iterator->run != NULL)
		pfree(iterator->run);
	iterator->run = palloc(at.head_size);
	memcpy(iterator->run, head, at.head_size);
	iterator->long_offset = at.offset + at.head_size;
	run_begin(iterator, iterator->run, 0);
	if (skip >= iterator->run_count)
		raise_damaged(at.document, "Run has too few members");
	for (uint32 i = 0; i < skip; i++)
	{
		JsonbValue	key;
		JsonItem	value;

		iterator->next--;
		json_next(iterator, &key, &value);
	}
}

/* Set *value to what an entry of a run stands for. */
static void
set_entry_value(JsonIterator *iterator, uint32 type, uint32 start,
				uint32 length, JsonItem *item)
{
	const char *at = iterator->data + start;
	const char *aligned = iterator->data + FORM_ALIGN(start);
	JsonbValue	value;

	memset(&value, 0, sizeof(value));
	switch (type)
	{
		case JENTRY_ISSTRING:
			value.type = jbvString;
			value.val.string.val = unconstify(char *, at);
			value.val.string.len = length;
			break;
		case JENTRY_ISNUMERIC:
			value.type = jbvNumeric;
			value.val.numeric = (Numeric) aligned;
			break;
		case JENTRY_ISBOOL_TRUE:
		case JENTRY_ISBOOL_FALSE:
			value.type = jbvBool;
			value.val.boolean = type == JENTRY_ISBOOL_TRUE;
			break;
		case JENTRY_ISNULL:
			value.type = jbvNull;
			break;
		default:
			value.type = jbvBinary;
			value.val.binary.data = (JsonbContainer *) aligned;
			value.val.binary.len = length - (aligned - at);
	}
	if (iterator->run != NULL && value.type == jbvBinary &&
		(value.val.binary.data->header & FORM_SPECIAL) != 0)
	{
		const JsonStub *stub = (const JsonStub *) aligned;

		set_stub(iterator->container.document, stub, iterator->long_offset,
				 item);
		iterator->long_offset += stub->stored_size;
	}
	else
		set_value(iterator->container.document, &value, item);
}

/*
 * Set *value, and *key for an object, to the next member; false at the end.
 * They are valid until the next call.
 */
bool
json_next(JsonIterator *iterator, JsonbValue *key, JsonItem *value)
{
	uint32		start;
	uint32		length;
	uint32		type;

	if (iterator->next >= iterator->count)
		return false;
	if (iterator->run_next == iterator->run_count)
		next_run(iterator);
	if (iterator->object)
	{
		(void) entry_next(&iterator->keys, &start, &length);
		key->type = jbvString;
		key->val.string.val = unconstify(char *, iterator->data + start);
		key->val.string.len = length;
	}
	type = entry_next(&iterator->values, &start, &length);
	set_entry_value(iterator, type, start, length, value);
	iterator->run_next++;
	iterator->next++;
	return true;
}
