/*-------------------------------------------------------------------------
 *
 * json_directory.h
 *	  Writing the directories of a large container's stored form.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PG_TOASTER_JSON_DIRECTORY_H
#define PG_TOASTER_JSON_DIRECTORY_H

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
} Part;

typedef struct PartList
{
	Part	   *parts;
	uint32		count;
	uint32		capacity;
} PartList;

extern Part *part_list_add(PartList *list);
extern uint32 directories_place(StringInfo stored, uint32 start,
								const PartList *runs,
								const FormLimits *limits);

#endif							/* PG_TOASTER_JSON_DIRECTORY_H */
