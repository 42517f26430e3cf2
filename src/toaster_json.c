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

#include "codec.h"
#include "json_tree.h"
#include "rope_build.h"
#include "settings.h"

/* Is the type jsonb, or a domain over it? */
static bool
json_validate(Oid type)
{
	return type == JSONBOID ||
		(OidIsValid(type) && type >= FirstNormalObjectId &&
		 getBaseType(type) == JSONBOID);
}

/* The stored forms of longer new documents are not kept in memory whole. */
#define STREAMED_SIZE		(1024 * 1024)

/* Bytes that the window of a streamed form has before frames are cut. */
#define WINDOW_SIZE			(512 * 1024)

/* Bytes that are compressed to judge a document by. */
#define SAMPLE_SIZE			4096

/* A sink whose window a rope is built from. */
typedef struct RopeSink
{
	FormSink	sink;			/* first, so that it can be cast */
	RopeBuilder *builder;
	uint32		start;			/* of the window, in the stored form */
} RopeSink;

/* Decide how a document is stored; NULL: in its flat form. */
static FormLayout *
lay_out(const FlatValue *flat, FormLimits *limits)
{
	const char *data = flat->data;

	if (flat->size <= sizeof(JsonStub))
		return NULL;
	if ((uintptr_t) data % sizeof(uint32) != 0)
	{
		char	   *copy = MemoryContextAllocHuge(CurrentMemoryContext,
												  flat->size);

		memcpy(copy, data, flat->size);
		data = copy;
	}
	form_limits(limits, settings_node_size);
	return form_layout(data, flat->size, limits);
}

static void
keep_all(FormSink *sink)
{
}

/* Make the stored form of a document, in one piece. */
static FlatValue *
make_form(const FlatValue *flat, const FormLayout *layout)
{
	FlatValue  *form = palloc(sizeof(FlatValue));
	FormSink	sink;

	initStringInfo(&sink.window);
	enlargeStringInfo(&sink.window, form_layout_size(layout));
	sink.more = keep_all;
	form_write(layout, &sink);
	flat_value_init(form, sink.window.data, sink.window.len);
	form->kind = NODE_KIND_JSON;
	form->flat_size = flat->size;
	return form;
}

/* The stored form of a document; the value itself where that is its form. */
static FlatValue *
stored_form(FlatValue *flat)
{
	FormLimits	limits;
	FormLayout *layout;

	if (!flat->form_known)
	{
		flat->form_known = true;
		layout = lay_out(flat, &limits);
		if (layout != NULL)
		{
			flat->form = make_form(flat, layout);
			form_layout_free(layout);
		}
	}
	return flat->form != NULL ? flat->form : flat;
}

/* Let the rope take what it can of the window. */
static void
feed_rope(RopeSink *rope)
{
	StringInfo	window = &rope->sink.window;
	uint32		taken;

	taken = rope_builder_feed(rope->builder, window->data, rope->start,
							  window->len) - rope->start;
	memmove(window->data, window->data + taken, window->len - taken);
	window->len -= taken;
	rope->start += taken;
}

static void
window_grows(FormSink *sink)
{
	if (sink->window.len >= WINDOW_SIZE)
		feed_rope((RopeSink *) sink);
}

static void
write_document(RopeBuilder *builder, void *arg)
{
	RopeSink	rope;

	initStringInfo(&rope.sink.window);
	enlargeStringInfo(&rope.sink.window, WINDOW_SIZE + WINDOW_SIZE / 4);
	rope.sink.more = window_grows;
	rope.builder = builder;
	rope.start = 0;
	form_write((const FormLayout *) arg, &rope.sink);
	feed_rope(&rope);
	pfree(rope.sink.window.data);
}

/* Will the flat form be far above limit bytes, judging by its front? */
static bool
seems_long(const FlatValue *flat, int codec, Size limit)
{
	Size		sample = Min(flat->size, SAMPLE_SIZE);
	char	   *packed = palloc(codec_bound(codec, sample));
	Size		stored = codec_compress(codec, flat->data, &sample, packed,
										codec_bound(codec, sample));

	pfree(packed);
	return stored == 0 || (double) stored / sample * flat->size > 2.0 * limit;
}

/* Compress the stored form, if it is one frame, for json_save() to use. */
static bool
json_form_exceeds(FlatValue *flat, int codec, Size limit)
{
	RopeLimits	limits;
	FlatValue  *form;
	Size		taken;
	char	   *packed;

	settings_limits(&limits);
	if (codec == CODEC_NONE || flat->size > limits.frame_size / 2 ||
		!seems_long(flat, codec, limit))
		return false;
	form = stored_form(flat);
	if (form == flat || form->size > limits.frame_size)
		return false;
	taken = form->size;
	packed = palloc(codec_bound(codec, taken));
	form->packed_size = codec_compress(codec, form->data, &taken, packed,
									   codec_bound(codec, taken));
	if (form->packed_size == 0)
	{
		pfree(packed);
		return form->size > limit;
	}
	form->packed = packed;
	form->packed_codec = codec;
	return form->packed_size > limit;
}

static void
json_save(TreeWrite *write, FlatValue *flat, TreePointer *result)
{
	FormLimits	limits;
	FormLayout *layout;
	FlatValue	form;

	if (flat->form_known || flat->size < STREAMED_SIZE)
	{
		rope_save(write, stored_form(flat), result);
		return;
	}
	layout = lay_out(flat, &limits);
	if (layout == NULL)
	{
		rope_save(write, flat, result);
		return;
	}
	flat_value_init(&form, NULL, form_layout_size(layout));
	form.kind = NODE_KIND_JSON;
	form.flat_size = flat->size;
	rope_save_stream(write, &form, write_document, layout, result);
	form_layout_free(layout);
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
	char	   *old;

	*result = false;
	if (form->kind == NODE_KIND_JSON &&
		!rope_equal(store, root, form, result))
		return false;
	if (*result || !node_is_edited(root->node))
		return true;

	/* equal documents need not have equal forms */
	old = MemoryContextAllocHuge(CurrentMemoryContext, flat->size);
	if (!document_decode(store, root, old, flat->size))
		return false;
	*result = memcmp(old, flat->data, flat->size) == 0;
	pfree(old);
	return true;
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
	.form_exceeds = json_form_exceeds,
	.save = json_save,
	.update = json_update,
	.equal = json_equal,
	.fetch_slice = json_fetch_slice,
	.copy = rope_copy,
	.walk = rope_walk,
	.methods = NULL
};
