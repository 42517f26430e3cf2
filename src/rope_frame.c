/*-------------------------------------------------------------------------
 *
 * rope_frame.c
 *	  Cutting fresh bytes into frames and storing them.
 *
 * Random access wants small frames, compression wants large ones: see
 * FRAME_NODES in settings.c for the size that was chosen.
 *
 * Where a value goes on after the frame, the frame is cut so that its
 * stored form fills pages: a full DATA node has a page alone, four smaller
 * ones share a page.  What is left over at the end of a value goes to
 * smaller nodes, some bytes into the branch itself where there is room.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "codec.h"
#include "rope_build.h"

/*
 * Values that compress better than this get longer frames, since theirs would
 * take less than a node.  lz4 reaches 255 to 1 at best: its longest frame
 * that fits in one node is 508 kB.
 */
#define HIGH_RATIO	64.0
#define HIGH_FRAME(base) ((base) / 4 * 11)

/* A frame that was cut from the fresh bytes. */
typedef struct Frame
{
	uint32		size;			/* bytes of the value */
	const char *stored;
	Size		stored_size;
	int			method;
} Frame;

/* Longest run of bytes that is offered to the compressor at once. */
static Size
longest_frame(RopeBuilder *builder)
{
	Size		base = builder->limits.frame_size;

	return builder->ratio > HIGH_RATIO ? HIGH_FRAME(base) : base + base / 4;
}

/*
 * Use what the policy's attempt to keep the value in the row has compressed,
 * if the whole value is one frame; false if not.
 */
static bool
use_packed(RopeBuilder *builder, Size size, Frame *frame)
{
	const FlatValue *flat = &builder->flat;

	if (flat->packed == NULL || size != flat->size ||
		size > builder->limits.frame_size ||
		flat->packed_codec != builder->write->codec ||
		flat->packed_size > size - size / 64)
		return false;
	frame->size = size;
	frame->stored = flat->packed;
	frame->stored_size = flat->packed_size;
	frame->method = flat->packed_codec;
	return true;
}

/*
 * How many bytes the stored form of a frame that the value goes on after
 * should take, judging by the ratio of the one before it.
 */
static Size
target_size(RopeBuilder *builder)
{
	RopeLimits *limits = &builder->limits;
	Size		expected = limits->frame_size / builder->ratio;
	Size		longest = longest_frame(builder) / builder->ratio;

	if (longest >= limits->full_payload)
		return Max(1, Min(expected / limits->full_payload,
						  limits->max_refs)) * limits->full_payload;
	if (longest >= limits->node_payload)
		return Min(longest / limits->node_payload,
				   limits->max_refs) * limits->node_payload;
	return limits->node_payload;
}

/* Compress a frame from the front of data; false if it does not pay. */
static bool
cut_compressed(RopeBuilder *builder, const char *data, Size size,
			   Frame *frame)
{
	RopeLimits *limits = &builder->limits;
	int			codec = builder->write->codec;
	Size		taken = Min(size, longest_frame(builder));
	Size		capacity = codec_bound(codec, taken);

	if (codec == CODEC_NONE)
		return false;
	if (use_packed(builder, size, frame))
		return true;
	if (builder->packed_capacity < capacity)
	{
		if (builder->packed)
			pfree(builder->packed);
		builder->packed = MemoryContextAlloc(builder->context, capacity);
		builder->packed_capacity = capacity;
	}
	if (size > limits->frame_size)
		capacity = target_size(builder);
	frame->stored_size = codec_compress(codec, data, &taken, builder->packed,
										capacity);
	if (frame->stored_size == 0)
		return false;
	builder->ratio = Max(1.0, (double) taken / frame->stored_size);
	frame->size = taken;
	frame->stored = builder->packed;
	frame->method = codec;
	return true;
}

/* A frame of plain bytes from the front of data. */
static void
cut_plain(RopeBuilder *builder, const char *data, Size size, Frame *frame)
{
	RopeLimits *limits = &builder->limits;

	if (size > limits->frame_size)
		size = limits->frame_size -
			limits->frame_size % limits->full_payload;
	frame->size = size;
	frame->stored = data;
	frame->stored_size = size;
	frame->method = CODEC_NONE;
}

/* Store the DATA nodes with the sizes given; sets refs. */
static void
put_data(RopeBuilder *builder, const char *data, const Size *sizes,
		 int count, Ref *refs)
{
	ItemPointerData tids[CHUNK_STORE_BATCH];
	ChunkDraft *drafts[CHUNK_STORE_BATCH];
	NodeHeader	header = {NODE_FORMAT, NODE_KIND_DATA, 0, 0};

	for (int i = 0; i < count; i++)
	{
		Size		node_size = sizes[i] + sizeof(header);
		char	   *node;

		drafts[i] = chunk_store_draft(node_size);
		node = drafts[i]->node;
		memcpy(node, &header, sizeof(header));
		memcpy(node + sizeof(header), data, sizes[i]);
		data += sizes[i];
		refs[i].size = node_size;
		refs[i].crc = node_crc(node, node_size);
	}
	chunk_store_put(builder->write->store, builder->lineage, drafts, count,
					tids);
	for (int i = 0; i < count; i++)
	{
		refs[i].block = ItemPointerGetBlockNumber(&tids[i]);
		refs[i].offset = ItemPointerGetOffsetNumber(&tids[i]);
		pfree(drafts[i]);
	}
}

/*
 * A document that is one short frame: its root takes as much as it can of
 * the front, where short values stand.  Sets the sizes of the other nodes
 * and returns their number; -1 when it is something else.
 */
static int
plan_document(RopeBuilder *builder, const Frame *frame, Size *sizes)
{
	RopeLimits *limits = &builder->limits;
	Size		left = frame->stored_size;
	int			count = 1;

	if (builder->flat.kind != NODE_KIND_JSON ||
		frame->size < builder->flat.size || left >= limits->full_payload)
		return -1;
	while (left > limits->capacity - PIECE_SIZE(count) +
		   count * limits->node_payload)
		count++;
	if (count >= limits->max_refs)
		return -1;
	left -= Min(left, limits->capacity - PIECE_SIZE(count));
	for (int i = 0; i < count; i++)
	{
		sizes[i] = Min(left, limits->node_payload);
		left -= sizes[i];
	}
	return sizes[0] == 0 ? 0 : count;
}

/*
 * Decide how a frame's stored form is cut: bytes that are kept inline, in
 * front; full nodes, nodes that share pages, a rest.  Sets sizes[] of the
 * nodes and returns their number.
 */
static int
plan_nodes(RopeBuilder *builder, const Frame *frame, bool last, Size *sizes)
{
	RopeLimits *limits = &builder->limits;
	Size		left = frame->stored_size;
	Size		room = limits->capacity -
		Min(limits->capacity, builder->levels[1].bytes);
	int			count = plan_document(builder, frame, sizes);

	if (count >= 0)
		return count;
	count = 0;
	while (left >= limits->full_payload)
	{
		sizes[count++] = limits->full_payload;
		left -= limits->full_payload;
	}
	while (left > limits->node_payload && count < limits->max_refs - 1)
	{
		sizes[count++] = limits->node_payload;
		left -= limits->node_payload;
	}
	if (left == 0 || left <= limits->inline_size / 4 ||
		(count == 0 && left <= limits->inline_size) ||
		(last && left <= limits->node_payload &&
		 PIECE_SIZE(count) + left <= room))
		return count;
	sizes[count++] = left;
	return count;
}

/* Store a frame and add the piece that shows all of it. */
static void
append_frame(RopeBuilder *builder, const Frame *frame, bool last)
{
	Size		sizes[UINT8_MAX] = {0};
	Ref			refs[UINT8_MAX];
	int			count = plan_nodes(builder, frame, last, sizes);
	Size		in_node = frame->stored_size;
	Size		at;
	Piece		piece;

	for (int i = 0; i < count; i++)
		in_node -= sizes[i];
	at = in_node;

	for (int i = 0; i < count; i += CHUNK_STORE_BATCH)
	{
		int			n = Min(CHUNK_STORE_BATCH, count - i);

		put_data(builder, frame->stored + at, sizes + i, n, refs + i);
		for (int j = i; j < i + n; j++)
			at += sizes[j];
	}
	if (count > 0)
		FAILPOINT("chunks_inserted");
	memset(&piece, 0, sizeof(piece));
	piece.head.refs = count;
	piece.head.method = frame->method;
	piece.head.inline_size = in_node;
	piece.head.size = frame->size;
	piece.head.frame_size = frame->size;
	piece.refs = refs;
	piece.bytes = frame->stored;
	rope_builder_stored(builder, &piece);
}

/*
 * Take back short pieces at the end of the builder that a fresh run of size
 * bytes follows, so that many small edits do not end in many small pieces:
 * those kept inline, and stored ones at most twice as long as the run (each
 * byte is then rewritten a logarithmic number of times).  Chunks that this
 * very command has written stay, since it could not delete them again.
 */
static void
take_back(RopeBuilder *builder, uint32 end)
{
	BuildLevel *l = &builder->levels[1];

	while (!builder->joining && l->count > 0)
	{
		BuildPiece *last = &l->pieces[l->count - 1];
		PieceHeader *head = &last->piece.head;
		uint32		run = end - builder->position;

		if (last->joined || head->size + run > builder->limits.frame_size)
			return;
		if (head->refs > 0 && (!last->old || head->size / 2 > run))
			return;
		l->count--;
		l->bytes -= build_piece_size(last);
		builder->position -= head->size;
	}
}

/* Add a frame from the front of size fresh bytes, of which data has enough. */
static void
append_fresh(RopeBuilder *builder, const char *data, Size size)
{
	Frame		frame;

	CHECK_FOR_INTERRUPTS();
	if (!cut_compressed(builder, data, size, &frame))
		cut_plain(builder, data, size, &frame);
	append_frame(builder, &frame,
				 builder->position + frame.size == builder->flat.size);
}

/* As many of size bytes of the new value, from offset on, as a frame takes. */
static const char *
fresh_bytes(RopeBuilder *builder, uint32 offset, Size size)
{
	if (builder->show == NULL)
		return builder->flat.data + offset;
	return builder->show(builder->show_arg, offset,
						 Min(size, longest_frame(builder)));
}

/* Cover the new value, from the builder's position to end, with frames. */
void
rope_frame_append(RopeBuilder *builder, uint32 end)
{
	take_back(builder, end);
	while (builder->position < end)
	{
		Size		size = end - builder->position;

		append_fresh(builder, fresh_bytes(builder, builder->position, size),
					 size);
	}
}

/*
 * Cut frames from a window of the new value, which has size bytes from start
 * on: as many as fill a frame, or, at the end of the value, all.  Returns how
 * far that went; what is behind is to be shown again.
 */
uint32
rope_builder_feed(RopeBuilder *builder, const char *window, uint32 start,
				  uint32 size)
{
	uint32		end = start + size;
	uint32		all = builder->flat.size;

	while (builder->position < end &&
		   (end == all || end - builder->position >= longest_frame(builder)))
		append_fresh(builder, window + (builder->position - start),
					 all - builder->position);
	return builder->position;
}

/*
 * Move the inline bytes of an old frame to a DATA node of their own, so that
 * several windows can show the frame.  The piece, whose number of refs is
 * below the limit, is changed to use refs, which has room for them.
 */
void
rope_frame_move_out(RopeBuilder *builder, Piece *piece, Ref *refs)
{
	Size		size = piece->head.inline_size;
	ItemPointerData tid;

	memcpy(refs + 1, piece->refs, piece->head.refs * sizeof(Ref));
	put_data(builder, piece->bytes, &size, 1, &refs[0]);
	ref_tid(&refs[0], &tid);
	chunk_list_add(&builder->own, &tid, builder->lineage);
	piece->refs = refs;
	piece->head.refs++;
	piece->head.inline_size = 0;
}
