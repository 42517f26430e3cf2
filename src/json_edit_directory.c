/*-------------------------------------------------------------------------
 *
 * json_edit_directory.c
 *	  What a change makes of the directories above it.
 *
 * A directory that has become too large is cut into several of about the
 * same number of children, the first of which stays where it is.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "json_edit_parts.h"
#include "json_head.h"

/* A directory as it is. */
typedef struct OldDirectory
{
	const char *head;			/* a copy; NULL: there is none */
	const EditNode *node;
	uint32		children;
	uint32		first_key;		/* offset of the keys in the head */
} OldDirectory;

EditParts *
json_edit_parts_make(int capacity)
{
	EditParts  *parts = palloc0(sizeof(EditParts));

	parts->capacity = capacity;
	parts->parts = MemoryContextAllocHuge(CurrentMemoryContext,
										  Max(1, capacity) * sizeof(EditPart));
	return parts;
}

/* Append an empty part. */
EditPart *
json_edit_parts_add(EditParts *parts)
{
	EditPart   *part;

	if (parts->count == parts->capacity)
	{
		parts->capacity = Max(8, 2 * parts->capacity);
		parts->parts = repalloc_huge(parts->parts,
									 parts->capacity * sizeof(EditPart));
	}
	part = &parts->parts[parts->count++];
	memset(part, 0, sizeof(EditPart));
	part->child = -1;
	return part;
}

/* The child of a directory with that number, whose key starts at *key. */
static void
set_child(const JsonDirectory *head, bool object, int child, uint32 *key,
		  Part *part)
{
	const char *keys = (const char *) head +
		directory_fixed_size(object, head->children);

	memset(part, 0, sizeof(Part));
	part->count = directory_get(head, DIRECTORY_COUNT, child);
	part->stored_size = directory_get(head, DIRECTORY_STORED_SIZE, child);
	part->head_size = directory_get(head, DIRECTORY_HEAD_SIZE, child);
	part->span.before = directory_get(head, DIRECTORY_BEFORE, child);
	part->span.after = directory_get(head, DIRECTORY_AFTER, child);
	if (object)
	{
		part->keys_size = directory_get(head, DIRECTORY_KEYS_SIZE, child);
		part->key = keys + *key;
		part->key_size = directory_get(head, DIRECTORY_KEY_END, child) - *key;
		*key += part->key_size;
	}
}

/* Load a directory: itself, and its children as parts. */
static EditParts *
load_directory(JsonEditor *editor, const EditNode *node, OldDirectory *old)
{
	Document   *document = editor->document;
	char	   *head = MemoryContextAllocHuge(CurrentMemoryContext,
											  node->head_size);
	const JsonDirectory *directory = (const JsonDirectory *) head;
	uint32		at = node->offset + node->head_size;
	uint32		end = node->offset + node->stored_size;
	uint32		key = 0;
	Part		sum = {0};
	EditParts  *parts;

	/* that it has its size was checked when it was found */
	document_read(document, node->offset, node->head_size, head);
	old->head = head;
	old->node = node;
	old->children = directory->children;
	old->first_key = directory_fixed_size(node->object, directory->children);
	parts = json_edit_parts_make(directory->children + 4);
	for (int i = 0; i < directory->children; i++)
	{
		EditPart   *part = json_edit_parts_add(parts);

		CHECK_FOR_INTERRUPTS();
		part->child = i;
		part->offset = at;
		set_child(directory, node->object, i, &key, &part->part);
		if (part->part.count == 0 || part->part.stored_size > end - at ||
			part->part.span.before > JENTRY_OFFLENMASK ||
			(part->part.span.after & ~SPAN_ALIGNED) > JENTRY_OFFLENMASK ||
			key > node->head_size - old->first_key ||
			part->part.key_size > key)
			json_raise_damaged(document, "Directory is malformed");
		at += part->part.stored_size;
		sum.count += part->part.count;
		sum.keys_size += part->part.keys_size;
		span_append(&sum.span, &part->part.span);
	}
	if (at != end || sum.count != (directory->word & JB_CMASK) ||
		sum.keys_size != directory->keys_size ||
		sum.span.before != directory->span.before ||
		sum.span.after != directory->span.after)
		json_raise_damaged(document, "Children do not add up");
	return parts;
}

/* Replace one column of a directory's fields; child: where each was. */
static void
rewrite_column(HeadRewrite *rewrite, const OldDirectory *old,
			   const char *column, const int *child, uint32 count)
{
	uint32		next = 0;

	for (uint32 i = 0; i < count; i++)
	{
		if (child[i] < 0)
		{
			json_rewrite_put(rewrite, column + i, 1);
			continue;
		}
		json_rewrite_drop(rewrite, child[i] - next);
		json_rewrite_set(rewrite, column + i, 1);
		next = child[i] + 1;
	}
	json_rewrite_drop(rewrite, old->children - next);
}

/* Replace the keys of a directory. */
static void
rewrite_keys(HeadRewrite *rewrite, const OldDirectory *old,
			 const Part *children, const int *child, uint32 count)
{
	const JsonDirectory *directory = (const JsonDirectory *) old->head;
	uint32		start = rewrite->at;

	for (uint32 i = 0; i < count; i++)
	{
		uint32		before;
		uint32		end;

		if (child[i] >= 0)
		{
			before = child[i] == 0 ? 0 :
				directory_get(directory, DIRECTORY_KEY_END, child[i] - 1);
			end = directory_get(directory, DIRECTORY_KEY_END, child[i]);
			json_rewrite_drop(rewrite, before - (rewrite->at - start));
			if (end - before == children[i].key_size)
			{
				json_rewrite_set(rewrite, children[i].key,
								 children[i].key_size);
				continue;
			}
			json_rewrite_drop(rewrite, end - before);
		}
		json_rewrite_put(rewrite, children[i].key, children[i].key_size);
	}
}

/* Add the patches that make a directory's head of the old one. */
static void
rewrite_directory(PatchList *patches, const OldDirectory *old,
				  const char *head, const Part *part, const Part *children,
				  const int *child)
{
	bool		object = old->node->object;
	uint32		columns = sizeof(uint32) *
		(object ? DIRECTORY_OBJECT_FIELDS : DIRECTORY_ARRAY_FIELDS);
	HeadRewrite rewrite;

	json_rewrite_begin(&rewrite, patches, old->node->offset, old->head,
					   old->node->head_size, part->head_size);
	json_rewrite_set(&rewrite, head, sizeof(JsonDirectory));
	for (uint32 i = 0; i < columns; i++)
		rewrite_column(&rewrite, old,
					   head + sizeof(JsonDirectory) + i * part->parts, child,
					   part->parts);
	if (object)
		rewrite_keys(&rewrite, old, children, child, part->parts);
	json_rewrite_drop(&rewrite, old->node->head_size - rewrite.at);
	json_rewrite_put_zeros(&rewrite, part->head_size - rewrite.end);
	json_rewrite_end(&rewrite);
}

/*
 * Make a directory of consecutive parts, of which count are left; in the
 * place of the old one, if there is one.
 */
static void
make_directory(EditPart *result, const EditPart *parts, uint32 all,
			   uint32 count, uint32 level, const OldDirectory *old)
{
	Part	   *children = palloc(count * sizeof(Part));
	int		   *child = palloc(count * sizeof(int));
	uint32		n = 0;
	char	   *head;

	for (uint32 i = 0; i < all; i++)
	{
		if (parts[i].part.count == 0)
			continue;
		if (n == 0)
			result->offset = parts[i].offset;
		children[n] = parts[i].part;
		child[n++] = parts[i].child;
	}
	part_directory(&result->part, children, count);
	head = MemoryContextAllocHuge(CurrentMemoryContext,
								  result->part.head_size);
	part_directory_write(&result->part, children, level, head);
	if (old == NULL)
		json_patch_add(&result->patches, result->offset, 0, head,
					   result->part.head_size);
	else
	{
		result->offset = old->node->offset;
		rewrite_directory(&result->patches, old, head, &result->part,
						  children, child);
	}
	for (uint32 i = 0; i < all; i++)
		json_patch_append(&result->patches, &parts[i].patches);
}

/* Parts of which something is left. */
static uint32
count_live(const EditParts *parts)
{
	uint32		count = 0;

	for (int i = 0; i < parts->count; i++)
		count += parts->parts[i].part.count > 0;
	return count;
}

/*
 * Gather parts, of which count are left, under directories: one, or several
 * if they are too many.
 */
static EditParts *
gather(JsonEditor *editor, const EditParts *below, uint32 count,
	   uint32 level, const OldDirectory *old)
{
	uint32		most = editor->limits.children_max;
	uint32		groups = count <= 2 * most ? 1 :
		(count - 1) / (most - most / 4) + 1;
	EditParts  *result = json_edit_parts_make(groups);
	int			next = 0;

	for (uint32 i = 0; i < groups; i++)
	{
		uint32		live = (uint64) count * (i + 1) / groups -
			(uint64) count * i / groups;
		int			first = next;
		uint32		taken = 0;

		/* what is gone belongs to what comes before it */
		while (next < below->count &&
			   (taken < live || below->parts[next].part.count == 0))
			taken += below->parts[next++].part.count > 0;
		make_directory(json_edit_parts_add(result), &below->parts[first],
					   next - first, live, level, i == 0 ? old : NULL);
	}
	return result;
}

/* Append to *patches those of all parts. */
static void
append_patches(PatchList *patches, const EditParts *parts)
{
	for (int i = 0; i < parts->count; i++)
		json_patch_append(patches, &parts->parts[i].patches);
}

/* Does a directory say of a child what is still true? */
static bool
is_same_child(const Part *old, const Part *part)
{
	return old->count == part->count &&
		old->stored_size == part->stored_size &&
		old->head_size == part->head_size &&
		old->keys_size == part->keys_size &&
		old->span.before == part->span.before &&
		old->span.after == part->span.after &&
		old->key_size == part->key_size &&
		(old->key_size == 0 ||
		 memcmp(old->key, part->key, old->key_size) == 0);
}

/*
 * Put what a change has made of some children of a directory in their place:
 * the parts that the directory becomes.  A top directory with nothing but
 * another directory below it gives its place to that.
 */
EditParts *
json_edit_directory(JsonEditor *editor, const EditNode *node,
					EditParts *changed)
{
	OldDirectory old;
	EditParts  *children = load_directory(editor, node, &old);
	EditParts  *below = json_edit_parts_make(children->count +
											 changed->count);
	int			after = changed->first_child + changed->children;
	EditParts  *result;
	uint32		live;

	if (changed->first_child < 0 || after > children->count)
		json_raise_damaged(editor->document, "Directory has too few children");
	if (changed->count == 1 && changed->children == 1 &&
		is_same_child(&children->parts[changed->first_child].part,
					  &changed->parts[0].part))
	{
		changed->settled = true;
		return changed;
	}
	for (int i = 0; i < changed->first_child; i++)
		*json_edit_parts_add(below) = children->parts[i];
	for (int i = 0; i < changed->count; i++)
	{
		*json_edit_parts_add(below) = changed->parts[i];
		below->parts[below->count - 1].child = i == 0 ?
			changed->first_child : -1;
	}
	for (int i = after; i < children->count; i++)
		*json_edit_parts_add(below) = children->parts[i];
	live = count_live(below);
	if (live > 1 || (live == 1 && (!node->container || node->level == 1)))
		result = gather(editor, below, live, node->level, &old);
	else
	{
		EditPart   *part;

		result = json_edit_parts_make(1);
		part = json_edit_parts_add(result);
		json_patch_add(&part->patches, node->offset, node->head_size, NULL,
					   0);
		append_patches(&part->patches, below);
		for (int i = 0; i < below->count; i++)
		{
			if (below->parts[i].part.count > 0)
				part->part = below->parts[i].part;
		}
		part->offset = node->offset + node->head_size;
	}
	if (!node->container)
	{
		result->first_child = node[-1].number;
		result->children = 1;
	}
	return result;
}

/*
 * One part of those that a container's first node has become: under as many
 * directories as it takes, or an empty container.
 */
EditPart *
json_edit_container_end(JsonEditor *editor, const EditNode *node,
						EditParts *parts)
{
	uint32		level = node->level;
	uint32		live;

	while ((live = count_live(parts)) > 1)
	{
		if (++level > PG_UINT16_MAX)
			json_raise_damaged(editor->document,
							   "Directory has a wrong level");
		parts = gather(editor, parts, live, level, NULL);
	}
	if (live == 0 && node->level > 0)
	{
		uint32		word = node->object ? JB_FOBJECT : JB_FARRAY;
		EditParts  *result = json_edit_parts_make(1);
		EditPart   *part = json_edit_parts_add(result);

		part->part.head_size = part->part.stored_size = sizeof(word);
		part->offset = node->offset;
		json_patch_add(&part->patches, node->offset, 0,
					   (const char *) &word, sizeof(word));
		append_patches(&part->patches, parts);
		return part;
	}
	return &parts->parts[0];
}
