/*-------------------------------------------------------------------------
 *
 * document_stream.c
 *	  Documents that are read once, from front to back.
 *
 * Of such a document one frame at a time is in memory; it is nobody else's,
 * and is not kept.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "codec.h"
#include "document_parts.h"

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

/* Start with a document that is read once, from front to back. */
static void
begin_streaming(Document *document, ChunkStore *store)
{
	memset(document, 0, sizeof(Document));
	document->context = AllocSetContextCreate(CurrentMemoryContext,
											  "toaster document",
											  ALLOCSET_DEFAULT_SIZES);
	document->store = store;
	document->own_view.streaming = true;
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

	begin_streaming(&document, store);
	ok = document_take_root(&document, &pointer, root);
	if (ok)
	{
		document.source.stable = document.table == NULL &&
			is_one_frame(root->node);
		ok = form_decode(&document.source, flat, flat_size);
	}
	if (!ok && document.source.problem != NULL)
	{
		ItemPointerData tid = root->tid;

		chunk_store_problem(store, &tid, document.source.problem);
	}
	MemoryContextDelete(document.context);
	return ok;
}

/* Let it show a value that was edited in memory. */
static void
take_edited(Document *document, const Edit *edit)
{
	Chunk		root;

	document_load_edited(document, edit);
	if (!chunk_store_get_root(document->store, edit->base.address,
							  edit->base.size, &root))
		chunk_store_raise(document->store);
	document_set_view(document, &root);
	chunk_store_release(&root);
}

/*
 * Copy length bytes, from offset on, of the flat form of a value that was
 * edited in memory.  Of a document, all must be asked for, and target must be
 * aligned.
 */
void
document_fetch_edit(const Edit *edit, uint32 offset, uint32 length,
					char *target)
{
	ChunkStore	store;
	Document	document;
	bool		ok;

	chunk_store_open(&store, edit->base.toastrelid, AccessShareLock);
	begin_streaming(&document, &store);
	take_edited(&document, edit);
	if (document.plain)
		ok = document_source_read(&document.source, offset, length, target);
	else
		ok = form_decode(&document.source, target, length);
	if (!ok)
		document_raise(&document);
	MemoryContextDelete(document.context);
	chunk_store_close(&store);
}

/*
 * Open what the pointer names, to be read from front to back.  It is to be
 * closed with document_stream_close(); after an error, nothing of it is left.
 */
Document *
document_stream_open(const TreePointer *pointer)
{
	Document   *document = palloc(sizeof(Document));
	Chunk		root;

	begin_streaming(document, NULL);
	document->store = &document->own_store;
	chunk_store_open(document->store, pointer->toastrelid, AccessShareLock);
	document->store->value = pointer->address;
	if (address_is_in_memory(pointer->address))
	{
		take_edited(document, edit_get(pointer->address));
		return document;
	}
	if (!chunk_store_get_root(document->store, pointer->address,
							  pointer->size, &root) ||
		!document_take_root(document, pointer, &root))
		document_raise(document);
	chunk_store_release(&root);
	return document;
}

void
document_stream_close(Document *document)
{
	chunk_store_close(document->store);
	MemoryContextDelete(document->context);
	pfree(document);
}
