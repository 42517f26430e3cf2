/*-------------------------------------------------------------------------
 *
 * json_patch.c
 *	  Splices of a stored form that are to be made together.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "json_patch.h"

/* Append a patch, with a copy of its bytes. */
void
json_patch_add(PatchList *list, uint32 offset, uint32 remove,
			   const char *bytes, uint32 insert)
{
	Patch	   *patch = MemoryContextAllocHuge(CurrentMemoryContext,
											   sizeof(Patch) + insert);
	char	   *copy = (char *) (patch + 1);

	if (insert > 0)
		memcpy(copy, bytes, insert);
	patch->next = NULL;
	patch->offset = offset;
	patch->remove = remove;
	patch->insert = insert;
	patch->bytes = copy;
	if (list->last == NULL)
		list->first = patch;
	else
		list->last->next = patch;
	list->last = patch;
}

/* Move the patches of another list to the end of one. */
void
json_patch_append(PatchList *list, const PatchList *more)
{
	if (more->first == NULL)
		return;
	if (list->last == NULL)
		list->first = more->first;
	else
		list->last->next = more->first;
	list->last = more->last;
}

/* Append patches for the differences between bytes of equal size. */
static void
patch_differences(PatchList *list, uint32 offset, const char *old,
				  const char *bytes, uint32 size)
{
	uint32		at = 0;

	while (at < size)
	{
		uint32		start;
		uint32		end;		/* of what differs */

		if (old[at] == bytes[at])
		{
			at++;
			continue;
		}
		start = at;
		for (end = ++at; at < size && at - end < PATCH_GAP; at++)
		{
			if (old[at] != bytes[at])
				end = at + 1;
		}
		json_patch_add(list, offset + start, end - start, bytes + start,
					   end - start);
	}
}

/* Append patches that make bytes of the old ones. */
void
json_patch_change(PatchList *list, uint32 offset, const char *old,
				  uint32 old_size, const char *bytes, uint32 size)
{
	uint32		shorter = Min(old_size, size);
	uint32		front = 0;
	uint32		back = 0;

	if (old_size == size)
	{
		patch_differences(list, offset, old, bytes, size);
		return;
	}
	while (front < shorter && old[front] == bytes[front])
		front++;
	while (back < shorter - front &&
		   old[old_size - back - 1] == bytes[size - back - 1])
		back++;
	json_patch_add(list, offset + front, old_size - front - back,
				   bytes + front, size - front - back);
}

/* Change the document; the list is void afterwards. */
void
json_patch_apply(PatchList *list, Document *document)
{
	Patch	   *reversed = NULL;

	while (list->first != NULL)
	{
		Patch	   *patch = list->first;

		list->first = patch->next;
		patch->next = reversed;
		reversed = patch;
	}
	for (Patch *patch = reversed; patch != NULL; patch = patch->next)
		document_splice(document, patch->offset, patch->remove,
						patch->bytes, patch->insert);
	list->last = NULL;
}

/*
 * Start to make a head of the given size of the one with old_size bytes at
 * offset.
 */
void
json_rewrite_begin(HeadRewrite *rewrite, PatchList *patches, uint32 offset,
				   const char *old, uint32 old_size, uint32 size)
{
	memset(rewrite, 0, sizeof(HeadRewrite));
	rewrite->patches = patches;
	rewrite->offset = offset;
	rewrite->old = old;
	rewrite->old_size = old_size;
	rewrite->size = size;
	rewrite->head = MemoryContextAllocHuge(CurrentMemoryContext, size);
}

/* Add the pending difference to the patches. */
void
json_rewrite_flush(HeadRewrite *rewrite)
{
	if (!rewrite->pending)
		return;
	rewrite->pending = false;
	json_patch_change(rewrite->patches,
					  rewrite->offset + rewrite->pending_old,
					  rewrite->old + rewrite->pending_old,
					  rewrite->at - rewrite->kept - rewrite->pending_old,
					  rewrite->head + rewrite->pending_new,
					  rewrite->end - rewrite->kept - rewrite->pending_new);
}

void
json_rewrite_overflow(void)
{
	elog(ERROR, "head of a document has another size than measured");
}

/* All of the new head must be there. */
void
json_rewrite_end(HeadRewrite *rewrite)
{
	json_rewrite_flush(rewrite);
	if (rewrite->at != rewrite->old_size || rewrite->end != rewrite->size)
		json_rewrite_overflow();
}
