/*-------------------------------------------------------------------------
 *
 * tid_set.c
 *	  A set of chunks.
 *
 * A hash table of bitmaps, each for 64 line pointers of one block: 16 bytes
 * an entry, and one entry a block unless its chunks are tiny.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "utils/memutils.h"

#include "tid_set.h"

#define BITMAP_BITS			64
#define BITMAPS_PER_BLOCK	(65536 / BITMAP_BITS)

typedef struct TidSetEntry
{
	uint64		key:56;			/* number of the bitmap: 42 bits are used */
	uint64		status:8;		/* simplehash's own */
	uint64		bitmap;
} TidSetEntry;

#define SH_PREFIX tid_bitmaps
#define SH_ELEMENT_TYPE TidSetEntry
#define SH_KEY_TYPE uint64
#define SH_KEY key
#define SH_HASH_KEY(table, key) \
	(murmurhash32((uint32) (key)) ^ (uint32) ((key) >> 32))
#define SH_EQUAL(table, a, b) ((a) == (b))
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
/* simplehash.h of PostgreSQL 15 shadows a variable of its own */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow=compatible-local"
#include "lib/simplehash.h"
#pragma GCC diagnostic pop

struct TidSet
{
	tid_bitmaps_hash *bitmaps;
};

static uint64
bitmap_key(ItemPointer tid)
{
	return (uint64) ItemPointerGetBlockNumberNoCheck(tid) * BITMAPS_PER_BLOCK +
		ItemPointerGetOffsetNumberNoCheck(tid) / BITMAP_BITS;
}

static uint64
bitmap_bit(ItemPointer tid)
{
	return UINT64CONST(1) <<
		ItemPointerGetOffsetNumberNoCheck(tid) % BITMAP_BITS;
}

/* An empty set in the current memory context. */
TidSet *
tid_set_create(void)
{
	TidSet	   *set = palloc(sizeof(TidSet));

	set->bitmaps = tid_bitmaps_create(CurrentMemoryContext, 1024, NULL);
	return set;
}

void
tid_set_add(TidSet *set, ItemPointer tid)
{
	bool		found;
	TidSetEntry *entry;

	entry = tid_bitmaps_insert(set->bitmaps, bitmap_key(tid), &found);
	if (!found)
		entry->bitmap = 0;
	entry->bitmap |= bitmap_bit(tid);
}

bool
tid_set_contains(TidSet *set, ItemPointer tid)
{
	TidSetEntry *entry = tid_bitmaps_lookup(set->bitmaps, bitmap_key(tid));

	return entry != NULL && (entry->bitmap & bitmap_bit(tid)) != 0;
}
