/*-------------------------------------------------------------------------
 *
 * json_lazy.c
 *	  A part of a document as a datum that is read when it is needed.
 *
 * A large container that "->" returns is a read-only expanded object
 * (utils/expandeddatum.h) that knows the document and the place in it.  Our
 * functions go on from there; whoever else looks at the datum flattens it by
 * way of the methods below.  It lives in the memory of the expression, as any
 * other result does; only read-only pointers to it are handed out, so that
 * nobody tries to move or to free it.
 *
 * It holds no chunk and no page: the document's row keeps the chunks alive
 * for as long as a TOAST pointer to it would be good.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/expandeddatum.h"
#include "utils/memutils.h"

#include "json_lazy.h"

typedef struct LazyJson
{
	ExpandedObjectHeader header;	/* first, as expandeddatum.h demands */
	TreePointer pointer;
	JsonItem	item;			/* its document is not set */
} LazyJson;

static Size
lazy_flat_size(ExpandedObjectHeader *header)
{
	return VARHDRSZ + ((LazyJson *) header)->item.flat_size;
}

/*
 * Works in the memory of the object: the caller's may be a context in which
 * nothing can be freed, as a sort's is from PostgreSQL 17 on.
 */
static void
lazy_flatten(ExpandedObjectHeader *header, void *result, Size size)
{
	LazyJson   *lazy = (LazyJson *) header;
	JsonItem	item = lazy->item;
	char	   *flat = (char *) result + VARHDRSZ;
	char	   *aligned = flat;
	MemoryContext old_context = MemoryContextSwitchTo(header->eoh_context);

	Assert(size == VARHDRSZ + item.flat_size);
	if ((uintptr_t) flat % sizeof(uint32) != 0)
		aligned = MemoryContextAllocHuge(CurrentMemoryContext, item.flat_size);
	item.document = document_open(&lazy->pointer);
	json_item_read(&item, aligned);
	document_close(item.document);
	if (aligned != flat)
	{
		memcpy(flat, aligned, item.flat_size);
		pfree(aligned);
	}
	SET_VARSIZE(result, size);
	MemoryContextSwitchTo(old_context);
}

static const ExpandedObjectMethods lazy_methods = {
	.get_flat_size = lazy_flat_size,
	.flatten_into = lazy_flatten
};

/* A datum that stands for a stored container of an open document. */
Datum
json_lazy_make(const JsonItem *item)
{
	LazyJson   *lazy = palloc(sizeof(LazyJson));

	EOH_init_header(&lazy->header, &lazy_methods, CurrentMemoryContext);
	lazy->pointer = *document_pointer(item->document);
	lazy->item = *item;
	lazy->item.document = NULL;
	return EOHPGetRODatum(&lazy->header);
}

/*
 * Open the document of a datum that json_lazy_make() has made, and set *item
 * to its part; false when it is another datum.
 */
bool
json_lazy_open(Datum datum, JsonItem *item)
{
	struct varlena *value = (struct varlena *) DatumGetPointer(datum);
	LazyJson   *lazy;

	if (!VARATT_IS_EXTERNAL_EXPANDED(value))
		return false;
	lazy = (LazyJson *) DatumGetEOHP(datum);
	if (lazy->header.eoh_methods != &lazy_methods)
		return false;
	*item = lazy->item;
	item->document = document_open(&lazy->pointer);
	return true;
}
