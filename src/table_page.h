/*-------------------------------------------------------------------------
 *
 * table_page.h
 *	  The rows of one page of a table, whatever state it is in.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PG_TOASTER_TABLE_PAGE_H
#define PG_TOASTER_TABLE_PAGE_H

#include "postgres.h"

#include "access/tupdesc.h"
#include "storage/bufmgr.h"
#include "utils/relcache.h"
#include "utils/snapshot.h"

typedef struct TableRow
{
	OffsetNumber offset;
	const char *problem;		/* NULL: visible, with a sound header */
} TableRow;

typedef struct TablePage
{
	/* What to read, set by the caller. */
	Relation	rel;
	Snapshot	snapshot;
	BufferAccessStrategy strategy;
	BlockNumber block;
	OffsetNumber first;			/* line pointers to look at */
	OffsetNumber last;

	/* What table_page_read() found. */
	OffsetNumber max_offset;	/* 0 until the page was read */
	int			row_count;
	TableRow	rows[MaxOffsetNumber];
	PGAlignedBlock image;
} TablePage;

extern void table_page_read(TablePage *page);
extern const char *table_page_external(TablePage *page, OffsetNumber offset,
									   TupleDesc desc,
									   const struct varlena **external);

#endif							/* PG_TOASTER_TABLE_PAGE_H */
