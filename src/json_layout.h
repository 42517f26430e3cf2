/*-------------------------------------------------------------------------
 *
 * json_layout.h
 *	  What the stored form of a document will look like, before it is
 *	  written.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PG_TOASTER_JSON_LAYOUT_H
#define PG_TOASTER_JSON_LAYOUT_H

#include "postgres.h"

#include "json_form.h"

/* A part of a container that a directory will name. */
typedef struct Part
{
	uint32		count;			/* of members */
	uint32		stored_size;
	uint32		head_size;
	uint32		keys_size;
	JsonSpan	span;
	const char *key;			/* first key of an object's part */
	uint32		key_size;
	uint32		hash;			/* of its last member */
	uint32		first_part;		/* of the level below */
	uint32		parts;			/* 0 for a run */
	bool		has_long;		/* a run with long members */
} Part;

typedef struct PartList
{
	Part	   *parts;
	uint32		count;
	uint32		capacity;
} PartList;

/* Levels of directories; each has at most half the parts of the one below. */
#define LAYOUT_MAX_LEVELS	32

/* The runs and directories of a large container. */
typedef struct PartTree
{
	PartList	levels[LAYOUT_MAX_LEVELS];	/* runs first */
	int			top;
} PartTree;

/* A container that is the root or a long member. */
typedef struct ContainerLayout
{
	uint32		stored_size;
	uint32		head_size;
	uint32		long_member;	/* members above that leave the head */
	uint32		next;			/* layout behind all those within it */
	bool		plain;
	PartTree   *tree;			/* NULL: one run */
} ContainerLayout;

/* All of a document, in the order in which they are stored. */
struct FormLayout
{
	MemoryContext context;
	const FormLimits *limits;
	const char *flat;
	uint32		flat_size;
	uint32		stored_size;
	ContainerLayout *containers;
	uint32		count;
	uint32		capacity;
};

extern Part *part_list_add(PartList *list);
extern void part_directory(Part *part, const Part *children, uint32 count);
extern void part_directory_write(const Part *part, const Part *children,
								 int level, char *target);
extern void part_tree_build(PartTree *tree, const FormLimits *limits);
extern void part_tree_write(const PartTree *tree, int level, const Part *part,
							char *target);

#endif							/* PG_TOASTER_JSON_LAYOUT_H */
