/*-------------------------------------------------------------------------
 *
 * json_edit.c
 *	  Changing members of a document by splices of its stored form.
 *
 * The editor finds its way as json_tree.c does, but remembers the nodes that
 * it comes through.  A change begins at the last of them (json_edit_run.c)
 * and goes up, through directories (json_edit_directory.c) and the stubs of
 * containers, until nothing is different above; the root's sizes are in the
 * document's prefix.  Then its patches are made.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "json_edit.h"
#include "json_edit_parts.h"
#include "json_head.h"
#include "settings.h"

/* jsonb's own limits. */
#define MAX_ELEMENTS		Min(MaxAllocSize / sizeof(JsonbValue), JB_CMASK)
#define MAX_PAIRS			Min(MaxAllocSize / sizeof(JsonbPair), JB_CMASK)

/* Go back to the root. */
void
json_edit_rewind(JsonEditor *editor)
{
	Document   *document = editor->document;
	FormSource *source = document_source(document);
	JsonItem   *root = &editor->container;
	uint32		word;

	memset(root, 0, sizeof(JsonItem));
	root->document = document;
	root->stored = true;
	root->flat_size = json_edit_flat_size(editor);
	root->stored_size = root->head_size = source->size;
	if (!document_is_plain(document))
	{
		const JsonPrefix *prefix = (const JsonPrefix *)
			document_view(document, 0, sizeof(JsonPrefix));

		root->offset = sizeof(JsonPrefix);
		root->stored_size -= sizeof(JsonPrefix);
		root->head_size = prefix->head_size;
	}
	word = *(const uint32 *) document_view(document, root->offset,
										   sizeof(word));
	root->type = (word & JB_FOBJECT) != 0 ? jbvObject : jbvArray;
	editor->base = editor->count = 0;
	editor->positioned = editor->found = false;
}

/*
 * Start to edit a document, whose root must be an array or an object.  The
 * editor lives in the current memory context.
 */
JsonEditor *
json_edit_begin(Document *document)
{
	JsonEditor *editor = palloc0(sizeof(JsonEditor));

	editor->document = document;
	form_limits(&editor->limits, settings_node_size);
	editor->capacity = 8;
	editor->nodes = palloc(editor->capacity * sizeof(EditNode));
	json_edit_rewind(editor);
	return editor;
}

/* The container that members are looked for in. */
const JsonItem *
json_edit_container(const JsonEditor *editor)
{
	return &editor->container;
}

/* Bytes of the flat form of the whole document. */
uint32
json_edit_flat_size(const JsonEditor *editor)
{
	Document   *document = editor->document;

	if (document_is_plain(document))
		return document_source(document)->size;
	return ((const JsonPrefix *) document_view(document, 0,
											   sizeof(JsonPrefix)))->flat_size;
}

/* The node at *at becomes the last of the editor's; its head, checked. */
static const char *
push_node(JsonEditor *editor, const JsonItem *at)
{
	const char *head = json_view_head(at);
	uint32		word = *(const uint32 *) head;
	const JsonDirectory *directory = (const JsonDirectory *) head;
	EditNode   *node;

	CHECK_FOR_INTERRUPTS();
	if (editor->count == editor->capacity)
	{
		editor->capacity *= 2;
		editor->nodes = repalloc(editor->nodes,
								 editor->capacity * sizeof(EditNode));
	}
	node = &editor->nodes[editor->count++];
	memset(node, 0, sizeof(EditNode));
	node->offset = at->offset;
	node->head_size = at->head_size;
	node->stored_size = at->stored_size;
	node->container = at->offset == editor->container.offset;
	node->object = (word & JB_FOBJECT) != 0;
	if (node->object != (editor->container.type == jbvObject))
		json_raise_damaged(editor->document,
						   "Container is of another type than its parts");
	if (!form_is_directory(head))
	{
		if (sizeof(uint32) + (uint64) form_entries(word) * sizeof(JEntry) >
			node->head_size)
			json_raise_damaged(editor->document, "Run is too short");
	}
	else if (node->head_size < sizeof(JsonDirectory) ||
			 directory->children == 0 || directory->level == 0 ||
			 node->head_size < directory_fixed_size(node->object,
													directory->children))
		json_raise_damaged(editor->document, "Directory is malformed");
	else
		node->level = directory->level;
	if (!node->container &&
		(node[-1].level <= node->level ||
		 (node[-1].level == 1) != (node->level == 0)))
		json_raise_damaged(editor->document, "Directory has a wrong level");
	return head;
}

/* Forget the position in the present container, and go to its first node. */
static const char *
first_node(JsonEditor *editor, enum jbvType type, JsonItem *at)
{
	if (editor->container.type != type)
		elog(ERROR, "member of another type of container is looked for");
	editor->count = editor->base;
	editor->positioned = editor->found = false;
	*at = editor->container;
	return push_node(editor, at);
}

/* Go to a child of the directory that is the last node. */
static const char *
next_node(JsonEditor *editor, const char *head, int child, JsonItem *at)
{
	editor->nodes[editor->count - 1].number = child;
	json_descend(at, head, child);
	return push_node(editor, at);
}

/* Is the node a container as jsonb has it, with offsets in its entries? */
static bool
is_plain(const EditNode *node, const char *head)
{
	return node->container && (*(const uint32 *) head & FORM_SPECIAL) == 0;
}

/*
 * Set *start and *length to where an entry's bytes are in the data of a plain
 * container, and *type to its type.
 */
static const char *
plain_entry(const JsonItem *at, const char *head, uint32 index,
			uint32 *type, uint32 *start, uint32 *length)
{
	const JsonbContainer *container = (const JsonbContainer *) head;
	const char *data = (const char *)
		(container->children + form_entries(container->header));

	*type = container->children[index] & JENTRY_TYPEMASK;
	*start = getJsonbOffset(container, index);
	*length = getJsonbLength(container, index);
	json_check_value(at, head, data, *type, *start, *length);
	return data;
}

/* As json_search_run(), in a plain container. */
static uint32
plain_search(const JsonEditor *editor, const JsonItem *at, const char *head,
			 bool *found)
{
	uint32		low = 0;
	uint32		high = *(const uint32 *) head & JB_CMASK;

	*found = false;
	while (low < high)
	{
		uint32		middle = (low + high) / 2;
		uint32		type;
		uint32		start;
		uint32		length;
		const char *data = plain_entry(at, head, middle, &type, &start,
									   &length);
		int			order;

		if (length == editor->key_size)
			order = memcmp(data + start, editor->key, length);
		else
			order = length < editor->key_size ? -1 : 1;
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

/* Remember the position in the run that was reached. */
static bool
set_position(JsonEditor *editor, const JsonItem *at, const char *head,
			 uint32 number, bool found, JsonItem *member)
{
	EditNode   *node = &editor->nodes[editor->count - 1];
	JsonbValue	value;

	node->number = number;
	editor->positioned = true;
	editor->found = found;
	if (!found)
		return false;
	if (is_plain(node, head))
	{
		uint32		index = node->object ?
			(*(const uint32 *) head & JB_CMASK) + number : number;
		uint32		type;
		uint32		start;
		uint32		length;
		const char *data = plain_entry(at, head, index, &type, &start,
									   &length);

		json_entry_value(data, type, start, length, &value);
		json_set_value(editor->document, &value, &editor->member);
	}
	else
		json_set_run_member(at, head, number, &editor->member);
	*member = editor->member;
	return true;
}

/*
 * Go to the member of the present object with that key, and set *member to
 * its value; false, when it has none, and the position is where it would be.
 */
bool
json_edit_find_key(JsonEditor *editor, const char *key, int length,
				   JsonItem *member)
{
	JsonItem	at;
	const char *head = first_node(editor, jbvObject, &at);
	uint32		number;
	bool		found;

	if (editor->key_capacity < length + 1)
	{
		editor->key_capacity = Max(64, length + 1);
		editor->key = MemoryContextAlloc(GetMemoryChunkContext(editor),
										 editor->key_capacity);
	}
	memcpy(editor->key, key, length);
	editor->key_size = length;
	while (form_is_directory(head))
	{
		int			child = json_child_with_key(&at, head, key, length);

		head = next_node(editor, head, Max(child, 0), &at);
	}
	if (is_plain(&editor->nodes[editor->count - 1], head))
		number = plain_search(editor, &at, head, &found);
	else
		number = json_search_run(&at, head, key, length, &found);
	return set_position(editor, &at, head, number, found, member);
}

/* The child of a directory with that member, or the end, made relative. */
static int
child_with_position(JsonEditor *editor, const char *head, uint32 *index)
{
	const JsonDirectory *directory = (const JsonDirectory *) head;
	int			last = directory->children - 1;

	for (int i = 0; i <= last; i++)
	{
		uint32		count = directory_get(directory, DIRECTORY_COUNT, i);

		if (*index < count || (*index == count && i == last))
			return i;
		*index -= count;
	}
	json_raise_damaged(editor->document, "Directory has too few members");
}

/*
 * Go to the element of the present array with that number, and set *member
 * to it; false, when that is the number of its elements, and the position is
 * behind them.
 */
bool
json_edit_find_index(JsonEditor *editor, uint32 index, JsonItem *member)
{
	JsonItem	at;
	const char *head = first_node(editor, jbvArray, &at);
	uint32		count;

	if (index > (*(const uint32 *) head & JB_CMASK))
		elog(ERROR, "array has no element %u", index);
	while (form_is_directory(head))
		head = next_node(editor, head,
						 child_with_position(editor, head, &index), &at);
	count = *(const uint32 *) head & JB_CMASK;
	if (index > count)
		json_raise_damaged(editor->document, "Run has too few members");
	return set_position(editor, &at, head, index, index < count, member);
}

/* Make the member, a stored container, the present container. */
void
json_edit_enter(JsonEditor *editor)
{
	const JsonItem *member = &editor->member;

	if (!editor->found || !member->stored ||
		(member->type != jbvArray && member->type != jbvObject))
		elog(ERROR, "member of a document cannot be entered");
	if (member->head_size < sizeof(uint32) ||
		member->head_size > member->stored_size)
		json_raise_damaged(editor->document, "Container has a wrong size");
	editor->container = *member;
	editor->base = editor->count;
	editor->positioned = editor->found = false;
}

/* Refuse what jsonb cannot hold, as it does. */
static void
check_limits(const EditNode *node, EditKind kind, const Part *part,
			 uint64 flat_size)
{
	Size		most = node->object ? MAX_PAIRS : MAX_ELEMENTS;

	if (kind == EDIT_INSERT && part->count > most)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 node->object ?
				 errmsg("number of jsonb object pairs exceeds the maximum "
						"allowed (%zu)", most) :
				 errmsg("number of jsonb array elements exceeds the maximum "
						"allowed (%zu)", most)));
	if (flat_size > JENTRY_OFFLENMASK)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 node->object ?
				 errmsg("total size of jsonb object elements exceeds the "
						"maximum of %d bytes", JENTRY_OFFLENMASK) :
				 errmsg("total size of jsonb array elements exceeds the "
						"maximum of %d bytes", JENTRY_OFFLENMASK)));
}

/* Bytes of the flat form of a container whose members are in that part. */
static uint64
part_flat_size(const EditNode *node, const Part *part)
{
	return sizeof(uint32) +
		(uint64) part->count * (node->object ? 2 : 1) * sizeof(JEntry) +
		part->keys_size + span_size(&part->span, part->keys_size);
}

/* Add the patches of the document's prefix, in front of all others. */
static void
change_prefix(JsonEditor *editor, const Part *part, uint32 flat_size,
			  PatchList *patches)
{
	JsonPrefix	prefix = {flat_size, part->head_size};
	JsonPrefix	old;

	if (document_is_plain(editor->document))
	{
		json_patch_add(patches, 0, 0, (const char *) &prefix, sizeof(prefix));
		return;
	}
	document_read(editor->document, 0, sizeof(old), (char *) &old);
	json_patch_change(patches, 0, (const char *) &old, sizeof(old),
					  (const char *) &prefix, sizeof(prefix));
}

/*
 * Add all patches of a change, from the document's front; *form says whether
 * they make a stored form of a plain document.
 */
static void
spread(JsonEditor *editor, EditKind kind, const EditValue *value,
	   PatchList *patches, bool *form)
{
	EditParts  *parts = json_edit_run(editor, kind, value);
	const EditNode *node = &editor->nodes[editor->count - 1];
	EditPart   *part;

	*form = false;
	while (!parts->settled)
	{
		uint64		flat_size;

		CHECK_FOR_INTERRUPTS();
		if (!node->container)
		{
			node--;
			parts = json_edit_directory(editor, node, parts);
			continue;
		}
		part = json_edit_container_end(editor, node, parts);
		flat_size = part_flat_size(node, &part->part);
		check_limits(node, kind, &part->part, flat_size);
		kind = EDIT_REPLACE;	/* for the container around */
		if (node == editor->nodes)
		{
			change_prefix(editor, &part->part, flat_size, patches);
			json_patch_append(patches, &part->patches);
			*form = document_is_plain(editor->document);
			return;
		}
		node--;
		parts = json_edit_stub(editor, node, part, flat_size);
	}
	for (int i = 0; i < parts->count; i++)
		json_patch_append(patches, &parts->parts[i].patches);
}

/* Make a change at the position. */
static void
change(JsonEditor *editor, EditKind kind, const JsonbValue *from)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "document edit",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(context);
	PatchList	patches = {NULL, NULL};
	EditValue	value = {0};
	bool		form;

	if (from != NULL)
		json_edit_value_init(&value, from);
	spread(editor, kind, &value, &patches, &form);
	json_patch_apply(&patches, editor->document);
	if (form)
		document_set_form(editor->document);
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(context);
	json_edit_rewind(editor);
}

/*
 * Replace the value of the member that was found.  value is a scalar, or
 * jbvBinary for a container in memory.
 */
void
json_edit_replace(JsonEditor *editor, const JsonbValue *value)
{
	if (!editor->found)
		elog(ERROR, "document has no member to be replaced");
	change(editor, EDIT_REPLACE, value);
}

/*
 * Insert a member: into an object with the key that was not found, into an
 * array before the element at the position.
 */
void
json_edit_insert(JsonEditor *editor, const JsonbValue *value)
{
	if (!editor->positioned ||
		(editor->found && editor->container.type == jbvObject))
		elog(ERROR, "document has no place for a new member");
	change(editor, EDIT_INSERT, value);
}

/* Delete the member that was found. */
void
json_edit_delete(JsonEditor *editor)
{
	if (!editor->found)
		elog(ERROR, "document has no member to be deleted");
	change(editor, EDIT_DELETE, NULL);
}

/* Make the document the only element of an array. */
void
json_edit_wrap(JsonEditor *editor)
{
	struct
	{
		JsonPrefix	prefix;
		uint32		word;
		JEntry		entry;
		JsonStub	stub;
	}			front;
	Document   *document = editor->document;
	bool		plain = document_is_plain(document);
	uint32		size = document_source(document)->size;

	json_edit_rewind(editor);
	front.stub.word = FORM_SPECIAL | JENTRY_ISCONTAINER |
		(editor->container.type == jbvObject ? STUB_OBJECT : STUB_ARRAY);
	front.stub.stored_size = FORM_ALIGN(editor->container.stored_size);
	front.stub.flat_size = editor->container.flat_size;
	front.stub.head_size = FORM_ALIGN(editor->container.head_size);
	front.word = FORM_SPECIAL | JB_FARRAY | 1;
	front.entry = JENTRY_ISCONTAINER | sizeof(JsonStub);
	front.prefix.head_size = sizeof(front) - sizeof(JsonPrefix);
	front.prefix.flat_size = sizeof(front.word) + sizeof(front.entry) +
		front.stub.flat_size;
	if (FORM_ALIGN(size) > size)
		document_splice(document, size, 0, "\0\0\0", FORM_ALIGN(size) - size);
	document_splice(document, 0, plain ? 0 : sizeof(JsonPrefix),
					(const char *) &front, sizeof(front));
	if (plain)
		document_set_form(document);
	json_edit_rewind(editor);
}
