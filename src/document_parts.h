/*-------------------------------------------------------------------------
 *
 * document_parts.h
 *	  What a document is made of, for document.c and document_stream.c.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PG_TOASTER_DOCUMENT_PARTS_H
#define PG_TOASTER_DOCUMENT_PARTS_H

#include "postgres.h"

#include "document.h"
#include "rope_view.h"

/* Bytes that do not stand together, copied. */
typedef struct Gathered
{
	uint32		start;			/* in the stored form */
	uint32		size;
	char	   *buffer;			/* has them behind offset % 4 bytes */
} Gathered;

struct Document
{
	FormSource	source;			/* first, so that it can be cast */
	TreePointer pointer;
	bool		valid;			/* what follows belongs to pointer */
	bool		plain;			/* the flat form */
	int			uses;
	uint64		used;			/* when last, for replacement */
	ChunkStore *store;			/* while open */
	ChunkStore	own_store;
	MemoryContext context;		/* of all below */
	char	   *root;			/* NULL if it was edited in memory */
	Size		root_size;
	RopeView	own_view;
	RopeView   *view;			/* own_view or, in an overlay, the rope's */
	PieceTable *table;			/* NULL: this is no overlay */
	bool		changed;		/* since document_overlay() */
	TreePointer base;			/* the rope that the table refers to */
	uint32		base_crc;		/* of its root */
	Document   *rope;			/* and while it is open */
	Gathered   *gathered;
	int			gathered_count;
	int			gathered_capacity;
};

extern bool document_source_read(FormSource *source, uint32 offset,
								 uint32 length, char *target);
extern void document_set_view(Document *document, const Chunk *root);
extern bool document_take_root(Document *document, const TreePointer *pointer,
							   const Chunk *root);
extern void document_load_edited(Document *document, const Edit *edit);

#endif							/* PG_TOASTER_DOCUMENT_PARTS_H */
