/*-------------------------------------------------------------------------
 *
 * chunk_cache.c
 *	  Copies of pages of TOAST relations that small chunks were read from.
 *
 * A scan of a table with small documents reads several from each page of the
 * TOAST relation, and each of them several times when a query has several
 * expressions.  Once it is seen that pages are read in order, they are copied,
 * so that each costs one buffer access.
 *
 * A copy is used only as long as the active snapshot is the one, by its
 * contents, that it was made under, within one transaction, and this session
 * has not written to a TOAST relation of ours nor rolled anything back.  It has
 * only the chunks that this snapshot sees: they cannot be removed while it
 * lives, so what is found in a copy is what would be found in the page.  All
 * else is looked for in the page: a statement that has waited for a lock goes
 * on with a row that its snapshot does not see, whose chunks may stand where
 * others were when the copy was made.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "storage/bufpage.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "chunk_cache.h"

#define PAGES				4

/* Pages are read in order when they are not farther apart. */
#define NEAR_BLOCKS			4

typedef struct CachedChunk
{
	OffsetNumber offset;
	uint16		at;				/* of the node, in the page */
	uint16		size;
	uint32		chunk_id;
} CachedChunk;

typedef struct CachedPage
{
	Oid			relid;			/* InvalidOid: empty */
	BlockNumber block;
	int			count;
	CachedChunk chunks[MaxHeapTuplesPerPage];
	PGAlignedBlock page;
} CachedPage;

/* What tells one snapshot from another. */
typedef struct SnapshotKey
{
	TransactionId xmin;
	TransactionId xmax;
	uint32		xcnt;
	int32		subxcnt;
	CommandId	curcid;
} SnapshotKey;

static CachedPage *pages;		/* PAGES of them, once one was made */
static int	next_page;
static CachedPage *filling;
static SnapshotKey key;			/* of all pages */

static Oid	last_relid;			/* the page read last */
static BlockNumber last_block;

/* Forget all pages. */
void
chunk_cache_reset(void)
{
	for (int i = 0; pages != NULL && i < PAGES; i++)
		pages[i].relid = InvalidOid;
	last_relid = InvalidOid;
}

/* Is the active snapshot that of the pages?  Forgets them if not. */
static bool
snapshot_is_same(void)
{
	Snapshot	snapshot;
	SnapshotKey now;

	if (!ActiveSnapshotSet())
		return false;
	snapshot = GetActiveSnapshot();
	now.xmin = snapshot->xmin;
	now.xmax = snapshot->xmax;
	now.xcnt = snapshot->xcnt;
	now.subxcnt = snapshot->subxcnt;
	now.curcid = snapshot->curcid;
	if (memcmp(&now, &key, sizeof(key)) != 0)
	{
		chunk_cache_reset();
		key = now;
	}
	return true;
}

/* Look for a chunk in the copies; it lasts until the next reading. */
bool
chunk_cache_get(Oid relid, ItemPointer tid, Chunk *chunk)
{
	BlockNumber block = ItemPointerGetBlockNumberNoCheck(tid);
	OffsetNumber offset = ItemPointerGetOffsetNumberNoCheck(tid);

	if (pages == NULL || !snapshot_is_same())
		return false;
	for (int i = 0; i < PAGES; i++)
	{
		CachedPage *page = &pages[i];

		if (page->relid != relid || page->block != block)
			continue;
		for (int j = 0; j < page->count; j++)
		{
			const CachedChunk *cached = &page->chunks[j];

			if (cached->offset != offset)
				continue;
			chunk->buffer = InvalidBuffer;
			chunk->tid = *tid;
			chunk->chunk_id = cached->chunk_id;
			chunk->node = page->page.data + cached->at;
			chunk->size = cached->size;
			return true;
		}
	}
	return false;
}

/* Is it worth copying a page that is being read? */
bool
chunk_cache_wants(Oid relid, BlockNumber block, Page page)
{
	bool		in_order = relid == last_relid && block >= last_block &&
		block - last_block <= NEAR_BLOCKS;

	if (!snapshot_is_same())
		return false;
	last_relid = relid;
	last_block = block;
	return in_order && PageGetMaxOffsetNumber(page) > 1;
}

/*
 * Copy a page, of which the caller holds a lock.  Its chunks are added by
 * chunk_cache_add().
 */
void
chunk_cache_begin(Oid relid, BlockNumber block, Page page)
{
	if (pages == NULL)
		pages = MemoryContextAllocZero(TopMemoryContext,
									   PAGES * sizeof(CachedPage));
	filling = &pages[next_page];
	next_page = (next_page + 1) % PAGES;
	filling->relid = relid;
	filling->block = block;
	filling->count = 0;
	memcpy(filling->page.data, page, BLCKSZ);
}

/* Add a chunk, which the snapshot sees, of the page that is being copied. */
void
chunk_cache_add(const Chunk *chunk, Page page)
{
	CachedChunk *cached = &filling->chunks[filling->count++];

	cached->offset = ItemPointerGetOffsetNumber(&chunk->tid);
	cached->at = (const char *) chunk->node - (const char *) page;
	cached->size = chunk->size;
	cached->chunk_id = chunk->chunk_id;
}

static void
at_xact_end(XactEvent event, void *arg)
{
	chunk_cache_reset();
}

static void
at_subxact_end(SubXactEvent event, SubTransactionId id,
			   SubTransactionId parent, void *arg)
{
	if (event == SUBXACT_EVENT_ABORT_SUB)
		chunk_cache_reset();
}

static void
at_relcache_inval(Datum arg, Oid relid)
{
	chunk_cache_reset();
}

/* Called once, when the library is loaded. */
void
chunk_cache_init(void)
{
	RegisterXactCallback(at_xact_end, NULL);
	RegisterSubXactCallback(at_subxact_end, NULL);
	CacheRegisterRelcacheCallback(at_relcache_inval, (Datum) 0);
}
