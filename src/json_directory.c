/*-------------------------------------------------------------------------
 *
 * json_directory.c
 *	  Writing the directories of a large container's stored form.
 *
 * Pure, as json_encode.c is, which writes the runs that directories name.
 * Directories end where the hash of the last member says so, so that equal
 * parts of two documents are grouped alike.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "json_layout.h"

/* Bits of a part's hash, above those that end runs, that end directories. */
#define DIRECTORY_SHIFT		8
#define DIRECTORY_MASK		15U

/* Room for one more part. */
Part *
part_list_add(PartList *list)
{
	if (list->count == list->capacity)
	{
		list->capacity = Max(16, 2 * list->capacity);
		list->parts = list->parts == NULL ?
			palloc(list->capacity * sizeof(Part)) :
			repalloc_huge(list->parts, list->capacity * sizeof(Part));
	}
	return &list->parts[list->count++];
}

/* Bytes of the directory of some parts. */
static uint32
directory_size(const Part *parts, uint32 count)
{
	Size		size = directory_fixed_size(parts[0].key != NULL, count);

	for (uint32 i = 0; i < count; i++)
		size += parts[i].key_size;
	return FORM_ALIGN(size);
}

/* Set *part to a directory of the given parts. */
void
part_directory(Part *part, const Part *children, uint32 count)
{
	memset(part, 0, sizeof(Part));
	part->key = children[0].key;
	part->key_size = children[0].key_size;
	part->parts = count;
	part->head_size = directory_size(children, count);
	part->stored_size = part->head_size;
	for (uint32 i = 0; i < count; i++)
	{
		part->count += children[i].count;
		part->stored_size += children[i].stored_size;
		part->keys_size += children[i].keys_size;
		span_append(&part->span, &children[i].span);
	}
}

/* Gather the parts of one level under directories of the next. */
static void
group_parts(const FormLimits *limits, const PartList *below, int level,
			PartList *above)
{
	uint32		first = 0;
	bool		top = below->count <= limits->children_max;

	for (uint32 i = 0; i < below->count; i++)
	{
		uint32		hash = below->parts[i].hash >> (DIRECTORY_SHIFT + level);
		uint32		count = i + 1 - first;
		Part	   *part;

		if (i < below->count - 1 &&
			(top || count < limits->children_max) &&
			(top || count < limits->children_min ||
			 (hash & DIRECTORY_MASK) != 0))
			continue;
		part = part_list_add(above);
		part_directory(part, &below->parts[first], count);
		part->hash = below->parts[i].hash;
		part->first_part = first;
		first = i + 1;
	}
}

/* Write the directory of a part whose children are of the level below. */
void
part_directory_write(const Part *part, const Part *children, int level,
					 char *target)
{
	bool		object = part->key != NULL;
	JsonDirectory *head = (JsonDirectory *) target;
	char	   *keys = target + directory_fixed_size(object, part->parts);
	uint32		end = 0;

	head->word = part->count | FORM_SPECIAL | FORM_DIRECTORY |
		(object ? JB_FOBJECT : JB_FARRAY);
	head->level = level;
	head->children = part->parts;
	head->keys_size = part->keys_size;
	head->span = part->span;
	for (uint32 i = 0; i < part->parts; i++)
	{
		const Part *child = &children[i];

		directory_set(head, DIRECTORY_COUNT, i, child->count);
		directory_set(head, DIRECTORY_STORED_SIZE, i, child->stored_size);
		directory_set(head, DIRECTORY_HEAD_SIZE, i, child->head_size);
		directory_set(head, DIRECTORY_BEFORE, i, child->span.before);
		directory_set(head, DIRECTORY_AFTER, i, child->span.after);
		if (!object)
			continue;
		memcpy(keys + end, child->key, child->key_size);
		end += child->key_size;
		directory_set(head, DIRECTORY_KEYS_SIZE, i, child->keys_size);
		directory_set(head, DIRECTORY_KEY_END, i, end);
	}
	memset(keys + end, 0, target + part->head_size - (keys + end));
}

/* Put directories over the runs of a container, level by level. */
void
part_tree_build(PartTree *tree, const FormLimits *limits)
{
	do
	{
		group_parts(limits, &tree->levels[tree->top], tree->top + 1,
					&tree->levels[tree->top + 1]);
		tree->top++;
	} while (tree->levels[tree->top].count > 1);
}

/* Write the directory of a part of the given level, which has its size. */
void
part_tree_write(const PartTree *tree, int level, const Part *part,
				char *target)
{
	part_directory_write(part,
						 &tree->levels[level - 1].parts[part->first_part],
						 level, target);
}
