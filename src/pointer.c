/*-------------------------------------------------------------------------
 *
 * pointer.c
 *	  Packing and unpacking the pointer in the row, and addresses.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"

#include "compat.h"
#include "pointer.h"

/*
 * Set *address to the direct address of tid and return true; false when tid
 * cannot be expressed.
 */
bool
address_from_tid(ItemPointer tid, uint32 *address)
{
	BlockNumber block = ItemPointerGetBlockNumber(tid);
	OffsetNumber offset = ItemPointerGetOffsetNumber(tid);

	if (offset >= ADDRESS_OFFSETS ||
		block >= ADDRESS_DIRECT_END / ADDRESS_OFFSETS)
		return false;
	*address = block * ADDRESS_OFFSETS + offset;
	return true;
}

bool
address_is_direct(uint32 address)
{
	return address < ADDRESS_DIRECT_END && address % ADDRESS_OFFSETS != 0;
}

bool
address_is_in_memory(uint32 address)
{
	return address - ADDRESS_MEMORY_START < ADDRESS_MEMORY_COUNT;
}

bool
address_is_indexed(uint32 address)
{
	return address >= ADDRESS_INDEXED_START;
}

/* Inverse of address_from_tid(). */
void
address_to_tid(uint32 address, ItemPointer tid)
{
	ItemPointerSet(tid, address / ADDRESS_OFFSETS, address % ADDRESS_OFFSETS);
}

/* Unpack the on-disk TOAST pointer at datum. */
void
pointer_read(const struct varlena *datum, TreePointer *pointer)
{
	struct varatt_external external;

	VARATT_EXTERNAL_GET_POINTER(external, datum);
	pointer->toastrelid = external.va_toastrelid;
	pointer->address = external.va_valueid;
	pointer->size = external.va_rawsize - VARHDRSZ;
	pointer->version = external.va_extinfo >> VARLENA_EXTSIZE_BITS;
}

/* A new datum holding the pointer, in the current memory context. */
struct varlena *
pointer_make(const TreePointer *pointer)
{
	struct varlena *datum = palloc(TOAST_POINTER_SIZE);
	struct varatt_external external;

	external.va_rawsize = pointer->size + VARHDRSZ;
	external.va_extinfo = pointer->size |
		((pointer->version & ADDRESS_VERSION_MASK) << VARLENA_EXTSIZE_BITS);
	external.va_valueid = pointer->address;
	external.va_toastrelid = pointer->toastrelid;
	SET_VARTAG_EXTERNAL(datum, VARTAG_ONDISK);
	memcpy(VARDATA_EXTERNAL(datum), &external, sizeof(external));
	return datum;
}
