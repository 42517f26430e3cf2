/*-------------------------------------------------------------------------
 *
 * rope_level.c
 *	  The pieces of one level of a tree that wait for their node.
 *
 * Windows on the same frame are joined: they are never split between nodes.
 * The first of them has the Refs of the frame; so has a later one only if a
 * piece with other Refs stands between them (node_format.h).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "rope_level.h"

/* A copy of the piece with refs and bytes of its own, in one allocation. */
static void
copy_piece(MemoryContext context, Piece *target, const Piece *source)
{
	Size		refs_size = source->head.refs * sizeof(Ref);
	char	   *copy = MemoryContextAlloc(context, refs_size +
										  source->head.inline_size + 1);

	target->head = source->head;
	if (refs_size > 0)
		memcpy(copy, source->refs, refs_size);
	if (source->head.inline_size > 0)
		memcpy(copy + refs_size, source->bytes, source->head.inline_size);
	target->place = NULL;
	target->refs = (Ref *) copy;
	target->bytes = copy + refs_size;
}

/* Make room for one piece at index at of a level. */
static BuildPiece *
make_room(BuildLevel *level, MemoryContext context, int at)
{
	if (level->count == level->capacity)
	{
		level->capacity = Max(32, level->capacity * 2);
		if (level->pieces == NULL)
			level->pieces = MemoryContextAlloc(context, level->capacity *
											   sizeof(BuildPiece));
		else
			level->pieces = repalloc(level->pieces, level->capacity *
									 sizeof(BuildPiece));
	}
	memmove(level->pieces + at + 1, level->pieces + at,
			(level->count - at) * sizeof(BuildPiece));
	level->count++;
	return &level->pieces[at];
}

/*
 * If an earlier piece shows the same frame as the one at index at, join all
 * that follow it.
 */
static void
mark_joined(BuildPiece *pieces, int at)
{
	for (int i = at - 1; i >= 0; i--)
	{
		if (piece_same_frame(&pieces[i].piece, &pieces[at].piece))
		{
			while (++i <= at)
				pieces[i].joined = true;
			return;
		}
	}
}

/* Can a window do without refs, behind one that has those of its frame? */
bool
rope_level_can_share(const Piece *earlier, const Piece *piece)
{
	return piece_same_frame(earlier, piece) &&
		earlier->head.inline_size == 0 && piece->head.inline_size == 0 &&
		earlier->head.refs == piece->head.refs &&
		earlier->head.method == piece->head.method &&
		earlier->head.frame_size == piece->head.frame_size;
}

/*
 * Do the refs of the piece at index at stand in the nearest piece before it,
 * in the same node, that has some?
 */
static bool
shares_refs(const BuildPiece *pieces, int at)
{
	for (int i = at - 1; i >= 0 && pieces[i + 1].joined; i--)
	{
		if (pieces[i].piece.head.refs > 0)
			return rope_level_can_share(&pieces[i].piece, &pieces[at].piece);
	}
	return false;
}

/*
 * Insert a piece at index at of a level; what it points to is copied to the
 * context.
 */
void
rope_level_insert(BuildLevel *level, MemoryContext context, int at,
				  const Piece *piece, bool joined, bool old)
{
	BuildPiece *build = make_room(level, context, at);

	copy_piece(context, &build->piece, piece);
	build->joined = joined && at > 0;
	build->old = old;
	mark_joined(level->pieces, at);
	build->shares = shares_refs(level->pieces, at);
	level->bytes += build_piece_size(build);
}

/* Remove the first count pieces of a level. */
void
rope_level_shift(BuildLevel *level, int count)
{
	for (int i = 0; i < count; i++)
	{
		level->bytes -= build_piece_size(&level->pieces[i]);
		pfree(unconstify(Ref *, level->pieces[i].piece.refs));
	}
	level->count -= count;
	memmove(level->pieces, level->pieces + count,
			level->count * sizeof(BuildPiece));
}

/* Take the last piece of a level above 1 if it is an old subtree. */
bool
rope_level_pop_old(BuildLevel *level, Piece *piece)
{
	if (level->count == 0 || !level->pieces[level->count - 1].old)
		return false;
	*piece = level->pieces[--level->count].piece;
	level->bytes -= piece_node_size(&piece->head);
	return true;
}

/*
 * How many of the level's first pieces to write as a node: about target
 * bytes of them, and what is joined stays together.  What comes from a node
 * of an old tree may have been laid out for larger nodes than we write now;
 * together it is never more than NODE_SIZE_MAX.
 */
int
rope_level_node_end(const BuildLevel *level, Size target, Size capacity)
{
	Size		total = 0;
	int			end = 0;

	for (int i = 0; i < level->count; i++)
	{
		Size		size = build_piece_size(&level->pieces[i]);

		if (i > 0 && !level->pieces[i].joined)
		{
			end = i;
			if (total >= target)
				return end;
		}
		if (total + size > capacity && end > 0)
			return end;
		total += size;
	}
	return level->count;
}
