/*-------------------------------------------------------------------------
 *
 * json_members.h
 *	  Walking over the members of a flat container, which is to be encoded.
 *
 * The walk checks that each byte is what jsonb would have put there; what is
 * not cannot be restored, and is not encoded.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PG_TOASTER_JSON_MEMBERS_H
#define PG_TOASTER_JSON_MEMBERS_H

#include "postgres.h"

#include "json_form.h"

/* A member of a flat container. */
typedef struct Member
{
	const char *key;
	uint32		key_size;
	uint32		type;			/* JENTRY_ISxxx */
	const char *value;
	uint32		size;			/* of value, without alignment */
} Member;

typedef struct MemberCursor
{
	const char *data;
	uint32		size;			/* of the data */
	uint32		count;
	bool		object;
	EntryCursor keys;
	EntryCursor values;
} MemberCursor;

/*
 * Start with the members of the flat container of size bytes; false when it
 * cannot be one.
 */
static inline bool
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
	cursor->keys.index = cursor->values.index = 0;
	cursor->keys.end = cursor->values.end = 0;
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

/* Set the value of a member, of which start and length are as in its entry. */
static inline bool
member_set_value(const MemberCursor *cursor, uint32 start, uint32 length,
				 Member *member)
{
	uint32		pad = entry_is_aligned(member->type) ?
		FORM_ALIGN(start) - start : 0;

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

/* The next member; false when it is not as jsonb would have made it. */
static inline bool
members_next(MemberCursor *cursor, Member *member)
{
	uint32		start;
	uint32		length;

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
	return member_set_value(cursor, start, length, member);
}

#endif							/* PG_TOASTER_JSON_MEMBERS_H */
