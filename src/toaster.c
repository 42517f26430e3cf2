/*-------------------------------------------------------------------------
 *
 * toaster.c
 *	  Finding the toaster of a type or of a tree, and reading through it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "toaster.h"

/* Later registrations take precedence for the types that they validate. */
#define MAX_TOASTERS	16

static const Toaster *toasters[MAX_TOASTERS];
static int	toaster_count = 0;

/* Make a toaster known; it must live as long as the process. */
void
toaster_register(const Toaster *toaster)
{
	for (int i = 0; i < toaster_count; i++)
	{
		if (toasters[i]->kind == toaster->kind)
			ereport(ERROR,
					(errcode(ERRCODE_DUPLICATE_OBJECT),
					 errmsg("toaster \"%s\" has the node kind of \"%s\"",
							toaster->name, toasters[i]->name)));
	}
	if (toaster_count == MAX_TOASTERS)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("too many toasters")));
	toasters[toaster_count++] = toaster;
}

/* The toaster for new values of a type. */
const Toaster *
toaster_for_type(Oid type)
{
	for (int i = toaster_count - 1; i >= 0; i--)
	{
		if (toasters[i]->validate(type))
			return toasters[i];
	}
	elog(ERROR, "no toaster for type %u", type);
}

/* The toaster that wrote the tree; NULL when it is not registered. */
const Toaster *
toaster_for_root(const Chunk *root)
{
	for (int i = 0; i < toaster_count; i++)
	{
		if (toasters[i]->kind == ((const NodeHeader *) root->node)->kind)
			return toasters[i];
	}
	return NULL;
}

/* Get the root and its toaster. */
static const Toaster *
open_tree(ChunkStore *store, const TreePointer *pointer, Chunk *root)
{
	const Toaster *toaster;

	if (!chunk_store_get_root(store, pointer->address, pointer->size, root))
		return NULL;
	toaster = toaster_for_root(root);
	if (toaster == NULL)
	{
		chunk_store_problem(store, &root->tid, "Unknown kind of tree");
		chunk_store_release(root);
	}
	return toaster;
}

/* Set *result to whether the tree holds just the flat value. */
bool
toaster_equal(ChunkStore *store, const TreePointer *pointer,
			  FlatValue *flat, bool *result)
{
	Chunk		root;
	const Toaster *toaster;
	bool		ok;

	if (pointer->size != flat->size)
	{
		*result = false;
		return true;
	}
	toaster = open_tree(store, pointer, &root);
	if (toaster == NULL)
		return false;
	ok = toaster->equal(store, &root, flat, result);
	chunk_store_release(&root);
	return ok;
}

/* Copy length bytes of the value, from offset on, to target. */
bool
toaster_fetch_slice(ChunkStore *store, const TreePointer *pointer,
					uint32 offset, uint32 length, char *target)
{
	Chunk		root;
	const Toaster *toaster = open_tree(store, pointer, &root);
	bool		ok;

	if (toaster == NULL)
		return false;
	ok = toaster->fetch_slice(store, &root, offset, length, target);
	chunk_store_release(&root);
	return ok;
}

/* Write a copy of the tree as a new lineage. */
bool
toaster_copy(ChunkStore *source, const TreePointer *pointer,
			 TreeWrite *write, TreePointer *result)
{
	Chunk		root;
	const Toaster *toaster = open_tree(source, pointer, &root);
	bool		ok;

	if (toaster == NULL)
		return false;
	ok = toaster->copy(source, &root, write, result);
	chunk_store_release(&root);
	return ok;
}

/* Call visitor for every node of the tree, parents before children. */
bool
toaster_walk(ChunkStore *store, const TreePointer *pointer,
			 NodeVisitor visitor, void *arg)
{
	Chunk		root;
	const Toaster *toaster = open_tree(store, pointer, &root);
	bool		ok;

	if (toaster == NULL)
		return false;
	ok = toaster->walk(store, &root, visitor, arg);
	chunk_store_release(&root);
	return ok;
}

static void
list_visitor(const NodeVisit *visit, void *arg)
{
	chunk_list_add((ChunkList *) arg, &visit->tid, visit->chunk_id);
}

/* Add all chunks of the tree to the list. */
bool
toaster_list(ChunkStore *store, const TreePointer *pointer, ChunkList *chunks)
{
	return toaster_walk(store, pointer, list_visitor, chunks);
}
