/*-------------------------------------------------------------------------
 *
 * table_page.c
 *	  The rows of one page of a table, whatever state it is in.
 *
 * A scan by heap trusts what it finds on a page.  toaster.verify cannot: it
 * copies the page, and checks every offset and length before it follows it,
 * so that a damaged row ends in a message.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/tupmacs.h"
#include "storage/bufpage.h"

#include "compat.h"
#include "table_page.h"

/* What is wrong with a line pointer in use; NULL when nothing is. */
static const char *
item_problem(ItemId item)
{
	if (ItemIdGetOffset(item) < SizeOfPageHeaderData ||
		ItemIdGetOffset(item) != MAXALIGN(ItemIdGetOffset(item)) ||
		ItemIdGetOffset(item) + ItemIdGetLength(item) > BLCKSZ ||
		ItemIdGetLength(item) < MAXALIGN(SizeofHeapTupleHeader))
		return "Line pointer is damaged";
	return NULL;
}

/* What is wrong with the header of a row; NULL when nothing is. */
static const char *
header_problem(HeapTuple tuple, int natts_max)
{
	HeapTupleHeader header = tuple->t_data;
	int			natts = HeapTupleHeaderGetNatts(header);
	Size		size = SizeofHeapTupleHeader;

	if (HeapTupleHasNulls(tuple))
		size += BITMAPLEN(natts);
	if (natts > natts_max || header->t_hoff != MAXALIGN(size) ||
		header->t_hoff > tuple->t_len)
		return "Row header is damaged";
	/* heap relies on it that a multixact that is no mere lock has an updater */
	if ((header->t_infomask & HEAP_XMAX_IS_MULTI) != 0 &&
		(header->t_infomask & HEAP_XMAX_INVALID) == 0 &&
		!HEAP_XMAX_IS_LOCKED_ONLY(header->t_infomask) &&
		!TransactionIdIsValid(HeapTupleHeaderGetUpdateXid(header)))
		return "Row header is damaged";
	return NULL;
}

/* Add a row to those found. */
static void
add_row(TablePage *page, OffsetNumber offset, const char *problem)
{
	page->rows[page->row_count].offset = offset;
	page->rows[page->row_count].problem = problem;
	page->row_count++;
}

/* Look at one line pointer of the locked page. */
static void
read_row(TablePage *page, Buffer buffer, OffsetNumber offset)
{
	ItemId		item = PageGetItemId(BufferGetPage(buffer), offset);
	HeapTupleData tuple;
	const char *problem;

	if (!ItemIdIsNormal(item))
		return;
	problem = item_problem(item);
	if (problem != NULL)
	{
		add_row(page, offset, problem);
		return;
	}
	tuple.t_data = (HeapTupleHeader) PageGetItem(BufferGetPage(buffer), item);
	tuple.t_len = ItemIdGetLength(item);
	tuple.t_tableOid = RelationGetRelid(page->rel);
	ItemPointerSet(&tuple.t_self, page->block, offset);
	problem = header_problem(&tuple,
							 RelationGetNumberOfAttributes(page->rel));
	if (problem != NULL ||
		HeapTupleSatisfiesVisibility(&tuple, page->snapshot, buffer))
		add_row(page, offset, problem);
}

/*
 * Read the rows from page->first to page->last of the block that the
 * snapshot sees or that are damaged.  Raises an error when the page cannot be
 * read, or the status of a row's transactions.
 */
void
table_page_read(TablePage *page)
{
	Buffer		buffer;

	page->row_count = 0;
	buffer = ReadBufferExtended(page->rel, MAIN_FORKNUM, page->block,
								RBM_NORMAL, page->strategy);
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	compat_test_old_snapshot(page->snapshot, page->rel,
							 BufferGetPage(buffer));
	memcpy(page->image.data, BufferGetPage(buffer), BLCKSZ);
	page->max_offset = 0;
	if (!PageIsNew(page->image.data))
		page->max_offset = Min(MaxOffsetNumber,
							   PageGetMaxOffsetNumber(page->image.data));
	for (OffsetNumber offset = page->first;
		 offset <= Min(page->last, page->max_offset); offset++)
		read_row(page, buffer, offset);
	UnlockReleaseBuffer(buffer);
}

/*
 * Find where a value at data ends, of which left bytes may be read; -1 when
 * it reaches farther.
 */
static int
value_size(Form_pg_attribute attr, const char *data, int left)
{
	int			size = attr->attlen;

	if (attr->attlen == -2)
		size = strnlen(data, left) + 1;
	else if (attr->attlen == -1)
	{
		if (left < 1)
			return -1;
		if (VARATT_IS_1B_E(data))
			size = left >= VARHDRSZ_EXTERNAL &&
				VARTAG_EXTERNAL(data) == VARTAG_ONDISK ?
				TOAST_POINTER_SIZE : -1;
		else if (VARATT_IS_1B(data))
			size = VARSIZE_1B(data);
		else
			size = left >= VARHDRSZ && VARSIZE_4B(data) >= VARHDRSZ &&
				VARSIZE_4B(data) <= left ? (int) VARSIZE_4B(data) : -1;
	}
	return size <= left ? size : -1;
}

/*
 * Set external[] to the TOAST pointers of a row that table_page_read() found
 * sound, within the page's image; NULL for other columns.  Returns what is
 * wrong with the row, or NULL; columns before the damage are set.
 */
const char *
table_page_external(TablePage *page, OffsetNumber offset, TupleDesc desc,
					const struct varlena **external)
{
	ItemId		item = PageGetItemId(page->image.data, offset);
	HeapTupleHeader row = (HeapTupleHeader) PageGetItem(page->image.data, item);
	const char *data = (const char *) row + row->t_hoff;
	int			size = ItemIdGetLength(item) - row->t_hoff;
	int			at = 0;

	memset(external, 0, desc->natts * sizeof(*external));
	for (int i = 0; i < HeapTupleHeaderGetNatts(row); i++)
	{
		Form_pg_attribute attr = TupleDescAttr(desc, i);
		int			length;

		if ((row->t_infomask & HEAP_HASNULL) != 0 && att_isnull(i, row->t_bits))
			continue;
		if (attr->attlen != -1 || at >= size || data[at] == 0)
			at = att_align_nominal(at, attr->attalign);
		length = at > size ? -1 : value_size(attr, data + at, size - at);
		if (length < 0)
			return "Value does not fit its row";
		if (attr->attlen == -1 && VARATT_IS_EXTERNAL(data + at))
		{
			external[i] = (const struct varlena *) (data + at);
			if ((row->t_infomask & HEAP_HASEXTERNAL) == 0)
				return "Row does not say that it has TOAST pointers";
		}
		at += length;
	}
	return NULL;
}
