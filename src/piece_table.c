/*-------------------------------------------------------------------------
 *
 * piece_table.c
 *	  A value that is made of parts of another one and of new bytes.
 *
 * Invariants
 *	1. Pieces cover the value from front to back, and none is empty.
 *	2. Two ranges next to one another do not continue one another.
 *	3. Ranges are in the order of the base and do not overlap: a splice can
 *	   only take bytes of the base away.
 *
 * New bytes next to new bytes are put together as long as they are few, so
 * that a value that grows by small steps does not copy what it has grown by
 * again and again.  Bytes that pieces no longer show stay in memory until the
 * table's context is reset.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "node_format.h"
#include "piece_table.h"

/* New bytes are put together up to this size. */
#define MERGED_SIZE		1024

/* A piece cut in two, new bytes between, and the pieces on both sides. */
#define SPLICE_PIECES	5

StaticAssertDecl(NODE_VALUE_MAX == MaxAllocSize,
				 "a piece table can be larger than a value");

/* Have room for count pieces. */
static void
ensure_capacity(PieceTable *table, int count)
{
	if (count <= table->capacity)
		return;
	table->capacity = Max(count, 2 * table->capacity);
	table->pieces = repalloc_huge(table->pieces,
								  table->capacity * sizeof(TablePiece));
}

/* A table without pieces, with room for some. */
static PieceTable *
create_empty(uint32 base_size, int capacity)
{
	PieceTable *table = palloc0(sizeof(PieceTable));

	table->context = CurrentMemoryContext;
	table->base_size = base_size;
	table->capacity = Max(capacity, 8);
	table->pieces = MemoryContextAllocHuge(table->context, table->capacity *
										   sizeof(TablePiece));
	return table;
}

/* Append a piece, or nothing if it is empty. */
static void
append_piece(PieceTable *table, const char *bytes, uint32 offset, uint32 size)
{
	TablePiece *piece;

	if (size == 0)
		return;
	ensure_capacity(table, table->count + 1);
	piece = &table->pieces[table->count++];
	piece->bytes = bytes;
	piece->offset = offset;
	piece->size = size;
	piece->start = table->size;
	table->size += size;
}

/*
 * The value that is all of a base of that size.  Lives, with what is put into
 * it, in the current memory context.
 */
PieceTable *
piece_table_create(uint32 base_size)
{
	PieceTable *table = create_empty(base_size, 0);

	append_piece(table, NULL, 0, base_size);
	return table;
}

/* A copy in the current memory context that shares nothing with the table. */
PieceTable *
piece_table_copy(const PieceTable *table)
{
	PieceTable *copy = create_empty(table->base_size, table->count);
	Size		size = 0;
	char	   *bytes;

	for (int i = 0; i < table->count; i++)
	{
		if (table->pieces[i].bytes != NULL)
			size += table->pieces[i].size;
	}
	bytes = MemoryContextAllocHuge(copy->context, Max(size, 1));
	copy->block = bytes;
	for (int i = 0; i < table->count; i++)
	{
		const TablePiece *piece = &table->pieces[i];

		if (piece->bytes == NULL)
		{
			append_piece(copy, NULL, piece->offset, piece->size);
			continue;
		}
		memcpy(bytes, piece->bytes, piece->size);
		append_piece(copy, bytes, 0, piece->size);
		bytes += piece->size;
	}
	return copy;
}

/*
 * Put another value on the same base behind the table's.  False, and nothing
 * is done, when that shows bytes of the base that do not come behind those
 * that the table shows already.
 */
bool
piece_table_append(PieceTable *table, const PieceTable *more)
{
	PieceTable *copy = piece_table_copy(more);
	uint32		behind = 0;

	for (int i = 0; i < table->count; i++)
	{
		if (table->pieces[i].bytes == NULL)
			behind = table->pieces[i].offset + table->pieces[i].size;
	}
	for (int i = 0; i < copy->count; i++)
	{
		if (copy->pieces[i].bytes != NULL)
			continue;
		if (copy->pieces[i].offset < behind)
			return false;
		break;
	}
	for (int i = 0; i < copy->count; i++)
	{
		const TablePiece *piece = &copy->pieces[i];
		TablePiece *last = &table->pieces[table->count - 1];

		if (table->count > 0 && piece->bytes == NULL && last->bytes == NULL &&
			last->offset + last->size == piece->offset)
		{
			last->size += piece->size;
			table->size += piece->size;
		}
		else
			append_piece(table, piece->bytes, piece->offset, piece->size);
	}
	return true;
}

/*
 * The piece that has the byte at offset, and in *start where it starts; for
 * the offset behind the last byte the number of pieces.
 */
int
piece_table_find(const PieceTable *table, uint32 offset, uint32 *start)
{
	int			low = 0;
	int			high = table->count;

	/* the first piece that starts behind offset */
	while (low < high)
	{
		int			middle = low + (high - low) / 2;

		if (table->pieces[middle].start <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	if (offset >= table->size)
	{
		*start = table->size;
		return table->count;
	}
	*start = table->pieces[low - 1].start;
	return low - 1;
}

/* Add the bytes of a piece to those of the one before it. */
static void
merge_bytes(PieceTable *table, TablePiece *last, const TablePiece *piece)
{
	char	   *merged = MemoryContextAlloc(table->context,
											last->size + piece->size);

	memcpy(merged, last->bytes, last->size);
	memcpy(merged + last->size, piece->bytes, piece->size);
	last->bytes = merged;
}

/*
 * Append a piece to count others; nothing if it is empty, and to the last of
 * them if it continues that one.  Returns the number of pieces.
 */
static int
join_piece(PieceTable *table, TablePiece *pieces, int count,
		   const TablePiece *piece)
{
	TablePiece *last = count > 0 ? &pieces[count - 1] : NULL;

	if (piece->size == 0)
		return count;
	if (last == NULL || (last->bytes == NULL) != (piece->bytes == NULL))
	{
		pieces[count] = *piece;
		return count + 1;
	}
	if (piece->bytes == NULL && last->offset + last->size == piece->offset)
		last->size += piece->size;
	else if (piece->bytes != NULL &&
			 last->bytes + last->size == piece->bytes)
		last->size += piece->size;
	else if (piece->bytes != NULL && last->size + piece->size <= MERGED_SIZE)
	{
		merge_bytes(table, last, piece);
		last->size += piece->size;
	}
	else
	{
		pieces[count] = *piece;
		return count + 1;
	}
	return count;
}

/* The bytes of a piece before offset, or from offset on. */
static TablePiece
piece_part(const TablePiece *piece, uint32 offset, bool before)
{
	TablePiece	part = *piece;
	uint32		at = offset - piece->start;

	if (before)
		part.size = at;
	else
	{
		part.size -= at;
		if (part.bytes != NULL)
			part.bytes += at;
		else
			part.offset += at;
	}
	return part;
}

/* Put count pieces in the place of those from first to end - 1. */
static void
replace_pieces(PieceTable *table, int first, int end,
			   const TablePiece *pieces, int count)
{
	uint32		start = 0;
	int			total = table->count - (end - first) + count;

	ensure_capacity(table, total);
	memmove(table->pieces + first + count, table->pieces + end,
			(table->count - end) * sizeof(TablePiece));
	memcpy(table->pieces + first, pieces, count * sizeof(TablePiece));
	table->count = total;
	if (first > 0)
		start = table->pieces[first - 1].start + table->pieces[first - 1].size;
	for (int i = first; i < total; i++)
	{
		table->pieces[i].start = start;
		start += table->pieces[i].size;
	}
	table->size = start;
}

/*
 * Take remove bytes from offset on out of the value, and put insert new ones
 * there, which are copied.
 */
void
piece_table_splice(PieceTable *table, uint32 offset, uint32 remove,
				   const char *bytes, uint32 insert)
{
	TablePiece	pieces[SPLICE_PIECES];
	TablePiece	new = {NULL, 0, insert, 0};
	uint32		end = offset + remove;
	uint32		start;
	int			count = 0;
	int			first;
	int			last;

	Assert(offset <= table->size && remove <= table->size - offset);
	if (insert > MaxAllocSize - (table->size - remove))
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("toast value exceeds the maximum of %zu bytes",
						(Size) MaxAllocSize)));
	if (insert > 0)
	{
		char	   *copy = MemoryContextAlloc(table->context, insert);

		memcpy(copy, bytes, insert);
		new.bytes = copy;
	}
	first = piece_table_find(table, offset, &start);
	last = piece_table_find(table, end, &start);
	if (first > 0)
		count = join_piece(table, pieces, count, &table->pieces[first - 1]);
	if (first < table->count)
	{
		TablePiece	part = piece_part(&table->pieces[first], offset, true);

		count = join_piece(table, pieces, count, &part);
	}
	count = join_piece(table, pieces, count, &new);
	if (last < table->count)
	{
		TablePiece	part = piece_part(&table->pieces[last], end, false);

		count = join_piece(table, pieces, count, &part);
		last++;
		if (last < table->count)
			count = join_piece(table, pieces, count,
							   &table->pieces[last++]);
	}
	replace_pieces(table, Max(first - 1, 0), last, pieces, count);
}

static Size
varint_size(uint32 value)
{
	Size		size = 1;

	while (value >= 0x80)
	{
		value >>= 7;
		size++;
	}
	return size;
}

static char *
put_varint(char *target, uint32 value)
{
	while (value >= 0x80)
	{
		*target++ = (char) (value | 0x80);
		value >>= 7;
	}
	*target++ = (char) value;
	return target;
}

/*
 * Set *splice to what is changed between the range that ends before piece
 * *at, or the front, and the next range, or the end, and *at to the piece
 * behind that.  *base goes along in the base.  The new bytes are in the pieces
 * from *first on.  Returns false when ranges are not in the order of the base.
 */
static bool
next_splice(const PieceTable *table, int *at, uint32 *base, int *first,
			Splice *splice)
{
	const TablePiece *pieces = table->pieces;
	uint32		until = table->base_size;

	splice->kept = 0;
	splice->inserted = 0;
	if (pieces[*at].bytes == NULL && pieces[*at].offset == *base)
		splice->kept = pieces[(*at)++].size;
	*base += splice->kept;
	for (*first = *at; *at < table->count && pieces[*at].bytes != NULL; (*at)++)
		splice->inserted += pieces[*at].size;
	if (*at < table->count)
		until = pieces[*at].offset;
	splice->removed = until - *base;
	if (until < *base)
		return false;
	*base = until;
	return true;
}

/*
 * Bytes of the table when it is packed; 0 when it cannot be, since ranges
 * are not in the order of the base, or when it is all of its base.
 */
Size
piece_table_packed_size(const PieceTable *table)
{
	uint32		base = 0;
	Size		size = 0;
	int			first;
	int			at = 0;

	while (at < table->count)
	{
		Splice		splice;

		if (!next_splice(table, &at, &base, &first, &splice))
			return 0;
		if (splice.removed > 0 || splice.inserted > 0)
			size += varint_size(splice.kept) + varint_size(splice.removed) +
				varint_size(splice.inserted) + splice.inserted;
	}
	return size;
}

/* Pack the table into as many bytes as piece_table_packed_size() has said. */
void
piece_table_pack(const PieceTable *table, char *target)
{
	uint32		base = 0;
	int			first;
	int			at = 0;

	while (at < table->count)
	{
		Splice		splice;

		if (!next_splice(table, &at, &base, &first, &splice))
			elog(ERROR, "piece table cannot be packed");
		if (splice.removed == 0 && splice.inserted == 0)
			continue;
		target = put_varint(target, splice.kept);
		target = put_varint(target, splice.removed);
		target = put_varint(target, splice.inserted);
		for (; first < at && table->pieces[first].bytes != NULL; first++)
		{
			memcpy(target, table->pieces[first].bytes,
				   table->pieces[first].size);
			target += table->pieces[first].size;
		}
	}
}

/*
 * The table that was packed, in the current memory context; NULL when the
 * bytes are damaged.
 */
PieceTable *
piece_table_unpack(const char *packed, Size size, uint32 base_size)
{
	PieceTable *table = create_empty(base_size, 0);
	SpliceCursor cursor;
	uint32		base = 0;

	table->block = palloc(Max(size, 1));
	memcpy(table->block, packed, size);
	cursor.next = table->block;
	cursor.end = table->block + size;
	while (cursor.next < cursor.end)
	{
		Splice		splice;

		if (!node_splices_next(&cursor, &splice) ||
			(splice.removed == 0 && splice.inserted == 0) ||
			splice.kept > base_size - base ||
			splice.removed > base_size - base - splice.kept ||
			splice.kept > MaxAllocSize - table->size ||
			splice.inserted > MaxAllocSize - table->size - splice.kept)
			return NULL;
		append_piece(table, NULL, base, splice.kept);
		append_piece(table, splice.bytes, 0, splice.inserted);
		base += splice.kept + splice.removed;
	}
	if (base_size - base > MaxAllocSize - table->size)
		return NULL;
	append_piece(table, NULL, base, base_size - base);
	return table->size > 0 ? table : NULL;
}

/* Free a table that was copied or unpacked, and not changed since. */
void
piece_table_free(PieceTable *table)
{
	if (table->block != NULL)
		pfree(table->block);
	pfree(table->pieces);
	pfree(table);
}
