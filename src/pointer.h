/*-------------------------------------------------------------------------
 *
 * pointer.h
 *	  The 18 bytes in the row, and the address in them.
 *
 * What stands in the row is an ordinary on-disk TOAST pointer, so that all
 * of PostgreSQL can detoast it:
 *
 *		va_rawsize		size of the flat value, with its 4-byte header
 *		va_extinfo		va_rawsize - 4, hence "not compressed"; the two
 *						method bits, unread then, hold the low bits of the
 *						root's version
 *		va_valueid		address of the root
 *		va_toastrelid	the TOAST relation
 *
 * An address is of one of three classes, told apart by its size:
 *
 *		direct		[1, 0xE0000000)  block * 64 + line pointer of the root:
 *					58.7 million blocks, 448 GB of TOAST per table
 *		in memory	[0xE0000000, 0xF0000000)  values that were edited and
 *					are not written yet (edit.h); never on disk
 *		indexed		[0xF0000000, 2^32)  a chunk_id to look up in the TOAST
 *					relation's index, for roots that cannot be direct
 *
 * Powers of two (9 bits for the line pointer) were rejected: they leave only
 * 16 GB of direct addresses.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PG_TOASTER_POINTER_H
#define PG_TOASTER_POINTER_H

#include "postgres.h"

#include "storage/itemptr.h"

#define ADDRESS_OFFSETS			64
#define ADDRESS_DIRECT_END		0xE0000000U
#define ADDRESS_MEMORY_START	0xE0000000U
#define ADDRESS_MEMORY_COUNT	0x10000000U
#define ADDRESS_INDEXED_START	0xF0000000U
#define ADDRESS_INDEXED_COUNT	0x10000000U

#define ADDRESS_VERSION_MASK	0x3

typedef struct TreePointer
{
	Oid			toastrelid;
	uint32		address;
	uint32		size;			/* of the flat value, without header */
	uint32		version;		/* of the root, modulo 4 */
} TreePointer;

extern bool address_from_tid(ItemPointer tid, uint32 *address);
extern bool address_is_direct(uint32 address);
extern bool address_is_in_memory(uint32 address);
extern bool address_is_indexed(uint32 address);
extern void address_to_tid(uint32 address, ItemPointer tid);

extern void pointer_read(const struct varlena *datum, TreePointer *pointer);
extern struct varlena *pointer_make(const TreePointer *pointer);

#endif							/* PG_TOASTER_POINTER_H */
