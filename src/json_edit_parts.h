/*-------------------------------------------------------------------------
 *
 * json_edit_parts.h
 *	  How a change of a document spreads from a run to the root.
 *
 * The editor knows the nodes (runs and directories) between the root and the
 * member at hand.  A change makes parts of the run: one as a rule, several
 * when it is split, none when it has lost its last member.  These take the
 * place of a child in the directory above, of which parts are made in turn;
 * of those of a container's first node one is made, whose sizes go into the
 * stub in the run around it.  Each part has the patches that lead to it.
 *
 * All offsets are those of the stored form before the change.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PG_TOASTER_JSON_EDIT_PARTS_H
#define PG_TOASTER_JSON_EDIT_PARTS_H

#include "postgres.h"

#include "json_edit.h"
#include "json_layout.h"
#include "json_patch.h"

/* A run, a plain container or a directory. */
typedef struct EditNode
{
	uint32		offset;
	uint32		head_size;
	uint32		stored_size;
	uint32		level;			/* of a directory; 0: of another */
	uint32		number;			/* of the child or member that is next */
	bool		container;		/* the first node of one */
	bool		object;
} EditNode;

struct JsonEditor
{
	Document   *document;
	FormLimits	limits;
	JsonItem	container;
	EditNode   *nodes;			/* from the root to the position */
	int			count;
	int			capacity;
	int			base;			/* of them, around the container */
	bool		positioned;
	bool		found;			/* a member is there */
	JsonItem	member;
	char	   *key;			/* looked for */
	uint32		key_size;
	uint32		key_capacity;
};

/* A value as it stands in a flat container. */
typedef struct EditValue
{
	uint32		type;			/* JENTRY_ISxxx */
	const char *bytes;
	uint32		size;			/* without alignment */
} EditValue;

typedef enum EditKind
{
	EDIT_REPLACE,
	EDIT_INSERT,
	EDIT_DELETE
} EditKind;

typedef struct EditPart
{
	Part		part;			/* count 0: there are patches only */
	uint32		offset;			/* where it begins */
	int			child;			/* of its directory as it is; -1: new */
	PatchList	patches;
} EditPart;

/* Parts that take the place of some children of a directory. */
typedef struct EditParts
{
	EditPart   *parts;
	int			count;
	int			capacity;
	int			first_child;
	int			children;
	bool		settled;		/* nothing changes above */
} EditParts;

/* json_edit_value.c */
extern void json_edit_value_init(EditValue *value, const JsonbValue *from);
extern const char *json_edit_value_store(const EditValue *value,
										 const FormLimits *limits,
										 JsonStub *stub);

/* json_edit_run.c */
extern EditParts *json_edit_run(JsonEditor *editor, EditKind kind,
								const EditValue *value);
extern EditParts *json_edit_stub(JsonEditor *editor, const EditNode *node,
								 const EditPart *part, uint32 flat_size);

/* json_edit_directory.c */
extern EditParts *json_edit_parts_make(int capacity);
extern EditPart *json_edit_parts_add(EditParts *parts);
extern EditParts *json_edit_directory(JsonEditor *editor,
									  const EditNode *node,
									  EditParts *changed);
extern EditPart *json_edit_container_end(JsonEditor *editor,
										 const EditNode *node,
										 EditParts *parts);

#endif							/* PG_TOASTER_JSON_EDIT_PARTS_H */
