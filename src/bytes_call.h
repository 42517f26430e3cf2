/*-------------------------------------------------------------------------
 *
 * bytes_call.h
 *	  What the SQL functions on bytea and text have in common.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PG_TOASTER_BYTES_CALL_H
#define PG_TOASTER_BYTES_CALL_H

#include "postgres.h"

#include "fmgr.h"

#include "pointer.h"

/* Bytes of a value. */
typedef struct BytesRange
{
	uint32		start;
	uint32		end;			/* exclusive */
	int64		missing;		/* bytes or characters that the value has too
								 * few for the start */
} BytesRange;

/* What bytes_call_range() takes as a count for all that follows. */
#define BYTES_CALL_REST		PG_INT64_MAX

extern BytesRange bytes_call_range(const TreePointer *pointer, int64 first,
								   int64 count, bool characters);
extern int	bytes_call_byte(const TreePointer *pointer, uint32 offset);
extern Datum bytes_call_keep(FunctionCallInfo fcinfo,
							 const TreePointer *pointer, BytesRange range);
extern Datum bytes_call_cut(FunctionCallInfo fcinfo, PGFunction stock,
							int64 first, int64 count, bool characters);
extern Datum bytes_call_splice(const TreePointer *pointer, BytesRange range,
							   const char *bytes, uint32 size);

#endif							/* PG_TOASTER_BYTES_CALL_H */
