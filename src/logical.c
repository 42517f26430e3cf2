/*-------------------------------------------------------------------------
 *
 * logical.c
 *	  Keeping wrong values from logical replication.
 *
 * The nodes of a tree are not decoded, so that a subscriber would take a new
 * value for an unchanged one.  Until whole values are written for decoding,
 * a statement that stores a tree in a table whose changes somebody decodes
 * is refused.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/catalog.h"
#include "miscadmin.h"
#include "replication/slot.h"
#include "storage/lwlock.h"
#include "utils/rel.h"

#include "logical.h"

/* Name of a logical slot of this database; false when there is none. */
static bool
find_logical_slot(NameData *name)
{
	bool		found = false;

	LWLockAcquire(ReplicationSlotControlLock, LW_SHARED);
	for (int i = 0; i < max_replication_slots && !found; i++)
	{
		ReplicationSlot *slot = &ReplicationSlotCtl->replication_slots[i];

		if (slot->in_use && SlotIsLogical(slot) &&
			slot->data.database == MyDatabaseId)
		{
			*name = slot->data.name;
			found = true;
		}
	}
	LWLockRelease(ReplicationSlotControlLock);
	return found;
}

/*
 * Raise an error when a tree written to rel, with the TABLE_INSERT_xxx
 * options given, would be decoded wrongly.
 *
 * The transaction gets its id first: a slot created after that does not
 * decode the transaction.
 */
void
logical_check_write(Relation rel, int options)
{
	NameData	name;

	if (RelationIsUsedAsCatalogTable(rel))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot store a value out of line in user catalog "
						"table \"%s\"", RelationGetRelationName(rel)),
				 errdetail("Access method \"toaster\" does not support "
						   "user_catalog_table.")));
	if (!RelationIsLogicallyLogged(rel) ||
		(options & TABLE_INSERT_NO_LOGICAL) != 0)
		return;
	(void) GetCurrentTransactionId();
	if (find_logical_slot(&name))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot store a value out of line in table \"%s\" "
						"while it is logically decoded",
						RelationGetRelationName(rel)),
				 errdetail("Logical replication slot \"%s\" would decode a "
						   "missing value.", NameStr(name)),
				 errhint("Drop the slot, or use a heap table.")));
}
