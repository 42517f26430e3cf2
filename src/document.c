/*-------------------------------------------------------------------------
 *
 * document.c
 *	  Open documents: any bytes of a stored form, read once.
 *
 * A document is a rope, seen through a RopeView; or an *overlay*, whose bytes
 * a piece table takes from a rope and from memory: a document with a delta
 * root, or one that is being edited.  The rope below an overlay is a document
 * of its own in the cache, so that what is decompressed of it serves all
 * versions that edits make of it.
 *
 * While a document is open, pointers into it stay valid; a document that has
 * grown large is forgotten when it is closed.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "utils/memutils.h"

#include "document.h"
#include "document_parts.h"
#include "stats.h"

/* Documents that a session keeps, and bytes of one that it keeps. */
#define DOCUMENTS			12
#define DOCUMENT_BYTES		(4 * 1024 * 1024)

static Document documents[DOCUMENTS];
static uint64 clock_now;

/* Show bytes from offset on, at most length; *part is set to how many. */
static const char *
view_part(Document *document, uint32 offset, uint32 length, uint32 *part)
{
	RopeView   *view = document->view;
	const char *bytes;

	if (document->table != NULL)
	{
		const TablePiece *piece;
		uint32		start;

		piece = &document->table->pieces[piece_table_find(document->table,
														  offset, &start)];
		offset -= start;
		length = Min(length, piece->size - offset);
		if (piece->bytes != NULL)
		{
			*part = length;
			return piece->bytes + offset;
		}
		offset += piece->offset;
	}
	bytes = rope_view_part(view, offset, length, part);
	if (bytes == NULL && view->problem != NULL)
	{
		document->source.problem = view->problem;
		view->problem = NULL;
	}
	return bytes;
}

/* Is the range within the stored form? */
static bool
in_range(FormSource *source, uint32 offset, uint32 length)
{
	if (offset <= source->size && length <= source->size - offset)
		return true;
	source->problem = "Bytes lie past the end of the document";
	return false;
}

/* Copy bytes of the stored form. */
bool
document_source_read(FormSource *source, uint32 offset, uint32 length,
					 char *target)
{
	if (!in_range(source, offset, length))
		return false;
	while (length > 0)
	{
		uint32		part;
		const char *bytes = view_part((Document *) source, offset, length,
									  &part);

		if (bytes == NULL)
			return false;
		memcpy(target, bytes, part);
		target += part;
		offset += part;
		length -= part;
	}
	return true;
}

/* Room for one more copy; in a streaming view it replaces the last. */
static Gathered *
add_gathered(Document *document)
{
	if (document->view->streaming && document->gathered_count > 0)
	{
		pfree(document->gathered[0].buffer);
		document->gathered_count = 0;
	}
	if (document->gathered_count == document->gathered_capacity)
	{
		int			capacity = Max(4, 2 * document->gathered_capacity);

		document->gathered = document->gathered == NULL ?
			MemoryContextAlloc(document->context,
							   capacity * sizeof(Gathered)) :
			repalloc(document->gathered, capacity * sizeof(Gathered));
		document->gathered_capacity = capacity;
	}
	return &document->gathered[document->gathered_count];
}

/* Copy bytes that lie on both sides of a boundary, or are not aligned. */
static const char *
gather(Document *document, uint32 offset, uint32 length)
{
	uint32		shift = offset % sizeof(uint32);
	Gathered   *gathered;

	for (int i = 0; i < document->gathered_count; i++)
	{
		gathered = &document->gathered[i];
		if (gathered->start == offset && gathered->size >= length)
			return gathered->buffer + shift;
	}
	gathered = add_gathered(document);
	gathered->start = offset;
	gathered->size = length;
	gathered->buffer = MemoryContextAllocHuge(document->context,
											  length + sizeof(uint32));
	if (!document_source_read(&document->source, offset, length,
							  gathered->buffer + shift))
		return NULL;
	document->view->bytes += length;
	document->gathered_count++;
	return gathered->buffer + shift;
}

/* Show bytes of the stored form. */
static const char *
source_view(FormSource *source, uint32 offset, uint32 length)
{
	Document   *document = (Document *) source;
	const char *bytes;
	uint32		part;

	if (!in_range(source, offset, length))
		return NULL;
	bytes = view_part(document, offset, length, &part);
	if (bytes == NULL ||
		(part == length &&
		 (uintptr_t) bytes % sizeof(uint32) == offset % sizeof(uint32)))
		return bytes;
	return gather(document, offset, length);
}

/* Forget a document. */
static void
forget(Document *document)
{
	document->valid = false;
	document->root = NULL;
	document->table = NULL;
	document->rope = NULL;
	document->gathered = NULL;
	document->gathered_count = document->gathered_capacity = 0;
	rope_view_reset(&document->own_view);
	if (document->context != NULL)
		MemoryContextReset(document->context);
}

/* What documents of all kinds have. */
static void
set_source(Document *document, uint32 size, uint8 kind)
{
	document->source.view = source_view;
	document->source.read = document_source_read;
	document->source.size = size;
	document->source.stable = false;
	document->source.problem = NULL;
	document->plain = kind != NODE_KIND_JSON;
	document->view = &document->own_view;
}

/* Let the document's own view show the rope below a root; copies that. */
void
document_set_view(Document *document, const Chunk *root)
{
	RopeView   *view = &document->own_view;

	document->root = MemoryContextAlloc(document->context, root->size);
	memcpy(document->root, root->node, root->size);
	document->root_size = root->size;
	view->store = document->store;
	view->context = document->context;
	view->root = document->root;
	view->lineage = node_trailer(root->node, root->size)->lineage;
}

/*
 * Take over a delta root: its table, and which rope that refers to.  The base
 * is pinned until the caller releases it.  False when it is missing.
 */
static bool
take_delta(Document *document, const Chunk *root, Chunk *base)
{
	MemoryContext caller = MemoryContextSwitchTo(document->context);

	document->table = rope_delta_table(root->node);
	MemoryContextSwitchTo(caller);
	if (!rope_delta_base(document->store, root, base))
		return false;
	document->base.toastrelid = document->pointer.toastrelid;
	document->base.size = node_trailer(base->node, base->size)->flat_size;
	document->base_crc = node_trailer(base->node, base->size)->crc;
	if (!address_from_tid(&base->tid, &document->base.address))
		return chunk_store_problem(document->store, &base->tid,
								   "Root below a delta has no address");
	return true;
}

/* Take over a root that was just fetched; false when its base is missing. */
bool
document_take_root(Document *document, const TreePointer *pointer,
				   const Chunk *root)
{
	Chunk		base;

	document->pointer = *pointer;
	set_source(document, ((const RopeHeader *) root->node)->size,
			   ((const NodeHeader *) root->node)->kind);
	if (!node_is_delta(root->node))
		document_set_view(document, root);
	else
	{
		if (!take_delta(document, root, &base))
			return false;
		document_set_view(document,
						  document->own_view.streaming ? &base : root);
		chunk_store_release(&base);
	}
	document->valid = true;
	return true;
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
	if (oldest->context == NULL)
		oldest->context = AllocSetContextCreate(TopMemoryContext,
												"toaster document",
												ALLOCSET_DEFAULT_SIZES);
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

/* Make sure that a document shows what the pointer names at present. */
static void
load_stored(Document *document, const TreePointer *pointer)
{
	Chunk		root;

	if (document->valid && root_is_same(document))
	{
		stats_add(STATS_CACHE_HITS, 1);
		return;
	}
	forget(document);
	if (!chunk_store_get_root(document->store, pointer->address,
							  pointer->size, &root) ||
		!document_take_root(document, pointer, &root))
		document_raise(document);
	chunk_store_release(&root);
}

/* The same of a value that was edited in memory. */
void
document_load_edited(Document *document, const Edit *edit)
{
	document->pointer = edit->pointer;
	set_source(document, edit->table->size, edit->kind);
	document->table = edit->table;
	document->base = edit->base;
	document->base_crc = edit->base_crc;
	document->valid = true;
}

/* Open the rope that an overlay's table refers to. */
static void
open_base(Document *document)
{
	Document   *rope = document_open(&document->base);

	document->rope = rope;
	document->view = &rope->own_view;
	if (node_trailer(rope->root, rope->root_size)->crc != document->base_crc)
	{
		document->source.problem = "Root below edits has changed";
		document_raise(document);
	}
}

/*
 * Open the document that the pointer names.  Raises an error when its root
 * is missing or damaged, or not that of a document.
 */
Document *
document_open(const TreePointer *pointer)
{
	Document   *document = choose(pointer);

	document->used = ++clock_now;
	if (document->uses++ > 0)
		return document;
	document->store = &document->own_store;
	chunk_store_open_cached(document->store, pointer->toastrelid);
	document->store->value = pointer->address;
	if (address_is_in_memory(pointer->address))
		document_load_edited(document, edit_get(pointer->address));
	else
		load_stored(document, pointer);
	document->own_view.store = document->store;
	if (document->table != NULL)
		open_base(document);
	return document;
}

/* Close a document; what was read of it is kept, unless that is much. */
void
document_close(Document *document)
{
	if (--document->uses > 0)
		return;
	if (document->rope != NULL)
		document_close(document->rope);
	document->rope = NULL;
	chunk_store_close(document->store);
	if (document->own_view.bytes > DOCUMENT_BYTES)
		forget(document);
}

/*
 * Open a document of one's own, in the current memory context, that shows
 * what the pointer names and can be changed.
 */
Document *
document_overlay(const TreePointer *pointer)
{
	Document   *original = document_open(pointer);
	Document   *document = palloc0(sizeof(Document));

	document->pointer = *pointer;
	document->context = CurrentMemoryContext;
	document->uses = 1;
	document->store = &document->own_store;
	chunk_store_open_cached(document->store, pointer->toastrelid);
	document->store->value = pointer->address;
	set_source(document, original->source.size,
			   original->plain ? NODE_KIND_ROPE : NODE_KIND_JSON);
	if (original->table != NULL)
	{
		document->table = piece_table_copy(original->table);
		document->base = original->base;
		document->base_crc = original->base_crc;
	}
	else
	{
		document->table = piece_table_create(original->source.size);
		document->base = *pointer;
		document->base_crc =
			node_trailer(original->root, original->root_size)->crc;
	}
	open_base(document);
	document_close(original);
	return document;
}

/*
 * Change a document of one's own: what was seen of it before is void.
 */
void
document_splice(Document *document, uint32 offset, uint32 remove,
				const char *bytes, uint32 insert)
{
	piece_table_splice(document->table, offset, remove, bytes, insert);
	document->source.size = document->table->size;
	document->gathered_count = 0;
	document->changed = true;
}

/*
 * Put another value on the same rope behind a document of one's own.  False
 * when it is on another one, or its parts are in another order.
 */
bool
document_append(Document *document, const TreePointer *pointer)
{
	Document   *other = document_open(pointer);
	PieceTable *table = other->table;
	const TreePointer *base = table == NULL ? pointer : &other->base;
	bool		ok = false;

	if (base->toastrelid == document->base.toastrelid &&
		base->address == document->base.address)
	{
		if (table == NULL)
			table = piece_table_create(other->source.size);
		ok = piece_table_append(document->table, table);
	}
	document_close(other);
	document->source.size = document->table->size;
	document->changed = document->changed || ok;
	return ok;
}

/* Has a document of one's own been changed? */
bool
document_has_changed(const Document *document)
{
	return document->changed;
}

/* A document of one's own has got the prefix of the stored form. */
void
document_set_form(Document *document)
{
	document->plain = false;
}

/* What a document of one's own has become, as a datum. */
Datum
document_edit(Document *document, uint32 flat_size)
{
	Edit	   *edit = palloc0(sizeof(Edit));

	edit->base = document->base;
	edit->base_crc = document->base_crc;
	edit->table = document->table;
	edit->kind = document->plain ? NODE_KIND_ROPE : NODE_KIND_JSON;
	return edit_register(edit, &document->pointer, flat_size);
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
	if (!document_source_read(&document->source, offset, length, target))
		document_raise(document);
}

/* Raise the problem that was met last. */
void
document_raise(Document *document)
{
	ChunkStore *store = document->rope != NULL ? document->rope->store :
		document->store;

	if (document->source.problem != NULL)
	{
		ItemPointerData tid;

		ItemPointerSetInvalid(&tid);
		if (!address_is_in_memory(store->value))
			chunk_store_find(store, store->value, &tid);
		chunk_store_problem(store, &tid, document->source.problem);
		document->source.problem = NULL;
	}
	chunk_store_raise(store);
}

/* Documents that an error has left open are closed with their transaction. */
static void
forget_uses(void)
{
	for (int i = 0; i < DOCUMENTS; i++)
	{
		documents[i].uses = 0;
		documents[i].rope = NULL;
	}
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
	RegisterXactCallback(at_xact_end, NULL);
	RegisterSubXactCallback(at_subxact_end, NULL);
}
