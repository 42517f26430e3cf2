/*-------------------------------------------------------------------------
 *
 * document.c
 *	  Open documents: any bytes of a stored form, read once.
 *
 * A document's bytes are seen through segments: windows of the rope whose
 * frame, or the first part of it, is decompressed.  While a document is
 * open, segments only come and grow (what a growing one leaves behind is
 * kept), so that pointers into them stay valid; a document that has grown
 * large is forgotten when it is closed.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "access/xact.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "codec.h"
#include "document.h"
#include "stats.h"
#include "toast_am.h"

/* Documents that a session keeps, and bytes of one that it keeps. */
#define DOCUMENTS			8
#define DOCUMENT_BYTES		(4 * 1024 * 1024)

/* The least that is decompressed of a frame, and of an uncompressed one. */
#define FIRST_BYTES			1024

/* A window of the rope, in memory. */
typedef struct Segment
{
	uint32		start;			/* in the stored form */
	uint32		size;
	Piece		piece;
	char	   *copy;			/* of its refs and bytes; NULL: in the root */
	uint32		skip;			/* of the frame before start */
	uint32		ready;			/* bytes of the frame that are there */
	const char *frame;
	char	   *buffer;			/* that has the frame; NULL: in the root */
	Size		capacity;		/* of buffer */
} Segment;

struct Document
{
	FormSource	source;			/* first, so that it can be cast */
	TreePointer pointer;
	bool		valid;			/* root and segments belong to pointer */
	bool		plain;			/* a rope of the flat form */
	bool		streaming;		/* views last until the next one only */
	int			uses;
	uint64		used;			/* when last, for replacement */
	ChunkStore *store;			/* while open */
	ChunkStore	own_store;
	uint32		lineage;
	MemoryContext context;		/* of all below */
	char	   *root;
	Size		root_size;
	Segment    *segments;
	int			segment_count;
	int			segment_capacity;
	int			last;			/* segment seen last */
	Size		bytes;			/* in segments */
	char	   *spare;			/* a buffer to be used again, if streaming */
	Size		spare_capacity;
};

/* Whether relations are TOAST relations of ours, as far as is known. */
#define KNOWN_RELATIONS		64

typedef struct KnownRelation
{
	Oid			relid;
	bool		ours;
} KnownRelation;

static KnownRelation known_relations[KNOWN_RELATIONS];

static Document documents[DOCUMENTS];
static uint64 clock_now;

/* Does a TOAST pointer name a relation of ours? */
bool
document_is_tree(const TreePointer *pointer)
{
	Oid			relid = pointer->toastrelid;
	KnownRelation *known = &known_relations[relid % KNOWN_RELATIONS];
	Relation	rel;

	if (known->relid == relid)
		return known->ours;
	rel = table_open(relid, AccessShareLock);
	known->relid = relid;
	known->ours = rel->rd_tableam == toast_am_routine();
	table_close(rel, AccessShareLock);
	return known->ours;
}

static void
forget_relation(Datum arg, Oid relid)
{
	if (OidIsValid(relid))
		known_relations[relid % KNOWN_RELATIONS].relid = InvalidOid;
	else
		memset(known_relations, 0, sizeof(known_relations));
}

/* Keep a piece of a node; one of the root, which is kept, as it is. */
static void
keep_piece(Document *document, const void *node, const Piece *piece,
		   Segment *segment)
{
	Size		refs = piece->head.refs * sizeof(Ref);
	char	   *copy;

	segment->piece = *piece;
	if (node == document->root)
		return;
	copy = MemoryContextAlloc(document->context,
							  refs + piece->head.inline_size + 1);
	memcpy(copy, piece->refs, refs);
	memcpy(copy + refs, piece->bytes, piece->head.inline_size);
	segment->copy = copy;
	segment->piece.refs = (const Ref *) copy;
	segment->piece.bytes = copy + refs;
}

/*
 * Find the piece of level 1 that has the byte at offset, below a node that
 * starts at start.
 */
static bool
locate(Document *document, const void *node, uint32 start, uint32 offset,
	   Segment *segment)
{
	int			level = ROPE_LEVEL(node);
	PieceCursor cursor;
	Piece		piece;

	node_pieces_begin(&cursor, node);
	while (node_pieces_next(&cursor, &piece))
	{
		Chunk		child;
		bool		ok;

		if (offset - start >= piece.head.size)
		{
			start += piece.head.size;
			continue;
		}
		if (level == 1)
		{
			segment->start = start;
			segment->size = piece.head.size;
			segment->skip = piece.head.skip;
			keep_piece(document, node, &piece, segment);
			return true;
		}
		if (!chunk_store_get_child(document->store, document->lineage,
								   &piece.refs[0], level - 1, &child))
			return false;
		ok = locate(document, child.node, start, offset, segment);
		chunk_store_release(&child);
		return ok;
	}
	document->source.problem = "Offset lies past the end of the document";
	return false;
}

/*
 * A buffer of at least size bytes.  Streaming needs one after the other, too
 * large ones for malloc() to keep: it would have the kernel clear each.
 */
static char *
take_buffer(Document *document, Size size, Size *capacity)
{
	char	   *buffer = document->spare;

	if (buffer != NULL && document->spare_capacity >= size)
	{
		*capacity = document->spare_capacity;
		document->spare = NULL;
		document->spare_capacity = 0;
		return buffer;
	}
	*capacity = document->streaming ? size + size / 4 : size;
	return MemoryContextAllocHuge(document->context, *capacity);
}

/* Free a buffer, or keep it for the next segment. */
static void
free_buffer(Document *document, char *buffer, Size capacity)
{
	if (document->streaming && capacity > document->spare_capacity)
	{
		if (document->spare != NULL)
			pfree(document->spare);
		document->spare = buffer;
		document->spare_capacity = capacity;
	}
	else
		pfree(buffer);
}

/*
 * Make the first wanted bytes of the segment's frame available.  The buffer
 * is such that bytes are aligned in memory as they are in the stored form.
 */
static bool
grow(Document *document, Segment *segment, uint32 wanted)
{
	uint32		limit = segment->skip + segment->size;
	uint32		shift = (segment->start - segment->skip) % sizeof(uint32);
	RopeReader	reader;
	char	   *buffer;
	bool		ok;

	if (document->streaming)
		wanted = limit;
	else
		wanted = Min(limit, Max(Max(wanted, 2 * segment->ready),
								FIRST_BYTES));
	buffer = take_buffer(document, wanted + shift, &segment->capacity);
	rope_reader_init(&reader, document->store, document->lineage);
	ok = rope_reader_decompress(&reader, &segment->piece, wanted,
								buffer + shift);
	rope_reader_free(&reader);
	if (!ok)
		return false;
	segment->buffer = buffer;
	segment->frame = buffer + shift;
	segment->ready = wanted;
	document->bytes += wanted;
	return true;
}

/* Read a part of an uncompressed frame as a segment of its own. */
static bool
load_uncompressed(Document *document, Segment *segment, uint32 offset,
				  uint32 length)
{
	uint32		before = offset - segment->start;
	uint32		left = segment->size - before;
	uint32		shift = offset % sizeof(uint32);
	const char *in_node = segment->piece.bytes + segment->skip;
	RopeReader	reader;
	char	   *buffer;
	bool		ok;

	if (segment->copy == NULL &&
		segment->skip + before + length <= segment->piece.head.inline_size &&
		(uintptr_t) in_node % sizeof(uint32) ==
		segment->start % sizeof(uint32))
	{
		segment->size = Min(segment->size,
							segment->piece.head.inline_size - segment->skip);
		segment->skip = 0;
		segment->frame = in_node;
		segment->ready = segment->size;
		return true;
	}
	length = Min(left, Max(length, FIRST_BYTES));
	buffer = MemoryContextAllocHuge(document->context, length + shift);
	rope_reader_init(&reader, document->store, document->lineage);
	ok = rope_reader_stored(&reader, &segment->piece, segment->skip + before,
							length, buffer + shift);
	rope_reader_free(&reader);
	if (!ok)
		return false;
	segment->start = offset;
	segment->size = length;
	segment->skip = 0;
	segment->buffer = buffer;
	segment->frame = buffer + shift;
	segment->ready = length;
	document->bytes += length;
	return true;
}

/* Room for one more segment. */
static Segment *
add_segment(Document *document)
{
	if (document->segment_count == document->segment_capacity)
	{
		int			capacity = Max(8, 2 * document->segment_capacity);

		document->segments = document->segments == NULL ?
			MemoryContextAlloc(document->context,
							   capacity * sizeof(Segment)) :
			repalloc(document->segments, capacity * sizeof(Segment));
		document->segment_capacity = capacity;
	}
	return &document->segments[document->segment_count];
}

/* Forget all segments. */
static void
drop_segments(Document *document)
{
	for (int i = 0; i < document->segment_count; i++)
	{
		Segment    *segment = &document->segments[i];

		if (segment->copy != NULL)
			pfree(segment->copy);
		if (segment->buffer != NULL)
			free_buffer(document, segment->buffer, segment->capacity);
	}
	document->segment_count = 0;
	document->last = 0;
	document->bytes = 0;
}

/* Does the segment have the byte at offset? */
static inline bool
segment_has(const Segment *segment, uint32 offset)
{
	return offset - segment->start < segment->size;
}

/*
 * The segment that has the byte at offset, with length bytes if there is one.
 * Bytes that were gathered are found again, rather than gathered again.
 */
static Segment *
find_segment(Document *document, uint32 offset, uint32 length)
{
	Segment    *segment;
	int			shorter = -1;

	for (int i = 0; i < document->segment_count; i++)
	{
		int			at = (document->last + i) % document->segment_count;

		segment = &document->segments[at];
		if (!segment_has(segment, offset))
			continue;
		if (segment->size - (offset - segment->start) >= length)
		{
			document->last = at;
			return segment;
		}
		if (segment->piece.head.method != CODEC_NONE)
			shorter = at;
	}
	if (shorter >= 0)
	{
		document->last = shorter;
		return &document->segments[shorter];
	}
	if (document->streaming)
		drop_segments(document);
	segment = add_segment(document);
	memset(segment, 0, sizeof(Segment));
	if (!locate(document, document->root, 0, offset, segment) ||
		(segment->piece.head.method == CODEC_NONE &&
		 !load_uncompressed(document, segment, offset, length)))
		return NULL;
	document->last = document->segment_count++;
	return segment;
}

/*
 * Set *part to as many bytes from offset on, at most length, as stand
 * together.
 */
static const char *
view_part(Document *document, uint32 offset, uint32 length, uint32 *part)
{
	Segment    *segment = find_segment(document, offset, length);
	uint32		before;

	if (segment == NULL)
		return NULL;
	before = offset - segment->start;
	*part = Min(length, segment->size - before);
	if (segment->ready < segment->skip + before + *part &&
		!grow(document, segment, segment->skip + before + *part))
		return NULL;
	return segment->frame + segment->skip + before;
}

/* Copy bytes of the stored form. */
static bool
source_read(FormSource *source, uint32 offset, uint32 length, char *target)
{
	Document   *document = (Document *) source;

	if (offset > source->size || length > source->size - offset)
	{
		source->problem = "Bytes lie past the end of the document";
		return false;
	}
	while (length > 0)
	{
		uint32		part;
		const char *bytes = view_part(document, offset, length, &part);

		if (bytes == NULL)
			return false;
		memcpy(target, bytes, part);
		target += part;
		offset += part;
		length -= part;
	}
	return true;
}

/* Show bytes of the stored form. */
static const char *
source_view(FormSource *source, uint32 offset, uint32 length)
{
	Document   *document = (Document *) source;
	Segment    *gathered;
	const char *bytes;
	uint32		part;
	char	   *buffer;

	if (offset > source->size || length > source->size - offset)
	{
		source->problem = "Bytes lie past the end of the document";
		return NULL;
	}
	bytes = view_part(document, offset, length, &part);
	if (bytes == NULL || part == length)
		return bytes;

	/* they lie on both sides of a boundary: a segment of their own */
	buffer = MemoryContextAllocHuge(document->context,
									length + sizeof(uint32));
	if (!source_read(source, offset, length,
					 buffer + offset % sizeof(uint32)))
		return NULL;
	gathered = add_segment(document);
	memset(gathered, 0, sizeof(Segment));
	gathered->start = offset;
	gathered->size = gathered->ready = length;
	gathered->buffer = buffer;
	gathered->frame = buffer + offset % sizeof(uint32);
	document->bytes += length;
	document->last = document->segment_count++;
	return gathered->frame;
}

/* Forget a document. */
static void
forget(Document *document)
{
	document->valid = false;
	document->segments = NULL;
	document->segment_count = document->segment_capacity = 0;
	document->bytes = 0;
	document->last = 0;
	if (document->context != NULL)
		MemoryContextReset(document->context);
}

/* Take over a root that was just fetched. */
static void
take_root(Document *document, const TreePointer *pointer, const Chunk *root)
{
	document->pointer = *pointer;
	document->root = MemoryContextAlloc(document->context, root->size);
	memcpy(document->root, root->node, root->size);
	document->root_size = root->size;
	document->lineage = node_trailer(root->node, root->size)->lineage;
	document->plain =
		((const NodeHeader *) root->node)->kind != NODE_KIND_JSON;
	document->source.view = source_view;
	document->source.read = source_read;
	document->source.size = ((const RopeHeader *) root->node)->size;
	document->source.stable = false;
	document->source.problem = NULL;
	document->valid = true;
}

/* The document in the cache, or the one to be replaced. */
static Document *
choose(const TreePointer *pointer)
{
	Document   *oldest = NULL;

	for (int i = 0; i < DOCUMENTS; i++)
	{
		Document   *document = &documents[i];

		if (document->valid &&
			document->pointer.address == pointer->address &&
			document->pointer.toastrelid == pointer->toastrelid &&
			document->pointer.size == pointer->size)
			return document;
		if (document->uses == 0 &&
			(oldest == NULL || document->used < oldest->used))
			oldest = document;
	}
	if (oldest == NULL)
		elog(ERROR, "too many open documents");
	forget(oldest);
	return oldest;
}

/* Is the root that is kept still the one that the pointer names? */
static bool
root_is_same(Document *document)
{
	ItemPointerData tid;
	Chunk		chunk;
	bool		same;

	if (!address_is_direct(document->pointer.address))
		return false;
	address_to_tid(document->pointer.address, &tid);
	if (!chunk_store_get(document->store, &tid, &chunk))
		return false;
	same = chunk.size == document->root_size &&
		memcmp(chunk.node, document->root, chunk.size) == 0;
	chunk_store_release(&chunk);
	return same;
}

/*
 * Open the document that the pointer names.  Raises an error when its root
 * is missing or damaged, or not that of a document.
 */
Document *
document_open(const TreePointer *pointer)
{
	Document   *document = choose(pointer);
	Chunk		root;

	document->used = ++clock_now;
	if (document->uses++ > 0)
		return document;
	if (document->context == NULL)
		document->context = AllocSetContextCreate(TopMemoryContext,
												  "toaster document",
												  ALLOCSET_DEFAULT_SIZES);
	document->store = &document->own_store;
	chunk_store_open_cached(document->store, pointer->toastrelid);
	document->store->value = pointer->address;
	if (document->valid && root_is_same(document))
	{
		stats_add(STATS_CACHE_HITS, 1);
		return document;
	}
	forget(document);
	if (!chunk_store_get_root(document->store, pointer->address,
							  pointer->size, &root))
		document_raise(document);
	take_root(document, pointer, &root);
	chunk_store_release(&root);
	return document;
}

/* Close a document; what was read of it is kept, unless that is much. */
void
document_close(Document *document)
{
	if (--document->uses > 0)
		return;
	chunk_store_close(document->store);
	if (document->bytes > DOCUMENT_BYTES)
		forget(document);
}

const TreePointer *
document_pointer(const Document *document)
{
	return &document->pointer;
}

FormSource *
document_source(Document *document)
{
	return &document->source;
}

/* Is the document stored in its flat form? */
bool
document_is_plain(const Document *document)
{
	return document->plain;
}

/* Bytes of the stored form, in memory until the document is closed. */
const char *
document_view(Document *document, uint32 offset, uint32 length)
{
	const char *bytes = source_view(&document->source, offset, length);

	if (bytes == NULL)
		document_raise(document);
	return bytes;
}

/* Copy bytes of the stored form. */
void
document_read(Document *document, uint32 offset, uint32 length, char *target)
{
	if (!source_read(&document->source, offset, length, target))
		document_raise(document);
}

/* Raise the problem that was met last. */
void
document_raise(Document *document)
{
	if (document->source.problem != NULL)
	{
		ItemPointerData tid;

		ItemPointerSetInvalid(&tid);
		chunk_store_find(document->store, document->pointer.address, &tid);
		chunk_store_problem(document->store, &tid, document->source.problem);
		document->source.problem = NULL;
	}
	chunk_store_raise(document->store);
}

/* Is all of the document in one compressed frame? */
static bool
is_one_frame(const void *root)
{
	PieceCursor cursor;
	Piece		piece;

	node_pieces_begin(&cursor, root);
	return ROPE_LEVEL(root) == 1 && node_pieces_next(&cursor, &piece) &&
		piece.head.size == ((const RopeHeader *) root)->size &&
		piece.head.method != CODEC_NONE;
}

/*
 * Restore the flat form of the document with that root.  Returns false, with
 * the problem recorded in the store, when it is damaged.
 */
bool
document_decode(ChunkStore *store, const Chunk *root, char *flat,
				uint32 flat_size)
{
	TreePointer pointer = {0};
	Document	document;
	bool		ok;

	memset(&document, 0, sizeof(document));
	document.context = AllocSetContextCreate(CurrentMemoryContext,
											 "toaster document",
											 ALLOCSET_DEFAULT_SIZES);
	document.store = store;
	document.streaming = true;
	take_root(&document, &pointer, root);
	document.source.stable = is_one_frame(root->node);
	ok = form_decode(&document.source, flat, flat_size);
	if (!ok && document.source.problem != NULL)
	{
		ItemPointerData tid = root->tid;

		chunk_store_problem(store, &tid, document.source.problem);
	}
	MemoryContextDelete(document.context);
	return ok;
}

/* Documents that an error has left open are closed with their transaction. */
static void
forget_uses(void)
{
	for (int i = 0; i < DOCUMENTS; i++)
		documents[i].uses = 0;
}

static void
at_xact_end(XactEvent event, void *arg)
{
	if (event == XACT_EVENT_ABORT || event == XACT_EVENT_PARALLEL_ABORT)
		forget_uses();
}

static void
at_subxact_end(SubXactEvent event, SubTransactionId id,
			   SubTransactionId parent, void *arg)
{
	if (event == SUBXACT_EVENT_ABORT_SUB)
		forget_uses();
}

/* Called once, when the library is loaded. */
void
document_init(void)
{
	CacheRegisterRelcacheCallback(forget_relation, (Datum) 0);
	RegisterXactCallback(at_xact_end, NULL);
	RegisterSubXactCallback(at_subxact_end, NULL);
}
