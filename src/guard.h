/*-------------------------------------------------------------------------
 *
 * guard.h
 *	  Running code that may meet damaged pages.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PG_TOASTER_GUARD_H
#define PG_TOASTER_GUARD_H

#include "postgres.h"

typedef void (*GuardedFunction) (void *arg);

extern const char *guard_call(GuardedFunction function, void *arg);

#endif							/* PG_TOASTER_GUARD_H */
