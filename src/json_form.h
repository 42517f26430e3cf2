/*-------------------------------------------------------------------------
 *
 * json_form.h
 *	  The stored form of a document, drawn once.
 *
 * A document that is kept as a tree is stored, in a rope, not in jsonb's flat
 * form but in one where each member is found, and can be changed, without
 * touching what is far from it.  The flat form is restored byte for byte.
 * All structures start at a multiple of 4 bytes, numbers are in the byte
 * order of the machine.
 *
 *		JsonPrefix | container
 *
 * A container is one of three, told apart by the high bits of its first word
 * (the other bits of which are jsonb's: count, object or array):
 *
 * plain	jsonb's own JsonbContainer, byte for byte.
 *
 * run		(FORM_SPECIAL if it has long members) its *head* is laid out as a
 *			JsonbContainer, but all entries hold lengths, none an offset, so
 *			that a change stays where it is; and each long member is replaced
 *			by a JsonStub, which looks like a container.  The long members
 *			follow the head in the same order: strings and numerics as their
 *			bytes, containers as containers.  So what is short stands
 *			together.
 *
 * directory (FORM_SPECIAL | FORM_DIRECTORY) for a container with many
 *			members: a JsonDirectory, its head, followed by its children,
 *			which are consecutive parts of the container: runs at level 1,
 *			directories of the level below above that.
 *
 *		+---------------+---------------------------------+----------+
 *		| JsonDirectory | fields of children, transposed  | keys     |
 *		+---------------+---------------------------------+----------+
 *
 *			The keys are the first keys of the children of an object.  The
 *			fields (enum DirectoryField) stand in columns of bytes, all
 *			lowest bytes of a field first, since columns of zeros compress
 *			to nothing.
 *
 * Every part of a head, long member and child is padded to 4 bytes.
 *
 * The flat size of consecutive members depends on where they start, since
 * jsonb aligns numerics and containers.  A JsonSpan has what is independent
 * of it: the bytes before the first aligned member, those from there on, and
 * whether there is one.
 *
 * Where a large container is cut depends on its contents (a hash of keys, or
 * of elements), so that equal parts of two documents are cut at the same
 * places; see Muthitacharoen, Chen and Mazieres, "A Low-Bandwidth Network
 * File System" (2001) for the idea.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PG_TOASTER_JSON_FORM_H
#define PG_TOASTER_JSON_FORM_H

#include "postgres.h"

#include "lib/stringinfo.h"
#include "utils/jsonb.h"

#define FORM_SPECIAL		0x80000000U
#define FORM_DIRECTORY		0x10000000U /* with FORM_SPECIAL */

#define FORM_ALIGN(n)		(((n) + 3U) & ~3U)

typedef struct JsonPrefix
{
	uint32		flat_size;		/* of the document */
	uint32		head_size;		/* of its root container's head */
} JsonPrefix;

/* What stands for a long member in the head of a run. */
typedef struct JsonStub
{
	uint32		word;			/* FORM_SPECIAL | JENTRY_ISxxx | STUB_xxx */
	uint32		stored_size;	/* padded */
	uint32		flat_size;		/* without alignment in front */
	uint32		head_size;		/* of a container; 0 for a scalar */
} JsonStub;

/* Which container a stub stands for. */
#define STUB_OBJECT			1U
#define STUB_ARRAY			2U

#define SPAN_ALIGNED		0x80000000U

typedef struct JsonSpan
{
	uint32		before;			/* bytes before the first aligned member */
	uint32		after;			/* from there on, and SPAN_ALIGNED */
} JsonSpan;

typedef struct JsonDirectory
{
	uint32		word;			/* special, directory, type and count */
	uint16		level;			/* from 1 */
	uint16		children;
	uint32		keys_size;		/* bytes of all keys below */
	JsonSpan	span;			/* of all values below */
} JsonDirectory;

/* What a directory says of a child. */
typedef enum DirectoryField
{
	DIRECTORY_COUNT,			/* of members */
	DIRECTORY_STORED_SIZE,
	DIRECTORY_HEAD_SIZE,
	DIRECTORY_BEFORE,			/* its span */
	DIRECTORY_AFTER,
	DIRECTORY_ARRAY_FIELDS,

	/* of objects only */
	DIRECTORY_KEYS_SIZE = DIRECTORY_ARRAY_FIELDS,
	DIRECTORY_KEY_END,			/* of its first key, among the keys */
	DIRECTORY_OBJECT_FIELDS
} DirectoryField;

/* Bytes of a directory without its keys, before padding. */
static inline uint32
directory_fixed_size(bool object, uint32 children)
{
	return sizeof(JsonDirectory) + children * sizeof(uint32) *
		(object ? DIRECTORY_OBJECT_FIELDS : DIRECTORY_ARRAY_FIELDS);
}

/* A field of a child. */
static inline uint32
directory_get(const JsonDirectory *directory, DirectoryField field,
			  uint32 child)
{
	uint32		n = directory->children;
	const uint8 *column = (const uint8 *) (directory + 1) + 4 * n * field +
		child;

	return column[0] | column[n] << 8 | column[2 * n] << 16 |
		(uint32) column[3 * n] << 24;
}

static inline void
directory_set(JsonDirectory *directory, DirectoryField field, uint32 child,
			  uint32 value)
{
	uint32		n = directory->children;
	uint8	   *column = (uint8 *) (directory + 1) + 4 * n * field + child;

	for (int i = 0; i < 4; i++)
		column[i * n] = value >> (8 * i);
}

/* How documents are cut; all in bytes but the last two. */
typedef struct FormLimits
{
	uint32		long_member;	/* longer members leave the head */
	uint32		one_run;		/* a head up to that size is not cut */
	uint32		run_min;
	uint32		run_max;
	uint32		children_min;	/* of a directory that is not the top */
	uint32		children_max;
} FormLimits;

/* Where stored bytes come from. */
typedef struct FormSource FormSource;
struct FormSource
{
	/*
	 * Bytes of the stored form, 4-byte aligned if offset is; valid until the
	 * next call.  NULL, with the problem set, when they cannot be had.
	 */
	const char *(*view) (FormSource *source, uint32 offset, uint32 length);
	/* The same, copied. */
	bool		(*read) (FormSource *source, uint32 offset, uint32 length,
						 char *target);
	uint32		size;			/* of the stored form */
	bool		stable;			/* views stay valid after the next one */
	const char *problem;
};

/* Where stored bytes go. */
typedef struct FormSink FormSink;
struct FormSink
{
	StringInfoData window;		/* the last bytes written */
	/* Called when there are more; may take some away, from the front. */
	void		(*more) (FormSink *sink);
};

typedef struct FormLayout FormLayout;

/* json_layout.c */
extern void form_limits(FormLimits *limits, int node_size);
extern FormLayout *form_layout(const char *flat, uint32 size,
							   const FormLimits *limits);
extern FormLayout *form_layout_member(const char *flat, uint32 size,
									  const FormLimits *limits);
extern uint32 form_root_long_member(const FormLimits *limits, uint32 size);
extern uint32 form_layout_size(const FormLayout *layout);
extern uint32 form_layout_head_size(const FormLayout *layout);
extern void form_layout_free(FormLayout *layout);

/* json_encode.c */
extern void form_write(const FormLayout *layout, FormSink *sink);
extern void form_write_member(const FormLayout *layout, FormSink *sink);

/* json_decode.c */
extern bool form_decode(FormSource *source, char *flat, uint32 flat_size);
extern bool form_decode_at(FormSource *source, uint32 offset,
						   uint32 stored_size, uint32 head_size,
						   char *flat, uint32 flat_size);

/* The data and entries of a container that values are copied from. */
typedef struct EntrySource
{
	const JEntry *entries;
	const char *data;
	uint32		size;			/* of data */
} EntrySource;

/* And of one that they are copied to. */
typedef struct EntryTarget
{
	bool		offsets;		/* some entries hold offsets, as jsonb's do */
	JEntry	   *entries;
	char	   *data;
	uint32		size;			/* that data may take */
	uint32		end;			/* of what is there */
} EntryTarget;

/* json_entries.c */
extern void entries_copy(EntryTarget *target, uint32 to, uint64 *target_end,
						 const JEntry *source, uint32 from,
						 uint64 *source_end, uint32 count);
extern uint32 entries_sum(const JEntry *entries, uint32 from, uint32 count);
extern bool values_copy(EntryTarget *target, uint32 to,
						const EntrySource *source, uint32 from,
						uint64 *start, uint32 count);

/* A walk over the entries of a JsonbContainer, keys or values. */
typedef struct EntryCursor
{
	const JEntry *entries;
	uint32		index;			/* of the next one */
	uint32		end;			/* of the one before, in the data */
} EntryCursor;

/*
 * The next entry: its type; *start and *length are of its bytes in the data,
 * alignment included.
 */
static inline uint32
entry_next(EntryCursor *cursor, uint32 *start, uint32 *length)
{
	JEntry		entry = cursor->entries[cursor->index++];

	*start = cursor->end;
	if (JBE_HAS_OFF(entry))
		cursor->end = JBE_OFFLENFLD(entry);
	else
		cursor->end += JBE_OFFLENFLD(entry);
	*length = cursor->end - *start;
	return entry & JENTRY_TYPEMASK;
}

/*
 * The entry with the given number, for length bytes that end at end, in a
 * container with or without offsets.
 */
static inline JEntry
entry_make(bool offsets, uint32 index, uint32 type, uint32 length, uint32 end)
{
	return type | (offsets && index % JB_OFFSET_STRIDE == 0 ?
				   JENTRY_HAS_OFF | end : length);
}

/* Does jsonb align values of that type? */
static inline bool
entry_is_aligned(uint32 type)
{
	return type == JENTRY_ISNUMERIC || type == JENTRY_ISCONTAINER;
}

/* Add a value of size bytes, without alignment in front, to a span. */
static inline void
span_add(JsonSpan *span, bool aligned, uint32 size)
{
	if (span->after & SPAN_ALIGNED)
	{
		if (aligned)
			span->after = FORM_ALIGN(span->after);
		span->after += size;
	}
	else if (aligned)
		span->after = SPAN_ALIGNED | size;
	else
		span->before += size;
}

/* Append a span to another. */
static inline void
span_append(JsonSpan *span, const JsonSpan *next)
{
	span_add(span, false, next->before);
	if (next->after & SPAN_ALIGNED)
		span_add(span, true, next->after & ~SPAN_ALIGNED);
}

/* Bytes of a span that starts at the given offset. */
static inline uint32
span_size(const JsonSpan *span, uint32 offset)
{
	uint32		end = offset + span->before;

	if (span->after & SPAN_ALIGNED)
		end = FORM_ALIGN(end) + (span->after & ~SPAN_ALIGNED);
	return end - offset;
}

/* Is that the head of a directory? */
static inline bool
form_is_directory(const char *head)
{
	uint32		word = *(const uint32 *) head;

	return (word & FORM_SPECIAL) != 0 && (word & FORM_DIRECTORY) != 0;
}

/* Entries of a container with that first word. */
static inline uint32
form_entries(uint32 word)
{
	return (word & JB_CMASK) * ((word & JB_FOBJECT) != 0 ? 2 : 1);
}

#endif							/* PG_TOASTER_JSON_FORM_H */
