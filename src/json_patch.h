/*-------------------------------------------------------------------------
 *
 * json_patch.h
 *	  Splices of a stored form that are to be made together.
 *
 * An edit first computes all that it changes, against the stored form as it
 * is, and then changes it: so nothing has happened to the document when an
 * error is raised.  Patches are listed in the order of the stored form and
 * made from the last to the first, which leaves the offsets of those before
 * as they are.  Several may insert at one offset: their bytes are then in the
 * order of the list.
 *
 * A head that changes is written by a HeadRewrite: what is kept, dropped and
 * put of it makes both the new head and the patches, which have only the
 * bytes that differ.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PG_TOASTER_JSON_PATCH_H
#define PG_TOASTER_JSON_PATCH_H

#include "postgres.h"

#include "compat.h"
#include "document.h"

typedef struct Patch
{
	struct Patch *next;
	uint32		offset;			/* in the stored form as it is */
	uint32		remove;
	uint32		insert;
	const char *bytes;			/* to be inserted */
} Patch;

typedef struct PatchList
{
	Patch	   *first;
	Patch	   *last;
} PatchList;

/* A head that is written anew. */
typedef struct HeadRewrite
{
	PatchList  *patches;
	const char *old;			/* the head as it is */
	uint32		old_size;
	uint32		offset;			/* of it, in the stored form */
	uint32		at;				/* bytes of it that are dealt with */
	char	   *head;			/* what takes its place */
	uint32		size;
	uint32		end;			/* bytes of it that are there */
	bool		pending;		/* a difference is not in the patches yet */
	uint32		pending_old;	/* where it starts in the old head */
	uint32		pending_new;	/* and in the new one */
	uint32		kept;			/* bytes that both have behind it */
} HeadRewrite;

/* Between differences at least that many bytes are the same. */
#define PATCH_GAP			4

extern void json_patch_add(PatchList *list, uint32 offset, uint32 remove,
						   const char *bytes, uint32 insert);
extern void json_patch_append(PatchList *list, const PatchList *more);
extern void json_patch_change(PatchList *list, uint32 offset,
							  const char *old, uint32 old_size,
							  const char *bytes, uint32 size);
extern void json_patch_apply(PatchList *list, Document *document);

extern void json_rewrite_begin(HeadRewrite *rewrite, PatchList *patches,
							   uint32 offset, const char *old,
							   uint32 old_size, uint32 size);
extern void json_rewrite_flush(HeadRewrite *rewrite);
pg_noreturn extern void json_rewrite_overflow(void);
extern void json_rewrite_end(HeadRewrite *rewrite);

/* What the old head has next differs from what the new one has. */
static inline void
json_rewrite_differ(HeadRewrite *rewrite)
{
	if (!rewrite->pending)
	{
		rewrite->pending = true;
		rewrite->pending_old = rewrite->at;
		rewrite->pending_new = rewrite->end;
	}
	rewrite->kept = 0;
}

/* The next bytes of the old head stay. */
static inline void
json_rewrite_keep(HeadRewrite *rewrite, uint32 size)
{
	if (size > rewrite->old_size - rewrite->at ||
		size > rewrite->size - rewrite->end)
		json_rewrite_overflow();
	memcpy(rewrite->head + rewrite->end, rewrite->old + rewrite->at, size);
	rewrite->at += size;
	rewrite->end += size;
	rewrite->kept += size;
	if (rewrite->pending && rewrite->kept >= PATCH_GAP)
		json_rewrite_flush(rewrite);
}

/* They go. */
static inline void
json_rewrite_drop(HeadRewrite *rewrite, uint32 size)
{
	if (size == 0)
		return;
	if (size > rewrite->old_size - rewrite->at)
		json_rewrite_overflow();
	json_rewrite_differ(rewrite);
	rewrite->at += size;
}

/* New ones come. */
static inline void
json_rewrite_put(HeadRewrite *rewrite, const void *bytes, uint32 size)
{
	if (size == 0)
		return;
	if (size > rewrite->size - rewrite->end)
		json_rewrite_overflow();
	json_rewrite_differ(rewrite);
	memcpy(rewrite->head + rewrite->end, bytes, size);
	rewrite->end += size;
}

static inline void
json_rewrite_put_zeros(HeadRewrite *rewrite, uint32 size)
{
	if (size == 0)
		return;
	if (size > rewrite->size - rewrite->end)
		json_rewrite_overflow();
	json_rewrite_differ(rewrite);
	memset(rewrite->head + rewrite->end, 0, size);
	rewrite->end += size;
}

/* The next bytes are replaced by as many. */
static inline void
json_rewrite_set(HeadRewrite *rewrite, const void *bytes, uint32 size)
{
	if (size <= rewrite->old_size - rewrite->at &&
		memcmp(rewrite->old + rewrite->at, bytes, size) == 0)
		json_rewrite_keep(rewrite, size);
	else
	{
		json_rewrite_drop(rewrite, size);
		json_rewrite_put(rewrite, bytes, size);
	}
}

#endif							/* PG_TOASTER_JSON_PATCH_H */
