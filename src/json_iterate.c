/*-------------------------------------------------------------------------
 *
 * json_iterate.c
 *	  Walking over the members of a container of a document.
 *
 * The head of the run at hand is copied, so that a walk needs no more memory
 * than that and does not mind what else is read of the document meanwhile.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "json_head.h"

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
	while (form_is_directory(head = json_view_head(&at)))
		json_descend(&at, head, json_child_with_member(&at, head, &skip));
	if (iterator->run != NULL)
		pfree(iterator->run);
	iterator->run = palloc(at.head_size);
	memcpy(iterator->run, head, at.head_size);
	if (skip >= (*(const uint32 *) head & JB_CMASK))
		json_raise_damaged(at.document, "Run has too few members");
	run_begin(iterator, iterator->run, skip);
	iterator->long_offset = at.offset + at.head_size;
	if ((*(const uint32 *) iterator->run & FORM_SPECIAL) != 0)
		iterator->long_offset +=
			json_stored_before(iterator->run, iterator->values.index - skip,
							   iterator->values.index);
}

/* Set *item to what an entry of the run stands for. */
static void
set_entry_value(JsonIterator *iterator, uint32 type, uint32 start,
				uint32 length, JsonItem *item)
{
	Document   *document = iterator->container.document;
	JsonbValue	value;
	const JsonStub *stub;

	json_entry_value(iterator->data, type, start, length, &value);
	stub = iterator->run != NULL ? json_value_stub(&value) : NULL;
	if (stub == NULL)
	{
		json_set_value(document, &value, item);
		return;
	}
	json_set_stub(document, stub, iterator->long_offset, item);
	iterator->long_offset += stub->stored_size;
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
