/*-------------------------------------------------------------------------
 *
 * document.h
 *	  Open documents: any bytes of a stored form, read once.
 *
 * A session keeps a few documents with what it has decompressed of them, so
 * that several expressions on one document in one row fetch and decompress
 * nothing twice.  Memory only is kept, never a pin, a lock or a relation.
 *
 * What is kept of a document is valid as long as its root is: at each open
 * the root is fetched again and compared byte for byte with the copy that is
 * kept.  As every node holds the CRC-32C of its children, equal roots have
 * equal trees, whatever has happened to the relation in between (rollback,
 * TRUNCATE, a rewrite); nothing needs to be invalidated.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PG_TOASTER_DOCUMENT_H
#define PG_TOASTER_DOCUMENT_H

#include "postgres.h"

#include "chunk_store.h"
#include "edit.h"
#include "json_form.h"
#include "pointer.h"
#include "rope.h"

typedef struct Document Document;

extern Document *document_open(const TreePointer *pointer);
extern void document_close(Document *document);
extern const TreePointer *document_pointer(const Document *document);
extern FormSource *document_source(Document *document);
extern bool document_is_plain(const Document *document);
extern const char *document_view(Document *document, uint32 offset,
								 uint32 length);
extern void document_read(Document *document, uint32 offset, uint32 length,
						  char *target);
extern void document_raise(Document *document);

extern Document *document_overlay(const TreePointer *pointer);
extern void document_splice(Document *document, uint32 offset, uint32 remove,
							const char *bytes, uint32 insert);
extern bool document_append(Document *document, const TreePointer *pointer);
extern bool document_has_changed(const Document *document);
extern void document_set_form(Document *document);
extern Datum document_edit(Document *document, uint32 flat_size);

extern Document *document_stream_open(const TreePointer *pointer);
extern void document_stream_close(Document *document);
extern void document_fetch_edit(const Edit *edit, uint32 offset,
								uint32 length, char *target);
extern bool document_decode(ChunkStore *store, const Chunk *root,
							char *flat, uint32 flat_size);
extern void document_init(void);

#endif							/* PG_TOASTER_DOCUMENT_H */
