/*-------------------------------------------------------------------------
 *
 * anchors.c
 *	  Finding where bytes of an old value occur in a new one.
 *
 * Places in the new value are sampled by content: a rolling hash of the last
 * 32 bytes decides whether a place is an anchor, so that an old value has
 * the same anchors wherever its bytes have moved to.  The anchors of the new
 * value stand in a hash table; the old value's are looked up in it and a hit
 * is extended, byte by byte, to both sides.
 *
 * The hash is a gear hash (Xia et al., "Ddelta", 2014); sampling by content
 * is that of Manber, "Finding similar files in a large file system" (1994).
 *
 * The table is bounded: anchors are spaced farther apart in larger values.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/pg_prng.h"
#include "port/pg_bitutils.h"

#include "anchors.h"

#define ANCHOR_WINDOW	32		/* bytes that decide, bits of the hash */
#define MAX_ANCHORS		16384	/* expected; the table has twice as many */
#define MAX_PROBES		16		/* equal or colliding anchors kept */

/* Bytes that memcmp() compares faster than a loop. */
#define LONG_RUN	512

/* A jump ahead of n bytes must be paid for by a match of n / 64. */
#define MAX_JUMP_RATIO	64

typedef struct Anchor
{
	uint32		hash;
	uint32		end;			/* offset behind the window; 0: unused */
} Anchor;

struct Anchors
{
	FlatValue	flat;
	uint32		mask;			/* anchors have these bits of the hash 0 */
	uint32		slots;			/* of the table, a power of two */
	Anchor	   *table;
};

static uint32 gear[256];
static bool gear_ready = false;

/* Fill the table of random numbers that the hash adds up. */
static void
gear_init(void)
{
	pg_prng_state state;

	pg_prng_seed(&state, UINT64CONST(0x746f6173746572));
	for (int i = 0; i < 256; i++)
		gear[i] = pg_prng_uint32(&state);
	gear_ready = true;
}

static inline uint32
roll(uint32 hash, char byte)
{
	return (hash << 1) + gear[(unsigned char) byte];
}

/* Where a hash's probes start; the bits of the mask are the same in all. */
static inline uint32
first_slot(const Anchors *anchors, uint32 hash)
{
	return (hash * 0x9E3779B1U) >> (32 - pg_leftmost_one_pos32(anchors->slots));
}

static void
insert_anchor(Anchors *anchors, uint32 hash, uint32 end)
{
	uint32		slot = first_slot(anchors, hash);

	for (int i = 0; i < MAX_PROBES; i++)
	{
		Anchor	   *anchor = &anchors->table[(slot + i) &
											 (anchors->slots - 1)];

		if (anchor->end == 0)
		{
			anchor->hash = hash;
			anchor->end = end;
			return;
		}
	}
}

/*
 * Sample flat from start on, about every spacing bytes (a power of two), or
 * less densely if the table would grow too large.  The result, at most 256
 * kB, is in the current memory context.
 */
Anchors *
anchors_build(const FlatValue *flat, uint32 start, uint32 spacing)
{
	Anchors    *anchors = palloc(sizeof(Anchors));
	uint32		size = flat->size - start;
	uint32		hash = 0;
	int			bits;

	if (!gear_ready)
		gear_init();
	while (size / spacing > MAX_ANCHORS)
		spacing *= 2;
	bits = pg_leftmost_one_pos32(spacing);
	anchors->flat = *flat;
	anchors->mask = bits == 0 ? 0 : PG_UINT32_MAX << (32 - bits);
	anchors->slots = pg_nextpower2_32(Max(64, 2 * (size / spacing)));
	anchors->table = palloc0(anchors->slots * sizeof(Anchor));
	for (uint32 i = start; i < flat->size; i++)
	{
		hash = roll(hash, flat->data[i]);
		if ((hash & anchors->mask) == 0 && i - start >= ANCHOR_WINDOW - 1)
			insert_anchor(anchors, hash, i + 1);
	}
	return anchors;
}

/* How many of size bytes are equal from the front. */
uint32
common_prefix(const char *a, const char *b, uint32 size)
{
	uint32		n = 0;

	while (n + LONG_RUN <= size && memcmp(a + n, b + n, LONG_RUN) == 0)
		n += LONG_RUN;
	while (n + sizeof(uint64) <= size)
	{
		uint64		x;
		uint64		y;

		memcpy(&x, a + n, sizeof(x));
		memcpy(&y, b + n, sizeof(y));
		if (x != y)
			break;
		n += sizeof(uint64);
	}
	while (n < size && a[n] == b[n])
		n++;
	return n;
}

/* How many of size bytes are equal from the back. */
uint32
common_suffix(const char *a, const char *b, uint32 size)
{
	uint32		n = 0;

	a += size;
	b += size;
	while (n + LONG_RUN <= size &&
		   memcmp(a - n - LONG_RUN, b - n - LONG_RUN, LONG_RUN) == 0)
		n += LONG_RUN;
	while (n + sizeof(uint64) <= size)
	{
		uint64		x;
		uint64		y;

		memcpy(&x, a - n - sizeof(x), sizeof(x));
		memcpy(&y, b - n - sizeof(y), sizeof(y));
		if (x != y)
			break;
		n += sizeof(uint64);
	}
	while (n < size && a[-1 - (int64) n] == b[-1 - (int64) n])
		n++;
	return n;
}

/* The nearest place of the anchor that is not before new_start. */
static uint32
nearest_place(const Anchors *anchors, uint32 hash, uint32 new_start)
{
	uint32		slot = first_slot(anchors, hash);
	uint32		best = 0;

	for (int i = 0; i < MAX_PROBES; i++)
	{
		const Anchor *anchor = &anchors->table[(slot + i) &
											   (anchors->slots - 1)];

		if (anchor->end == 0)
			break;
		if (anchor->hash == hash && anchor->end > new_start &&
			(best == 0 || anchor->end < best))
			best = anchor->end;
	}
	return best;
}

/* Extend a hit, whose ends are given, to both sides; false if too short. */
static bool
extend(const Anchors *anchors, const char *old, uint32 old_size,
	   uint32 old_start, uint32 new_start, uint32 old_end, uint32 new_end,
	   AnchorMatch *match)
{
	const char *new = anchors->flat.data;
	uint32		back = 0;

	while (old_end - back > old_start && new_end - back > new_start &&
		   old[old_end - back - 1] == new[new_end - back - 1])
		back++;
	match->old_offset = old_end - back;
	match->new_offset = new_end - back;
	match->size = back + common_prefix(old + old_end, new + new_end,
									   Min(old_size - old_end,
										   anchors->flat.size - new_end));
	return match->size >= MIN_MATCH &&
		match->size >= (match->new_offset - new_start) / MAX_JUMP_RATIO;
}

/*
 * Find the next run of old's old_size bytes, from old_start on, that occurs
 * in the new value, at new_start or later.  Returns false when there is none.
 */
bool
anchors_match(const Anchors *anchors, const char *old, uint32 old_size,
			  uint32 old_start, uint32 new_start, AnchorMatch *match)
{
	uint32		hash = 0;

	for (uint32 i = old_start; i < old_size; i++)
	{
		uint32		place;

		hash = roll(hash, old[i]);
		if ((hash & anchors->mask) != 0 ||
			i - old_start < ANCHOR_WINDOW - 1)
			continue;
		place = nearest_place(anchors, hash, new_start);
		if (place != 0 &&
			extend(anchors, old, old_size, old_start, new_start, i + 1,
				   place, match))
			return true;
	}
	return false;
}
