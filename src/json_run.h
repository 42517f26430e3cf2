/*-------------------------------------------------------------------------
 *
 * json_run.h
 *	  The members of a run, or of a plain container, as a list.
 *
 * A run that is to be changed is loaded, its list of members changed, and its
 * head written anew from that; what is the same in both heads makes no patch.
 * A plain container becomes a run in the same way, since its data are laid
 * out alike.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PG_TOASTER_JSON_RUN_H
#define PG_TOASTER_JSON_RUN_H

#include "postgres.h"

#include "json_edit_parts.h"

typedef struct RunMember
{
	const char *key;
	uint32		key_size;
	uint32		type;			/* of its entry */
	const char *value;			/* what stands in the head */
	uint32		size;			/* of that, without alignment */
	const JsonStub *stub;		/* NULL: it is the value */
	const char *stored;			/* of a new long member */
	int64		old;			/* number among the old members; -1: new */
} RunMember;

/* A run as it is. */
typedef struct Run
{
	EditNode	node;
	char	   *head;			/* a copy */
	uint32		word;
	uint32		count;
	RunMember  *members;
} Run;

extern void json_run_load(Document *document, const EditNode *node, Run *run);
extern uint64 json_run_size(bool object, const RunMember *members,
							uint32 count);
extern void json_run_measure(bool object, const RunMember *members,
							 uint32 count, Part *part);
extern void json_run_write(const Run *old, const RunMember *members,
						   const EditPart *to, bool object,
						   PatchList *patches);

#endif							/* PG_TOASTER_JSON_RUN_H */
