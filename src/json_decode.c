/*-------------------------------------------------------------------------
 *
 * json_decode.c
 *	  From the stored form of a document back to its flat form.
 *
 * Reads the stored form from front to back, a head at a time, and writes
 * each member to its final place; members that follow one another unchanged
 * are copied together.  Needs no memory but for heads with long members.
 *
 * All sizes are checked against each other and against the space given, so
 * that no damage can do more than end in a problem.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "json_form.h"

/* A flat container that is being filled. */
typedef struct Target
{
	EntryTarget to;				/* its values */
	uint32		count;			/* of members */
	bool		object;
	uint32		next;			/* member to come */
	uint32		keys_size;		/* all keys' bytes */
	uint32		key_end;		/* end of the keys that are there */
} Target;

/* The head of a run, in memory. */
typedef struct Head
{
	const char *bytes;
	uint32		size;
	uint32		count;
	bool		object;
	bool		stubs;			/* has long members */
	EntrySource from;
} Head;

static bool decode_container(FormSource *source, uint32 offset,
							 uint32 stored_size, uint32 head_size,
							 char *flat, uint32 flat_size);

static bool
problem(FormSource *source, const char *text)
{
	if (source->problem == NULL)
		source->problem = text;
	return false;
}

static const char too_large[] = "Members take more space than they may";

/* Start to fill the flat container of size bytes. */
static bool
target_begin(FormSource *source, Target *target, uint32 word,
			 uint32 keys_size, char *flat, uint32 size)
{
	uint64		header = sizeof(uint32) +
		(uint64) form_entries(word) * sizeof(JEntry);

	if (header + keys_size > size)
		return problem(source, too_large);
	target->to.offsets = true;
	target->to.entries = (JEntry *) (flat + sizeof(uint32));
	target->to.data = flat + header;
	target->to.size = size - header;
	target->to.end = keys_size;
	target->count = word & JB_CMASK;
	target->object = (word & JB_FOBJECT) != 0;
	target->next = 0;
	target->keys_size = keys_size;
	target->key_end = 0;
	*(uint32 *) flat = word & (JB_CMASK | JB_FOBJECT | JB_FARRAY);
	return true;
}

/* Is the container complete? */
static bool
target_end(FormSource *source, const Target *target)
{
	if (target->next != target->count ||
		target->key_end != target->keys_size ||
		target->to.end != target->to.size)
		return problem(source, "Members do not add up to their container");
	return true;
}

/* Set up a head of size bytes, of which bytes has all. */
static bool
head_begin(FormSource *source, Head *head, const char *bytes, uint32 size)
{
	uint32		word = *(const uint32 *) bytes;
	uint64		header = sizeof(uint32) +
		(uint64) form_entries(word) * sizeof(JEntry);

	if (header > size)
		return problem(source, "Entries reach past the end of the head");
	head->bytes = bytes;
	head->size = size;
	head->count = word & JB_CMASK;
	head->object = (word & JB_FOBJECT) != 0;
	head->stubs = (word & FORM_SPECIAL) != 0;
	head->from.entries = (const JEntry *) (bytes + sizeof(uint32));
	head->from.data = bytes + header;
	head->from.size = size - header;
	return true;
}

/* Append the keys of a head; *end is where they end in its data. */
static bool
decode_keys(FormSource *source, Target *target, const Head *head, uint64 *end)
{
	uint64		target_end = target->key_end;
	JEntry		types = 0;

	for (uint32 i = 0; i < head->count; i++)
		types |= head->from.entries[i];
	if ((types & JENTRY_TYPEMASK) != JENTRY_ISSTRING)
		return problem(source, "Key is not a string");
	entries_copy(&target->to, target->next, &target_end, head->from.entries,
				 0, end, head->count);
	if (*end > head->from.size || target_end > target->keys_size)
		return problem(source, "Key reaches past the end of the keys");
	memcpy(target->to.data + target->key_end, head->from.data, *end);
	target->key_end = target_end;
	return true;
}

/* Append the long member that a stub stands for, which is at *offset. */
static bool
decode_stub(FormSource *source, EntryTarget *to, uint32 index,
			const JsonStub *stub, uint32 *offset, uint32 limit)
{
	uint32		type = stub->word & JENTRY_TYPEMASK;
	uint32		start = to->end;
	uint32		at = *offset;
	uint64		aligned = entry_is_aligned(type) ? FORM_ALIGN(start) : start;

	if (stub->stored_size > limit - at)
		return problem(source, "Long member reaches past the end of its run");
	if (aligned + stub->flat_size > to->size)
		return problem(source, too_large);
	memset(to->data + start, 0, aligned - start);
	to->end = aligned + stub->flat_size;
	to->entries[index] = entry_make(true, index, type, to->end - start,
									to->end);
	*offset += stub->stored_size;
	if (type == JENTRY_ISCONTAINER)
		return decode_container(source, at, stub->stored_size,
								stub->head_size, to->data + aligned,
								stub->flat_size);
	if (stub->flat_size > stub->stored_size)
		return problem(source, "Long member is longer than it says");
	return source->read(source, at, stub->flat_size, to->data + aligned);
}

/* The stub that stands for the entry; NULL if it is a value itself. */
static const JsonStub *
entry_stub(const Head *head, uint32 type, uint32 start, uint32 length)
{
	uint32		pad = FORM_ALIGN(start) - start;
	const char *value = head->from.data + start + pad;

	if (type != JENTRY_ISCONTAINER || length != pad + sizeof(JsonStub) ||
		(*(const uint32 *) value & FORM_SPECIAL) == 0)
		return NULL;
	return (const JsonStub *) value;
}

/*
 * Append the values of a head, which start at start in its data; long ones
 * are from offset on, up to limit.
 */
static bool
decode_values(FormSource *source, Target *target, const Head *head,
			  uint64 start, uint32 offset, uint32 limit)
{
	uint32		first = head->object ? head->count : 0;
	uint32		to = target->next + (target->object ? target->count : 0);
	uint32		done = 0;
	EntryCursor cursor = {head->from.entries, first, start};

	for (uint32 i = 0; head->stubs && i < head->count; i++)
	{
		uint32		at;
		uint32		length;
		uint32		type = entry_next(&cursor, &at, &length);
		const JsonStub *stub;

		if (cursor.end < at || cursor.end > head->from.size)
			return problem(source, "Value reaches past the end of the head");
		stub = entry_stub(head, type, at, length);
		if (stub == NULL)
			continue;
		if (!values_copy(&target->to, to + done, &head->from, first + done,
						 &start, i - done))
			return problem(source, too_large);
		if (!decode_stub(source, &target->to, to + i, stub, &offset, limit))
			return false;
		done = i + 1;
		start = cursor.end;
	}
	if (!values_copy(&target->to, to + done, &head->from, first + done,
					 &start, head->count - done))
		return problem(source, too_large);
	return true;
}

/* Append a run, or a plain container, of which bytes has the head. */
static bool
decode_run(FormSource *source, Target *target, const char *bytes,
		   uint32 offset, uint32 stored_size, uint32 head_size)
{
	Head		head;
	uint64		keys_end = 0;

	if (!head_begin(source, &head, bytes, head_size))
		return false;
	if (head.object != target->object ||
		head.count > target->count - target->next)
		return problem(source, "Run does not fit its container");
	if (head.object && !decode_keys(source, target, &head, &keys_end))
		return false;
	if (!decode_values(source, target, &head, keys_end, offset + head_size,
					   offset + stored_size))
		return false;
	target->next += head.count;
	return true;
}

/* A head's bytes: as seen, or copied if others will be viewed meanwhile. */
static const char *
view_head(FormSource *source, uint32 offset, uint32 stored_size,
		  uint32 head_size, bool *copied)
{
	const char *bytes;
	char	   *copy;

	*copied = false;
	if (head_size < sizeof(uint32) || head_size > stored_size ||
		head_size % sizeof(uint32) != 0 ||
		offset > source->size || stored_size > source->size - offset)
	{
		problem(source, "Container reaches past the end of the document");
		return NULL;
	}
	bytes = source->view(source, offset, head_size);
	if (bytes == NULL || source->stable ||
		(*(const uint32 *) bytes & FORM_SPECIAL) == 0)
		return bytes;
	copy = palloc(head_size);
	memcpy(copy, bytes, head_size);
	*copied = true;
	return copy;
}

static bool decode_part(FormSource *source, Target *target, uint32 offset,
						uint32 stored_size, uint32 head_size, int level);

/* Append the children of a directory. */
static bool
decode_children(FormSource *source, Target *target, const char *bytes,
				uint32 offset, uint32 stored_size, uint32 head_size,
				int level)
{
	const JsonDirectory *head = (const JsonDirectory *) bytes;
	uint32		at = offset + head_size;

	if (head_size < sizeof(JsonDirectory) ||
		head_size < directory_fixed_size((head->word & JB_FOBJECT) != 0,
										 head->children))
		return problem(source, "Directory is too short");
	if (head->level == 0 || head->level >= level)
		return problem(source, "Directory has a wrong level");
	for (int i = 0; i < head->children; i++)
	{
		uint32		size = directory_get(head, DIRECTORY_STORED_SIZE, i);

		if (size > offset + stored_size - at)
			return problem(source, "Child reaches past the end");
		if (!decode_part(source, target, at, size,
						 directory_get(head, DIRECTORY_HEAD_SIZE, i),
						 head->level))
			return false;
		at += size;
	}
	return true;
}

/* Append a child of a directory of the given level. */
static bool
decode_part(FormSource *source, Target *target, uint32 offset,
			uint32 stored_size, uint32 head_size, int level)
{
	bool		copied;
	const char *bytes = view_head(source, offset, stored_size, head_size,
								  &copied);
	bool		directory;
	bool		ok;

	check_stack_depth();
	CHECK_FOR_INTERRUPTS();
	if (bytes == NULL)
		return false;
	directory = form_is_directory(bytes);
	if (directory != (level > 1))
		ok = problem(source, "Child is of another kind than its level");
	else if (directory)
		ok = decode_children(source, target, bytes, offset, stored_size,
							 head_size, level);
	else
		ok = decode_run(source, target, bytes, offset, stored_size,
						head_size);
	if (copied)
		pfree(unconstify(char *, bytes));
	return ok;
}

/* The bytes of all keys of a run's head. */
static bool
head_keys_size(FormSource *source, const char *bytes, uint32 head_size,
			   uint32 *size)
{
	Head		head;
	EntryCursor cursor;
	uint32		start;
	uint32		length;

	*size = 0;
	if (!head_begin(source, &head, bytes, head_size))
		return false;
	cursor.entries = head.from.entries;
	cursor.index = cursor.end = 0;
	for (uint32 i = 0; head.object && i < head.count; i++)
		entry_next(&cursor, &start, &length);
	*size = cursor.end;
	return true;
}

/* Restore a container that is a run or has a directory. */
static bool
decode_special(FormSource *source, const char *bytes, uint32 offset,
			   uint32 stored_size, uint32 head_size, char *flat,
			   uint32 flat_size)
{
	uint32		word = *(const uint32 *) bytes;
	Target		target;
	uint32		keys_size;

	if ((word & FORM_DIRECTORY) == 0)
		return head_keys_size(source, bytes, head_size, &keys_size) &&
			target_begin(source, &target, word, keys_size, flat, flat_size) &&
			decode_run(source, &target, bytes, offset, stored_size,
					   head_size) &&
			target_end(source, &target);
	if (head_size < sizeof(JsonDirectory))
		return problem(source, "Directory is too short");
	return target_begin(source, &target, word,
						((const JsonDirectory *) bytes)->keys_size, flat,
						flat_size) &&
		decode_children(source, &target, bytes, offset, stored_size,
						head_size, PG_UINT16_MAX) &&
		target_end(source, &target);
}

/* Restore the flat container that is stored at offset. */
static bool
decode_container(FormSource *source, uint32 offset, uint32 stored_size,
				 uint32 head_size, char *flat, uint32 flat_size)
{
	const char *bytes;
	bool		copied;
	bool		ok;

	check_stack_depth();
	bytes = view_head(source, offset, stored_size, head_size, &copied);
	if (bytes == NULL)
		return false;
	if ((*(const uint32 *) bytes & FORM_SPECIAL) == 0)
	{
		if (flat_size > head_size || flat_size < sizeof(uint32))
			return problem(source, "Container has another size");
		memcpy(flat, bytes, flat_size);
		return true;
	}
	ok = flat_size >= sizeof(uint32) &&
		decode_special(source, bytes, offset, stored_size, head_size, flat,
					   flat_size);
	if (copied)
		pfree(unconstify(char *, bytes));
	return ok;
}

/*
 * Restore the container of flat_size bytes that is stored at offset; flat is
 * 4-byte aligned.  Returns false, with the problem set, when it is damaged.
 */
bool
form_decode_at(FormSource *source, uint32 offset, uint32 stored_size,
			   uint32 head_size, char *flat, uint32 flat_size)
{
	if (!decode_container(source, offset, stored_size, head_size, flat,
						  flat_size))
		return problem(source, "Container is malformed");
	return true;
}

/* Restore the whole document of flat_size bytes. */
bool
form_decode(FormSource *source, char *flat, uint32 flat_size)
{
	const JsonPrefix *prefix;

	if (source->size < sizeof(JsonPrefix))
		return problem(source, "Document is too short");
	prefix = (const JsonPrefix *) source->view(source, 0, sizeof(JsonPrefix));
	if (prefix == NULL)
		return false;
	if (prefix->flat_size != flat_size)
		return problem(source, "Document has another size");
	return form_decode_at(source, sizeof(JsonPrefix),
						  source->size - sizeof(JsonPrefix),
						  prefix->head_size, flat, flat_size);
}
