/*-------------------------------------------------------------------------
 *
 * text_scan.h
 *	  Going through text that is kept as a tree, character by character.
 *
 * Positions in text are characters, those in a tree are bytes.  With an
 * encoding that has characters of several bytes, the place of one is found
 * by reading what stands before it: a piece at a time, never all of it, and
 * nothing is written for that.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PG_TOASTER_TEXT_SCAN_H
#define PG_TOASTER_TEXT_SCAN_H

#include "postgres.h"

#include "pointer.h"

/* The longest that text_scan_find() looks for. */
#define TEXT_SCAN_NEEDLE	(64 * 1024)

typedef struct TextScan TextScan;

extern bool text_scan_single_byte(void);
extern bool text_scan_is_front(int64 most);
extern TextScan *text_scan_begin(const TreePointer *pointer, int64 most);
extern uint32 text_scan_skip(TextScan *scan, int64 *count);
extern void text_scan_end(TextScan *scan);

extern void text_scan_check_end(const TreePointer *pointer);
extern uint32 text_scan_last(const TreePointer *pointer, int64 count);
extern int64 text_scan_length(const TreePointer *pointer);
extern int64 text_scan_find(const TreePointer *pointer, const char *bytes,
							uint32 size, bool utf8);

#endif							/* PG_TOASTER_TEXT_SCAN_H */
