/*-------------------------------------------------------------------------
 *
 * toaster_json.c
 *	  The toaster for jsonb: a rope of the stored form of a document.
 *
 * What json_form.h describes is stored by the rope toaster, with which this
 * one shares all nodes but the kind of the root.  Documents that gain nothing
 * (short ones, scalars) are stored as ropes of their flat form.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "json_tree.h"
#include "settings.h"

/* Is the type jsonb, or a domain over it? */
static bool
json_validate(Oid type)
{
	return type == JSONBOID ||
		(OidIsValid(type) && type >= FirstNormalObjectId &&
		 getBaseType(type) == JSONBOID);
}

/* The stored form of a document; the value itself where that is its form. */
static FlatValue *
stored_form(FlatValue *flat)
{
	FormLimits	limits;
	StringInfoData stored;
	const char *data = flat->data;

	if (flat->form_known)
		return flat->form != NULL ? flat->form : flat;
	flat->form_known = true;
	if (flat->size <= sizeof(JsonStub))
		return flat;
	if ((uintptr_t) data % sizeof(uint32) != 0)
	{
		char	   *copy = MemoryContextAllocHuge(CurrentMemoryContext,
												  flat->size);

		memcpy(copy, data, flat->size);
		data = copy;
	}
	form_limits(&limits, settings_node_size);
	initStringInfo(&stored);
	enlargeStringInfo(&stored, flat->size + flat->size / 32);
	if (!form_encode(data, flat->size, &limits, &stored))
	{
		pfree(stored.data);
		return flat;
	}
	flat->form = palloc(sizeof(FlatValue));
	flat_value_init(flat->form, stored.data, stored.len);
	flat->form->kind = NODE_KIND_JSON;
	flat->form->flat_size = flat->size;
	return flat->form;
}

static void
json_save(TreeWrite *write, FlatValue *flat, TreePointer *result)
{
	rope_save(write, stored_form(flat), result);
}

static void
json_update(TreeWrite *write, const TreePointer *old, FlatValue *flat,
			TreePointer *result)
{
	rope_update(write, old, stored_form(flat), result);
}

static bool
json_equal(ChunkStore *store, const Chunk *root, FlatValue *flat,
		   bool *result)
{
	FlatValue  *form = stored_form(flat);

	*result = false;
	return form->kind != NODE_KIND_JSON ||
		rope_equal(store, root, form, result);
}

/* Slices of a document are rare: jsonb has no use for them. */
static bool
json_fetch_slice(ChunkStore *store, const Chunk *root, uint32 offset,
				 uint32 length, char *target)
{
	uint32		size = node_trailer(root->node, root->size)->flat_size;
	char	   *flat;
	bool		ok;

	if (offset == 0 && length == size &&
		(uintptr_t) target % sizeof(uint32) == 0)
		return document_decode(store, root, target, size);
	flat = MemoryContextAllocHuge(CurrentMemoryContext, size);
	ok = document_decode(store, root, flat, size);
	if (ok)
		memcpy(target, flat + offset, length);
	pfree(flat);
	return ok;
}

const Toaster json_toaster = {
	.kind = NODE_KIND_JSON,
	.name = "json",
	.validate = json_validate,
	.save = json_save,
	.update = json_update,
	.equal = json_equal,
	.fetch_slice = json_fetch_slice,
	.copy = rope_copy,
	.walk = rope_walk,
	.methods = NULL
};
