/*-------------------------------------------------------------------------
 *
 * json_edit_run.c
 *	  Changing a member of a run, or of a plain container.
 *
 * The head is written anew (json_run.c), long members are put in and taken
 * out behind it.  Those that stay are not touched: a run is split by putting
 * the heads of its later parts between them, and joined with the next one by
 * taking that one's head out.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "json_head.h"
#include "json_run.h"

/* A change of a run, perhaps joined with a neighbour. */
typedef struct RunEdit
{
	JsonEditor *editor;
	bool		container;
	bool		object;
	Run			runs[2];
	int			run_count;
	RunMember  *members;		/* as they will be */
	uint32		count;
	int64		replaced;		/* old number of a member; -1: none */
} RunEdit;

/* Where a walk over the old long members is. */
typedef struct LongWalk
{
	const RunEdit *edit;
	uint32		next;			/* old member */
	uint32		at;				/* in the stored form */
	bool		second;			/* in the second run */
} LongWalk;

/* The old member with that number, and where it stands. */
static const RunMember *
old_member(const RunEdit *edit, uint32 number)
{
	if (number < edit->runs[0].count)
		return &edit->runs[0].members[number];
	return &edit->runs[1].members[number - edit->runs[0].count];
}

/* Before the next old member: take the head of the second run out. */
static void
enter_member(LongWalk *walk, PatchList *patches)
{
	const Run  *run = &walk->edit->runs[1];

	if (walk->edit->run_count < 2 || walk->second ||
		walk->next < walk->edit->runs[0].count)
		return;
	json_patch_add(patches, run->node.offset, run->node.head_size, NULL, 0);
	walk->at = run->node.offset + run->node.head_size;
	walk->second = true;
}

/* Take old long members out, up to the one with number end. */
static void
drop_members(LongWalk *walk, uint32 end, PatchList *patches)
{
	while (walk->next < end)
	{
		const JsonStub *stub;

		enter_member(walk, patches);
		stub = old_member(walk->edit, walk->next++)->stub;
		if (stub == NULL)
			continue;
		json_patch_add(patches, walk->at, stub->stored_size, NULL, 0);
		walk->at += stub->stored_size;
	}
}

/* Put the bytes of a new long member where the walk is. */
static void
put_long_member(LongWalk *walk, const RunMember *member, PatchList *patches)
{
	const RunEdit *edit = walk->edit;
	const JsonStub *old = NULL;
	char	   *bytes;

	if (edit->replaced == walk->next)
	{
		enter_member(walk, patches);
		old = old_member(edit, walk->next)->stub;
	}
	if (old == NULL)
	{
		json_patch_add(patches, walk->at, 0, member->stored,
					   member->stub->stored_size);
		return;
	}
	bytes = MemoryContextAllocHuge(CurrentMemoryContext, old->stored_size + 1);
	document_read(edit->editor->document, walk->at, old->stored_size, bytes);
	json_patch_change(patches, walk->at, bytes, old->stored_size,
					  member->stored, member->stub->stored_size);
	pfree(bytes);
	walk->at += old->stored_size;
	walk->next++;
}

/*
 * Make the patches of the long members of all parts, of which ends[] has the
 * last members, and learn where each begins.
 */
static void
move_long_members(const RunEdit *edit, EditParts *parts, const uint32 *ends,
				  PatchList *patches)
{
	LongWalk	walk = {edit, 0, 0, false};
	int			part = 0;
	uint32		all = edit->runs[0].count;

	if (edit->run_count == 2)
		all += edit->runs[1].count;
	walk.at = edit->runs[0].node.offset + edit->runs[0].node.head_size;
	parts->parts[0].offset = edit->runs[0].node.offset;
	for (uint32 i = 0; i < edit->count; i++)
	{
		const RunMember *member = &edit->members[i];

		if (member->old >= 0)
		{
			drop_members(&walk, member->old, &patches[part]);
			enter_member(&walk, &patches[part]);
		}
		if (i == ends[part])
			parts->parts[++part].offset = walk.at;
		if (member->old >= 0)
		{
			if (member->stub != NULL)
				walk.at += member->stub->stored_size;
			walk.next++;
		}
		else if (member->stub != NULL)
			put_long_member(&walk, member, &patches[part]);
	}
	drop_members(&walk, all, &patches[part]);
}

/*
 * Where the parts of a run end that has become too large, in its members:
 * parts of about the same size, between a half of a run's and all of it.
 */
static uint32 *
cut_run(const RunEdit *edit, int *count)
{
	const FormLimits *limits = &edit->editor->limits;
	uint64		size = json_run_size(edit->object, edit->members, edit->count);
	uint64		most = 2 * (edit->container ? limits->one_run :
							limits->run_max);
	uint32		parts = size <= most ? 1 :
		(size - 1) / (limits->run_max - limits->run_max / 4) + 1;
	uint32	   *ends = MemoryContextAllocHuge(CurrentMemoryContext,
											  (parts + 1) * sizeof(uint32));
	uint64		sum = 0;

	*count = 0;
	for (uint32 i = 0; parts > 1 && i + 1 < edit->count; i++)
	{
		const RunMember *member = &edit->members[i];

		sum += member->key_size + member->size +
			(edit->object ? 2 : 1) * sizeof(JEntry);
		if (*count < parts - 1 && sum >= size * (*count + 1) / parts)
			ends[(*count)++] = i + 1;
	}
	ends[(*count)++] = edit->count;
	return ends;
}

/* Make parts of the changed members. */
static EditParts *
make_parts(const RunEdit *edit)
{
	int			count;
	uint32	   *ends = cut_run(edit, &count);
	EditParts  *parts = json_edit_parts_make(count);
	PatchList  *patches = palloc0(count * sizeof(PatchList));
	uint32		first = 0;

	for (int i = 0; i < count; i++)
		(void) json_edit_parts_add(parts);
	move_long_members(edit, parts, ends, patches);
	for (int i = 0; i < count; i++)
	{
		EditPart   *part = &parts->parts[i];

		CHECK_FOR_INTERRUPTS();
		json_run_measure(edit->object, &edit->members[first],
						 ends[i] - first, &part->part);
		json_run_write(i == 0 ? &edit->runs[0] : NULL, &edit->members[first],
					   part, edit->object, &part->patches);
		json_patch_append(&part->patches, &patches[i]);
		first = ends[i];
	}
	return parts;
}

/* What is left of a run without members, below a directory. */
static EditParts *
remove_run(const RunEdit *edit)
{
	EditParts  *parts = json_edit_parts_make(1);
	EditPart   *part = json_edit_parts_add(parts);
	const EditNode *node = &edit->runs[0].node;

	part->offset = node->offset;
	json_patch_add(&part->patches, node->offset, node->stored_size, NULL, 0);
	return parts;
}

/*
 * Replace a member by a value that takes the same bytes: nothing else changes
 * then.  Returns NULL when it is not such a value.
 */
static EditParts *
replace_in_place(JsonEditor *editor, const Run *run, uint32 number,
				 const EditValue *value)
{
	const RunMember *member = &run->members[number];
	uint32		at = run->node.offset + run->node.head_size;
	EditParts  *parts;
	PatchList  *patches;

	if (member->stub != NULL ?
		(member->stub->word & JENTRY_TYPEMASK) != value->type ||
		member->stub->flat_size != value->size ||
		value->type == JENTRY_ISCONTAINER || value->size == 0 :
		entry_is_aligned(member->type) != entry_is_aligned(value->type) ||
		member->size != value->size)
		return NULL;
	parts = json_edit_parts_make(1);
	patches = &json_edit_parts_add(parts)->patches;
	parts->settled = true;
	if (member->stub != NULL)
	{
		char	   *bytes = MemoryContextAllocHuge(CurrentMemoryContext,
												   value->size);

		for (uint32 i = 0; i < number; i++)
		{
			if (run->members[i].stub != NULL)
				at += run->members[i].stub->stored_size;
		}
		document_read(editor->document, at, value->size, bytes);
		json_patch_change(patches, at, bytes, value->size, value->bytes,
						  value->size);
	}
	else
	{
		uint32		index = sizeof(uint32) + sizeof(JEntry) *
			(run->node.object ? run->count + number : number);
		JEntry		entry = *(const JEntry *) (run->head + index);
		JEntry		changed = (entry & ~JENTRY_TYPEMASK) | value->type;

		json_patch_change(patches, run->node.offset + index, (char *) &entry,
						  sizeof(entry), (char *) &changed, sizeof(changed));
		json_patch_change(patches,
						  run->node.offset + (member->value - run->head),
						  member->value, value->size, value->bytes,
						  value->size);
	}
	return parts;
}

/* Set a new member to a value, which is stored outside the head if long. */
static void
set_member(const RunEdit *edit, const EditValue *value, RunMember *member)
{
	const FormLimits *limits = &edit->editor->limits;
	uint32		most = limits->long_member;
	JsonStub   *stub;

	if (edit->editor->base == 0)
		most = form_root_long_member(limits,
									 json_edit_flat_size(edit->editor));
	member->old = -1;
	if (value->size <= most)
	{
		member->type = value->type;
		member->value = value->bytes;
		member->size = value->size;
		return;
	}
	stub = palloc(sizeof(JsonStub));
	member->stored = json_edit_value_store(value, limits, stub);
	member->stub = stub;
	member->type = JENTRY_ISCONTAINER;
	member->value = (const char *) stub;
	member->size = sizeof(JsonStub);
}

/* Make the new list of members. */
static void
change_members(RunEdit *edit, EditKind kind, const EditValue *value,
			   uint32 number)
{
	const Run  *run = &edit->runs[0];
	uint32		behind = kind == EDIT_INSERT ? number : number + 1;
	RunMember  *to;

	edit->members = MemoryContextAllocHuge(CurrentMemoryContext,
										   (run->count + 1) *
										   sizeof(RunMember));
	memcpy(edit->members, run->members, number * sizeof(RunMember));
	to = edit->members + number;
	if (kind != EDIT_DELETE)
	{
		memset(to, 0, sizeof(RunMember));
		if (edit->object && kind == EDIT_INSERT)
		{
			to->key = edit->editor->key;
			to->key_size = edit->editor->key_size;
		}
		else if (edit->object)
		{
			to->key = run->members[number].key;
			to->key_size = run->members[number].key_size;
		}
		set_member(edit, value, to);
		to++;
	}
	if (kind == EDIT_REPLACE)
		edit->replaced = number;
	memcpy(to, run->members + behind,
		   (run->count - behind) * sizeof(RunMember));
	edit->count = (to - edit->members) + (run->count - behind);
}

/* The child of a directory with that number, a run. */
static void
set_sibling(JsonEditor *editor, const EditNode *parent, int child,
			EditNode *node)
{
	JsonItem	item = {0};

	item.document = editor->document;
	item.stored = true;
	item.offset = parent->offset;
	item.head_size = parent->head_size;
	item.stored_size = parent->stored_size;
	json_descend(&item, json_view_head(&item), child);
	memset(node, 0, sizeof(EditNode));
	node->offset = item.offset;
	node->head_size = item.head_size;
	node->stored_size = item.stored_size;
	node->object = parent->object;
	if (node->head_size < sizeof(uint32) ||
		node->head_size > node->stored_size)
		json_raise_damaged(editor->document, "Run has a wrong size");
}

/*
 * Join a run that has become small with the next one, or the one before.
 * Sets *first to the child that the result begins with.
 */
static void
join_neighbour(RunEdit *edit, const EditNode *parent, int *first)
{
	JsonEditor *editor = edit->editor;
	const JsonDirectory *directory = (const JsonDirectory *)
		document_view(editor->document, parent->offset, parent->head_size);
	int			sibling = *first + 1 < directory->children ? *first + 1 :
		*first - 1;
	RunMember  *own = edit->members;
	RunMember  *members;
	EditNode	node;
	Run			run;

	if (sibling < 0)
		return;
	set_sibling(editor, parent, sibling, &node);
	if (json_run_size(edit->object, own, edit->count) + node.head_size >
		editor->limits.run_max)
		return;
	json_run_load(editor->document, &node, &run);
	members = MemoryContextAllocHuge(CurrentMemoryContext,
									 (edit->count + run.count) *
									 sizeof(RunMember));
	edit->members = members;
	edit->run_count = 2;
	if (sibling < *first)
	{
		*first = sibling;
		memcpy(members, run.members, run.count * sizeof(RunMember));
		members += run.count;
		edit->runs[1] = edit->runs[0];
		edit->runs[0] = run;
		if (edit->replaced >= 0)
			edit->replaced += run.count;
	}
	else
	{
		edit->runs[1] = run;
		memcpy(members + edit->count, run.members,
			   run.count * sizeof(RunMember));
	}
	memcpy(members, own, edit->count * sizeof(RunMember));
	edit->count += run.count;
	members = edit->members;
	for (uint32 i = 0; i < edit->count; i++)
	{
		bool		second = sibling == *first ? i >= run.count :
			i >= edit->count - run.count;

		if (second && members[i].old >= 0)
			members[i].old += edit->runs[0].count;
	}
}

/* Change the run at the end of the editor's nodes. */
EditParts *
json_edit_run(JsonEditor *editor, EditKind kind, const EditValue *value)
{
	const EditNode *node = &editor->nodes[editor->count - 1];
	const EditNode *parent = node->container ? NULL : node - 1;
	int			first = parent != NULL ? parent->number : 0;
	RunEdit		edit = {0};
	EditParts  *parts;
	uint64		size;

	edit.editor = editor;
	edit.container = node->container;
	edit.object = node->object;
	edit.run_count = 1;
	edit.replaced = -1;
	json_run_load(editor->document, node, &edit.runs[0]);
	if (node->number + (kind != EDIT_INSERT) > edit.runs[0].count)
		json_raise_damaged(editor->document, "Run has too few members");
	if (kind == EDIT_REPLACE)
	{
		parts = replace_in_place(editor, &edit.runs[0], node->number, value);
		if (parts != NULL)
			return parts;
	}
	change_members(&edit, kind, value, node->number);
	size = json_run_size(edit.object, edit.members, edit.count);
	if (parent != NULL && kind != EDIT_INSERT && edit.count > 0 &&
		size < node->head_size && size < editor->limits.run_min / 4)
		join_neighbour(&edit, parent, &first);
	parts = edit.count == 0 && parent != NULL ? remove_run(&edit) :
		make_parts(&edit);
	parts->first_child = first;
	parts->children = edit.run_count;
	return parts;
}

/*
 * Tell the run around a container what has become of it: its stub changes,
 * nothing else does.
 */
EditParts *
json_edit_stub(JsonEditor *editor, const EditNode *node,
			   const EditPart *part, uint32 flat_size)
{
	EditParts  *parts = json_edit_parts_make(1);
	EditPart   *result = json_edit_parts_add(parts);
	const JsonStub *old;
	JsonStub	stub;
	Run			run;

	json_run_load(editor->document, node, &run);
	if (node->number >= run.count ||
		(old = run.members[node->number].stub) == NULL)
		json_raise_damaged(editor->document, "Long member is malformed");
	stub = *old;
	stub.stored_size = part->part.stored_size;
	stub.head_size = part->part.head_size;
	stub.flat_size = flat_size;
	json_patch_change(&result->patches,
					  node->offset + ((const char *) old - run.head),
					  (const char *) old, sizeof(stub), (const char *) &stub,
					  sizeof(stub));
	json_patch_append(&result->patches, &part->patches);
	parts->settled = memcmp(old, &stub, sizeof(stub)) == 0;
	run.members[node->number].stub = &stub;
	json_run_measure(node->object, run.members, run.count, &result->part);
	result->offset = node->offset;
	if (!node->container)
	{
		parts->first_child = node[-1].number;
		parts->children = 1;
	}
	return parts;
}
