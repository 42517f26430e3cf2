/*-------------------------------------------------------------------------
 *
 * guard.c
 *	  Running code that may meet damaged pages.
 *
 * Lower layers raise an error when a page cannot be read, or when the status
 * of a transaction that never was is asked for.  Whoever looks for damage
 * wants to report that and to go on.  The code runs in a subtransaction,
 * which releases locks and pins that an error leaves behind; it has no
 * transaction id, so this works on a standby as well.
 *
 * Whatever is to outlive the call must be allocated and pinned outside of
 * it: the function copies what it has read into memory of its caller.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "utils/memutils.h"
#include "utils/resowner.h"

#include "guard.h"

/* Is this an error that damaged data can cause? */
static bool
caused_by_damage(int code)
{
	int			category = ERRCODE_TO_CATEGORY(code);

	/* internal errors and corruption; errors of input and output */
	return category == ERRCODE_INTERNAL_ERROR ||
		category == ERRCODE_SYSTEM_ERROR;
}

/*
 * Call function(arg) in the current memory context.  Returns NULL, or, when
 * it has raised an error that damage can cause, its message, allocated in
 * that context.  Any other error is raised again.
 */
const char *
guard_call(GuardedFunction function, void *arg)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	const char *volatile message = NULL;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		function(arg);
		ReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
		MemoryContextSwitchTo(context);
		CurrentResourceOwner = owner;
		if (!caused_by_damage(error->sqlerrcode))
			ReThrowError(error);
		message = error->message;
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;
	return message;
}
