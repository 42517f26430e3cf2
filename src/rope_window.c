/*-------------------------------------------------------------------------
 *
 * rope_window.c
 *	  Keeping parts of an old piece as windows on its frame.
 *
 * Shared by those who find what of an old rope a new value can keep: by
 * comparing (rope_diff.c), or since they were told (rope_splice.c).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "codec_ids.h"
#include "rope_build.h"

/*
 * Keep windows on a piece of an old node only if, with the other windows on
 * the same frame, they show at least half of it: a value never takes much
 * more than twice the space that it needs.
 */
bool
rope_window_worth(const void *node, const Piece *piece,
				  const RopeWindow *windows, int count)
{
	uint64		shown = 0;
	PieceCursor cursor;
	Piece		other;

	for (int i = 0; i < count; i++)
		shown += windows[i].size;
	node_pieces_begin(&cursor, node);
	while (node_pieces_next(&cursor, &other))
	{
		if (other.place != piece->place && piece_same_frame(&other, piece))
			shown += other.head.size;
	}
	return shown * 2 >= piece->head.frame_size;
}

/*
 * Add windows on an old piece, one or several of which show part of it.
 * Inline bytes are cut to what is shown if they are plain, else moved out
 * when more than one window needs them.  Returns the last window that the
 * builder took; -1 if it took none.
 */
int
rope_window_add(RopeBuilder *builder, const Piece *piece,
				const RopeWindow *windows, int count)
{
	Piece		shared = *piece;
	bool		plain = piece->head.refs == 0 &&
		piece->head.method == CODEC_NONE;
	Ref			refs[UINT8_MAX + 1];
	int			last = -1;

	if (!plain && count > 1 && piece->head.inline_size > 0)
	{
		if (piece->head.refs >= builder->limits.max_refs)
			return last;
		rope_frame_move_out(builder, &shared, refs);
	}
	for (int i = 0; i < count; i++)
	{
		Piece		window = shared;

		window.head.skip += windows[i].skip;
		window.head.size = windows[i].size;
		if (plain)
		{
			window.bytes += window.head.skip;
			window.head.inline_size = window.head.size;
			window.head.frame_size = window.head.size;
			window.head.skip = 0;
		}
		if (rope_builder_window(builder, &window, windows[i].offset))
			last = i;
	}
	return last;
}
