/*-------------------------------------------------------------------------
 *
 * verify.h
 *	  Checking a table and its TOAST relation: what checkers of trees use.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PG_TOASTER_VERIFY_H
#define PG_TOASTER_VERIFY_H

#include "postgres.h"

#include "nodes/execnodes.h"

#include "chunk_store.h"
#include "tid_set.h"

/* A node, copied out of its page. */
typedef struct NodeCopy
{
	ItemPointerData tid;
	char	   *node;			/* in the work context */
	Size		size;
} NodeCopy;

typedef struct Verify
{
	ReturnSetInfo *result;		/* takes the problems */
	Relation	table;
	ChunkStore	store;			/* open if the table has a TOAST relation */
	Snapshot	snapshot;		/* that rows and chunks are read with */
	BufferAccessStrategy strategy;
	TidSet	   *referenced;		/* chunks that sound parents name */
	TidSet	   *reported;		/* chunks with a problem */
	uint64		problems;		/* reported so far */
	MemoryContext work_context; /* reset after each value and block */

	/* The value at hand. */
	ItemPointerData row;
	const NameData *attname;
} Verify;

extern void verify_report(Verify *verify, ItemPointer chunk,
						  const char *problem);
extern bool verify_child(Verify *verify, uint32 lineage, const Ref *ref,
						 int level, NodeCopy *child);
extern bool verify_base(Verify *verify, uint32 lineage, const Ref *ref,
						int level, NodeCopy *base);
extern void verify_document(Verify *verify, const NodeCopy *root);
extern void verify_rope(Verify *verify, const NodeCopy *root);

#endif							/* PG_TOASTER_VERIFY_H */
