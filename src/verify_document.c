/*-------------------------------------------------------------------------
 *
 * verify_document.c
 *	  Checking that the stored form of a document can be read.
 *
 * Every chunk was found to have the bytes that were written.  This is about
 * what was written: heads, directories and sizes that agree with one another.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "document.h"
#include "guard.h"
#include "verify.h"

typedef struct DocumentCheck
{
	Verify	   *verify;
	const NodeCopy *root;
	bool		ok;
} DocumentCheck;

static void
decode(void *arg)
{
	DocumentCheck *check = arg;
	const NodeCopy *root = check->root;
	const RootTrailer *trailer = node_trailer(root->node, root->size);
	Chunk		chunk = {InvalidBuffer, root->tid, trailer->lineage,
	root->node, root->size};
	char	   *flat = MemoryContextAllocHuge(check->verify->work_context,
											  trailer->flat_size);

	check->ok = document_decode(&check->verify->store, &chunk, flat,
								trailer->flat_size);
	pfree(flat);
}

/* Check the document with that root, below which all chunks are sound. */
void
verify_document(Verify *verify, const NodeCopy *root)
{
	DocumentCheck check = {verify, root, false};
	ItemPointerData tid = root->tid;
	const char *error;

	if (((const NodeHeader *) root->node)->kind != NODE_KIND_JSON)
		return;
	error = guard_call(decode, &check);
	if (error != NULL)
		verify_report(verify, &tid, error);
	else if (!check.ok)
		verify_report(verify, &verify->store.problem_tid,
					  verify->store.problem);
}
