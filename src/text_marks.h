/*-------------------------------------------------------------------------
 *
 * text_marks.h
 *	  Where characters of UTF-8 stand in trees that a session reads.
 *
 * Of a few ropes that were gone through, the session keeps how many
 * characters begin before each 4 kB.  So the next position in the same
 * version of a value, or in one that edits have made of it, is found by
 * reading that much.  What is kept belongs to the root, which is compared,
 * and so to all that is below it (document.h).
 *
 *-------------------------------------------------------------------------
 */
#ifndef PG_TOASTER_TEXT_MARKS_H
#define PG_TOASTER_TEXT_MARKS_H

#include "postgres.h"

#include "document.h"

/* Characters of UTF-8 that begin in these bytes. */
static inline uint32
text_marks_count(const char *bytes, uint32 size)
{
	uint32		count = 0;

	for (uint32 i = 0; i < size; i++)
		count += (bytes[i] & 0xC0) != 0x80;
	return count;
}

extern uint32 text_marks_skip(Document *document, int64 *count);

#endif							/* PG_TOASTER_TEXT_MARKS_H */
