/*-------------------------------------------------------------------------
 *
 * json_encode.c
 *	  From the flat form of a document to its stored form.
 *
 * Pure: no I/O.  The result depends on nothing but the document and the
 * limits.  A document whose bytes are not just what jsonb would make of its
 * contents is refused, since it could not be restored; nothing of
 * PostgreSQL's makes such documents, and they are stored as bytes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "json_directory.h"

/* Bits of a member's hash that are all zero where a run ends. */
#define RUN_MASK			127U

/* A multiplicative hash: 2^64 divided by the golden ratio (Knuth). */
#define HASH_MULTIPLIER		UINT64CONST(0x9E3779B97F4A7C15)

/* A member of a flat container. */
typedef struct Member
{
	const char *key;
	uint32		key_size;
	uint32		type;			/* JENTRY_ISxxx */
	const char *value;
	uint32		size;			/* of value, without alignment */
} Member;

/* A walk over the members of a flat container. */
typedef struct MemberCursor
{
	const char *data;
	uint32		size;			/* of the data */
	uint32		count;
	bool		object;
	EntryCursor keys;
	EntryCursor values;
} MemberCursor;

typedef struct Encoder
{
	const FormLimits *limits;
	uint32		long_member;	/* of the container at hand */
	StringInfo	out;
} Encoder;

static bool encode_container(Encoder *encoder, const char *flat, uint32 size,
							 uint32 *head_size);

/*
 * The limits that follow from the size of nodes.
 *
 * Measured on the 75 MB of botocore's service models, lz4: against the flat
 * form in the same frames, runs of 16 kB at most take 1.8 % more space, and
 * runs of 32 kB 1.1 %; without any directories it would be 0.7 % less.
 */
void
form_limits(FormLimits *limits, int node_size)
{
	limits->long_member = 2 * node_size;
	limits->one_run = 16 * node_size;
	limits->run_min = 4 * node_size;
	limits->run_max = 16 * node_size;
	limits->children_max = Max(4, node_size / 32);
	/* two at least, so that each level has fewer parts than the one below */
	limits->children_min = Max(2, limits->children_max / 4);
}

/*
 * Start with the members of the flat container of size bytes; false when it
 * cannot be one.
 */
static bool
members_begin(MemberCursor *cursor, const char *flat, uint32 size)
{
	uint32		word;
	uint64		header;

	if (size < sizeof(word))
		return false;
	memcpy(&word, flat, sizeof(word));
	if ((word & ~JB_CMASK) != JB_FOBJECT && (word & ~JB_CMASK) != JB_FARRAY)
		return false;
	header = sizeof(word) + (uint64) form_entries(word) * sizeof(JEntry);
	if (header > size)
		return false;
	cursor->data = flat + header;
	cursor->size = size - header;
	cursor->count = word & JB_CMASK;
	cursor->object = (word & JB_FOBJECT) != 0;
	cursor->keys.entries = cursor->values.entries =
		(const JEntry *) (flat + sizeof(word));
	cursor->keys.index = 0;
	cursor->keys.end = 0;
	cursor->values.index = 0;
	cursor->values.end = 0;
	if (cursor->object && cursor->count > 0)
	{
		cursor->values.index = cursor->count;
		cursor->values.end =
			getJsonbOffset((const JsonbContainer *) flat, cursor->count);
	}
	return true;
}

/* Is the next entry an offset just where jsonb puts one, and in range? */
static inline bool
entry_is_regular(const MemberCursor *cursor, const EntryCursor *entries)
{
	JEntry		entry = entries->entries[entries->index];
	bool		stride = entries->index % JB_OFFSET_STRIDE == 0;

	if ((JBE_HAS_OFF(entry) != 0) != stride || entries->end > cursor->size)
		return false;
	if (stride)
		return JBE_OFFLENFLD(entry) >= entries->end &&
			JBE_OFFLENFLD(entry) <= cursor->size;
	return JBE_OFFLENFLD(entry) <= cursor->size - entries->end;
}

/* The next member; false when it is not as jsonb would have made it. */
static inline bool
members_next(MemberCursor *cursor, Member *member)
{
	uint32		start;
	uint32		length;
	uint32		pad;

	member->key = NULL;
	member->key_size = 0;
	if (cursor->object)
	{
		if (!entry_is_regular(cursor, &cursor->keys) ||
			entry_next(&cursor->keys, &start, &length) != JENTRY_ISSTRING)
			return false;
		member->key = cursor->data + start;
		member->key_size = length;
	}
	if (!entry_is_regular(cursor, &cursor->values))
		return false;
	member->type = entry_next(&cursor->values, &start, &length);
	pad = entry_is_aligned(member->type) ? FORM_ALIGN(start) - start : 0;
	if (length < pad)
		return false;
	for (uint32 i = 0; i < pad; i++)
	{
		if (cursor->data[start + i] != 0)
			return false;
	}
	member->value = cursor->data + start + pad;
	member->size = length - pad;
	switch (member->type)
	{
		case JENTRY_ISSTRING:
		case JENTRY_ISNUMERIC:
			return true;
		case JENTRY_ISCONTAINER:
			return member->size >= sizeof(uint32) &&
				(*(const uint32 *) member->value & FORM_SPECIAL) == 0;
		case JENTRY_ISBOOL_TRUE:
		case JENTRY_ISBOOL_FALSE:
		case JENTRY_ISNULL:
			return member->size == 0;
		default:
			return false;
	}
}

/* Does the member leave the head? */
static bool
member_is_long(const Encoder *encoder, const Member *member)
{
	return member->size > encoder->long_member;
}

/* Bytes of a member in the head, but for alignment. */
static uint32
member_head_size(const Encoder *encoder, const Member *member)
{
	return member->key_size +
		(member->key != NULL ? 2 : 1) * sizeof(JEntry) +
		(member_is_long(encoder, member) ? sizeof(JsonStub) : member->size);
}

static void
append_zeros(StringInfo out, uint32 count)
{
	enlargeStringInfo(out, count);
	memset(out->data + out->len, 0, count);
	out->len += count;
}

static void
append_pad(StringInfo out)
{
	append_zeros(out, FORM_ALIGN(out->len) - out->len);
}

/* Append the contents of a long member; fill in its stub. */
static bool
encode_long(Encoder *encoder, const Member *member, uint32 stub_at)
{
	StringInfo	out = encoder->out;
	uint32		start = out->len;
	JsonStub	stub = {FORM_SPECIAL | member->type, 0, member->size, 0};

	if (member->type != JENTRY_ISCONTAINER)
	{
		appendBinaryStringInfo(out, member->value, member->size);
		append_pad(out);
	}
	else
	{
		uint32		word = *(const uint32 *) member->value;

		uint32		long_member = encoder->long_member;

		stub.word |= (word & JB_FOBJECT) != 0 ? STUB_OBJECT : STUB_ARRAY;
		encoder->long_member = encoder->limits->long_member;
		if (!encode_container(encoder, member->value, member->size,
							  &stub.head_size))
			return false;
		encoder->long_member = long_member;
	}
	stub.stored_size = out->len - start;
	memcpy(out->data + stub_at, &stub, sizeof(stub));
	return true;
}

/*
 * Append the head of a run; *stubs gets where its stubs stand, for as many
 * members as are long.
 */
static void
append_head(Encoder *encoder, const Member *members, uint32 count,
			uint32 *stubs, Part *part)
{
	StringInfo	out = encoder->out;
	bool		object = members[0].key != NULL;
	uint32		entries = object ? 2 * count : count;
	uint32		word_at = out->len;
	uint32		entry_at = word_at + sizeof(uint32);
	uint32		data;
	uint32		word = count | (object ? JB_FOBJECT : JB_FARRAY);
	uint32		end = 0;

	append_zeros(out, sizeof(uint32) + entries * sizeof(JEntry));
	data = out->len;
	for (uint32 i = 0; object && i < count; i++)
	{
		end += members[i].key_size;
		appendBinaryStringInfo(out, members[i].key, members[i].key_size);
		((JEntry *) (out->data + entry_at))[i] =
			entry_make(false, i, JENTRY_ISSTRING, members[i].key_size, end);
	}
	part->keys_size = end;
	for (uint32 i = 0; i < count; i++)
	{
		const Member *member = &members[i];
		bool		is_long = member_is_long(encoder, member);
		uint32		index = object ? count + i : i;
		uint32		type = is_long ? JENTRY_ISCONTAINER : member->type;
		uint32		start = out->len - data;

		if (entry_is_aligned(type))
			append_pad(out);
		if (is_long)
		{
			*stubs++ = out->len;
			append_zeros(out, sizeof(JsonStub));
			word |= FORM_SPECIAL;
		}
		else
			appendBinaryStringInfo(out, member->value, member->size);
		end = out->len - data;
		((JEntry *) (out->data + entry_at))[index] =
			entry_make(false, index, type, end - start, end);
	}
	memcpy(out->data + word_at, &word, sizeof(word));
	append_pad(out);
}

/* Append a run of members; part is what a directory would say of it. */
static bool
encode_run(Encoder *encoder, const Member *members, uint32 count, Part *part)
{
	uint32		start = encoder->out->len;
	uint32	   *stubs = palloc(count * sizeof(uint32));
	uint32		stub = 0;

	memset(part, 0, sizeof(Part));
	part->count = count;
	append_head(encoder, members, count, stubs, part);
	part->head_size = encoder->out->len - start;
	for (uint32 i = 0; i < count; i++)
	{
		if (member_is_long(encoder, &members[i]) &&
			!encode_long(encoder, &members[i], stubs[stub++]))
			return false;
	}
	part->stored_size = encoder->out->len - start;
	pfree(stubs);
	return true;
}

/* What decides where parts end: the key, or the element's bytes. */
static uint32
member_hash(const Member *member)
{
	const char *bytes = member->key != NULL ? member->key : member->value;
	uint32		size = member->key != NULL ? member->key_size : member->size;
	uint64		head = 0;
	uint64		tail = 0;

	memcpy(&head, bytes, Min(size, sizeof(head)));
	if (size > sizeof(tail))
		memcpy(&tail, bytes + size - sizeof(tail), sizeof(tail));
	head = (head ^ (tail << 1) ^ size) * HASH_MULTIPLIER;
	return (head ^ (head >> 29)) * HASH_MULTIPLIER >> 32;
}

/*
 * Append a run of consecutive members, none of them long: almost a copy.
 * cursor stands at the first.
 */
static void
copy_run(Encoder *encoder, const MemberCursor *cursor, uint32 count,
		 uint32 size, Part *part)
{
	StringInfo	out = encoder->out;
	bool		object = cursor->object;
	EntrySource from = {cursor->keys.entries, cursor->data, cursor->size};
	EntryTarget to;
	uint32		word = count | (object ? JB_FOBJECT : JB_FARRAY);
	uint32		start = out->len;
	uint64		from_end = cursor->keys.end;
	uint64		keys_end = 0;

	enlargeStringInfo(out, size + sizeof(word) + sizeof(uint32));
	memcpy(out->data + start, &word, sizeof(word));
	to.offsets = false;
	to.entries = (JEntry *) (out->data + start + sizeof(word));
	to.data = (char *) (to.entries + form_entries(word));
	to.size = size;
	if (object)
	{
		entries_copy(&to, 0, &keys_end, from.entries,
					 cursor->keys.index, &from_end, count);
		memcpy(to.data, cursor->data + cursor->keys.end, keys_end);
	}
	to.end = keys_end;
	from_end = cursor->values.end;
	if (!values_copy(&to, object ? count : 0, &from, cursor->values.index,
					 &from_end, count))
		elog(ERROR, "run of a document is larger than measured");
	out->len = to.data + to.end - out->data;
	append_pad(out);
	memset(part, 0, sizeof(Part));
	part->count = count;
	part->keys_size = keys_end;
	part->head_size = part->stored_size = out->len - start;
}

/* Append a run of consecutive members that are read one by one. */
static bool
rebuild_run(Encoder *encoder, MemberCursor cursor, uint32 count, Part *part)
{
	Member	   *members = palloc(count * sizeof(Member));
	bool		ok = true;

	for (uint32 i = 0; i < count && ok; i++)
		ok = members_next(&cursor, &members[i]);
	ok = ok && encode_run(encoder, members, count, part);
	pfree(members);
	return ok;
}

/* Append the members of a large container, cut into runs. */
static bool
encode_runs(Encoder *encoder, MemberCursor *cursor, PartList *runs)
{
	const FormLimits *limits = encoder->limits;
	MemberCursor start = *cursor;
	uint32		count = 0;
	uint32		long_count = 0;
	uint32		size = 0;
	JsonSpan	span = {0, 0};
	Member		first;
	Member		member;

	for (uint32 i = 0; i < cursor->count; i++)
	{
		uint32		hash = 0;

		if (!members_next(cursor, &member))
			return false;
		if (count++ == 0)
			first = member;
		size += member_head_size(encoder, &member);
		long_count += member_is_long(encoder, &member);
		span_add(&span, entry_is_aligned(member.type), member.size);
		if (size >= limits->run_min)
			hash = member_hash(&member);
		if ((size >= limits->run_min && (hash & RUN_MASK) == 0) ||
			size >= limits->run_max || i == cursor->count - 1)
		{
			Part	   *run = part_list_add(runs);

			CHECK_FOR_INTERRUPTS();
			if (long_count == 0)
				copy_run(encoder, &start, count, size + 3 * count, run);
			else if (!rebuild_run(encoder, start, count, run))
				return false;
			run->span = span;
			run->key = first.key;
			run->key_size = first.key_size;
			run->hash = hash;
			start = *cursor;
			memset(&span, 0, sizeof(span));
			count = long_count = size = 0;
		}
	}
	return cursor->values.end == cursor->size;
}

/* Append a container with many members. */
static bool
encode_directory(Encoder *encoder, const char *flat, uint32 size,
				 uint32 *head_size)
{
	StringInfo	out = encoder->out;
	uint32		start = out->len;
	PartList	runs = {0};
	MemberCursor cursor;

	if (!members_begin(&cursor, flat, size) ||
		!encode_runs(encoder, &cursor, &runs))
		return false;
	*head_size = directories_place(out, start, &runs, encoder->limits);
	pfree(runs.parts);
	return true;
}

/*
 * Look at the members of a container: how many are long, and the size of a
 * head of all of them, until that is too large for one run.  False when it is
 * not as jsonb would have made it.
 */
static bool
measure(Encoder *encoder, const char *flat, uint32 size, uint32 *long_count,
		uint64 *head_size)
{
	MemberCursor cursor;
	Member		member;

	*long_count = 0;
	*head_size = sizeof(uint32);
	if (!members_begin(&cursor, flat, size))
		return false;
	for (uint32 i = 0; i < cursor.count; i++)
	{
		if (!members_next(&cursor, &member))
			return false;
		*head_size += member_head_size(encoder, &member);
		if (*head_size > encoder->limits->one_run)
			return true;
		if (member_is_long(encoder, &member))
			(*long_count)++;
	}
	return cursor.values.end == cursor.size;
}

/* Append a container as one run. */
static bool
encode_one_run(Encoder *encoder, const char *flat, uint32 size,
			   uint32 *head_size)
{
	MemberCursor cursor;
	Part		part;

	if (!members_begin(&cursor, flat, size) ||
		!rebuild_run(encoder, cursor, cursor.count, &part))
		return false;
	*head_size = part.head_size;
	return true;
}

/* Append a container of size bytes in whichever form fits. */
static bool
encode_container(Encoder *encoder, const char *flat, uint32 size,
				 uint32 *head_size)
{
	uint32		long_count;
	uint64		measured;

	check_stack_depth();
	if (!measure(encoder, flat, size, &long_count, &measured))
		return false;
	if (measured > encoder->limits->one_run)
		return encode_directory(encoder, flat, size, head_size);
	if (long_count > 0)
		return encode_one_run(encoder, flat, size, head_size);
	*head_size = FORM_ALIGN(size);
	appendBinaryStringInfo(encoder->out, flat, size);
	append_pad(encoder->out);
	return true;
}

/*
 * Members of the root that are longer leave its head: in a short document
 * more of them do, so that its short values can be read alone.
 */
static uint32
root_long_member(const FormLimits *limits, uint32 size)
{
	uint32		result = limits->long_member;

	while (result > limits->long_member / 16 && result > size / 16)
		result /= 2;
	return result;
}

/*
 * Append the stored form of the document of size bytes at flat (its root
 * container, 4-byte aligned) to stored, which must be empty.  Returns false
 * when the document is not to be stored in that form: a scalar, one whose
 * members all stand in one place anyway, or one with bytes that jsonb would
 * not have made.
 */
bool
form_encode(const char *flat, uint32 size, const FormLimits *limits,
			StringInfo stored)
{
	Encoder		encoder = {limits, root_long_member(limits, size), stored};
	JsonPrefix	prefix = {size, 0};
	uint32		word;

	Assert(stored->len == 0);
	if (size < sizeof(word))
		return false;
	memcpy(&word, flat, sizeof(word));
	if ((word & JB_FSCALAR) != 0 || (word & JB_CMASK) == 0)
		return false;
	append_zeros(stored, sizeof(prefix));
	if (!encode_container(&encoder, flat, size, &prefix.head_size))
		return false;
	memcpy(stored->data, &prefix, sizeof(prefix));
	memcpy(&word, stored->data + sizeof(prefix), sizeof(word));
	return (word & FORM_SPECIAL) != 0;
}
