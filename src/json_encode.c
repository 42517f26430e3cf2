/*-------------------------------------------------------------------------
 *
 * json_encode.c
 *	  Writing the stored form of a document, front to back.
 *
 * Pure: no I/O but by the sink, which is given the bytes in order and may
 * take those at the front of its window away whenever it is told that there
 * are more.  All sizes are known from the layout.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "json_layout.h"
#include "json_members.h"

/* Long members are passed on in pieces of that size. */
#define SLICE				(64 * 1024)

typedef struct Writer
{
	const FormLayout *layout;
	uint32		next;			/* container layout to come */
	FormSink   *sink;
	StringInfo	out;			/* the sink's window */
} Writer;

static void write_container(Writer *writer, const char *flat, uint32 size);

static void
append_zeros(StringInfo out, uint32 count)
{
	enlargeStringInfo(out, count);
	memset(out->data + out->len, 0, count);
	out->len += count;
}

/* Pad what started at start, which is aligned in the stored form. */
static void
append_pad(StringInfo out, uint32 start)
{
	append_zeros(out, FORM_ALIGN(out->len - start) - (out->len - start));
}

/* Append bytes that may be many, and their padding. */
static void
write_bytes(Writer *writer, const char *bytes, uint32 size)
{
	uint32		pad = FORM_ALIGN(size) - size;

	while (size > 0)
	{
		uint32		part = Min(size, SLICE);

		appendBinaryStringInfo(writer->out, bytes, part);
		bytes += part;
		size -= part;
		writer->sink->more(writer->sink);
	}
	append_zeros(writer->out, pad);
}

/*
 * Append a run of consecutive members, none of them long: almost a copy.
 * cursor stands at the first.
 */
static void
write_copied_run(Writer *writer, const MemberCursor *cursor, const Part *run)
{
	StringInfo	out = writer->out;
	bool		object = cursor->object;
	EntrySource from = {cursor->keys.entries, cursor->data, cursor->size};
	EntryTarget to;
	uint32		word = run->count | (object ? JB_FOBJECT : JB_FARRAY);
	char	   *start;
	uint64		from_end = cursor->keys.end;
	uint64		keys_end = 0;

	enlargeStringInfo(out, run->head_size);
	start = out->data + out->len;
	memcpy(start, &word, sizeof(word));
	to.offsets = false;
	to.entries = (JEntry *) (start + sizeof(word));
	to.data = (char *) (to.entries + form_entries(word));
	to.size = start + run->head_size - to.data;
	if (object)
	{
		entries_copy(&to, 0, &keys_end, from.entries, cursor->keys.index,
					 &from_end, run->count);
		memcpy(to.data, cursor->data + cursor->keys.end, keys_end);
	}
	to.end = keys_end;
	from_end = cursor->values.end;
	if (!values_copy(&to, object ? run->count : 0, &from,
					 cursor->values.index, &from_end, run->count) ||
		FORM_ALIGN(to.end) != to.size)
		elog(ERROR, "run of a document has another size than measured");
	memset(to.data + to.end, 0, to.size - to.end);
	out->len += run->head_size;
}

/* Append the stub of a long member; *container is the layout of the next. */
static void
write_stub(Writer *writer, const Member *member, uint32 *container)
{
	JsonStub	stub = {FORM_SPECIAL | member->type, 0, member->size, 0};

	if (member->type == JENTRY_ISCONTAINER)
	{
		const ContainerLayout *layout =
			&writer->layout->containers[*container];
		uint32		word = *(const uint32 *) member->value;

		stub.word |= (word & JB_FOBJECT) != 0 ? STUB_OBJECT : STUB_ARRAY;
		stub.stored_size = layout->stored_size;
		stub.head_size = layout->head_size;
		*container = layout->next;
	}
	else
		stub.stored_size = FORM_ALIGN(member->size);
	appendBinaryStringInfo(writer->out, (const char *) &stub, sizeof(stub));
}

/* Append the head of a run with long members. */
static void
write_head(Writer *writer, const Member *members, uint32 count,
		   uint32 long_member)
{
	StringInfo	out = writer->out;
	bool		object = members[0].key != NULL;
	uint32		start = out->len;
	uint32		entries = object ? 2 * count : count;
	uint32		data = sizeof(uint32) + entries * sizeof(JEntry);
	uint32		word = FORM_SPECIAL | count |
		(object ? JB_FOBJECT : JB_FARRAY);
	uint32		container = writer->next;

	append_zeros(out, data);
	memcpy(out->data + start, &word, sizeof(word));
	data += start;
	for (uint32 i = 0; object && i < count; i++)
	{
		appendBinaryStringInfo(out, members[i].key, members[i].key_size);
		((JEntry *) (out->data + start))[1 + i] =
			entry_make(false, i, JENTRY_ISSTRING, members[i].key_size, 0);
	}
	for (uint32 i = 0; i < count; i++)
	{
		const Member *member = &members[i];
		bool		is_long = member->size > long_member;
		uint32		type = is_long ? JENTRY_ISCONTAINER : member->type;
		uint32		index = object ? count + i : i;
		uint32		at = out->len;

		if (entry_is_aligned(type))
			append_pad(out, data);
		if (is_long)
			write_stub(writer, member, &container);
		else
			appendBinaryStringInfo(out, member->value, member->size);
		((JEntry *) (out->data + start))[1 + index] =
			entry_make(false, index, type, out->len - at, 0);
	}
	append_pad(out, start);
}

/* Append a run with long members; the cursor stands at its first member. */
static void
write_built_run(Writer *writer, MemberCursor cursor, uint32 count,
				uint32 long_member)
{
	Member	   *members = palloc(count * sizeof(Member));

	for (uint32 i = 0; i < count; i++)
	{
		if (!members_next(&cursor, &members[i]))
			elog(ERROR, "document has changed while it was encoded");
	}
	write_head(writer, members, count, long_member);
	for (uint32 i = 0; i < count; i++)
	{
		const Member *member = &members[i];

		if (member->size <= long_member)
			continue;
		if (member->type == JENTRY_ISCONTAINER)
			write_container(writer, member->value, member->size);
		else
			write_bytes(writer, member->value, member->size);
	}
	pfree(members);
}

/* Append a part of a large container; the cursor moves over its members. */
static void
write_part(Writer *writer, const ContainerLayout *container, int level,
		   uint32 number, MemberCursor *cursor)
{
	const Part *part = &container->tree->levels[level].parts[number];
	StringInfo	out = writer->out;

	check_stack_depth();
	if (level == 0)
	{
		CHECK_FOR_INTERRUPTS();
		if (part->has_long)
			write_built_run(writer, *cursor, part->count,
							container->long_member);
		else
			write_copied_run(writer, cursor, part);
		cursor->keys.index += part->count;
		cursor->keys.end += part->keys_size;
		cursor->values.index += part->count;
		cursor->values.end += span_size(&part->span, cursor->values.end);
		writer->sink->more(writer->sink);
		return;
	}
	enlargeStringInfo(out, part->head_size);
	part_tree_write(container->tree, level, part, out->data + out->len);
	out->len += part->head_size;
	for (uint32 i = 0; i < part->parts; i++)
		write_part(writer, container, level - 1, part->first_part + i,
				   cursor);
}

/* Append a container of size bytes. */
static void
write_container(Writer *writer, const char *flat, uint32 size)
{
	const ContainerLayout *container =
		&writer->layout->containers[writer->next++];
	MemberCursor cursor;

	check_stack_depth();
	if (container->plain)
	{
		write_bytes(writer, flat, size);
		return;
	}
	if (!members_begin(&cursor, flat, size))
		elog(ERROR, "document has changed while it was encoded");
	if (container->tree == NULL)
		write_built_run(writer, cursor, cursor.count,
						container->long_member);
	else
		write_part(writer, container, container->tree->top, 0, &cursor);
}

/* Write the stored form of a document to the sink's window. */
void
form_write(const FormLayout *layout, FormSink *sink)
{
	JsonPrefix	prefix = {layout->flat_size,
	layout->containers[0].head_size};

	appendBinaryStringInfo(&sink->window, (const char *) &prefix,
						   sizeof(prefix));
	form_write_member(layout, sink);
}

/* Write that of a container which is a long member. */
void
form_write_member(const FormLayout *layout, FormSink *sink)
{
	Writer		writer = {layout, 0, sink, &sink->window};

	write_container(&writer, layout->flat, layout->flat_size);
}
