/*-------------------------------------------------------------------------
 *
 * toast_am.h
 *	  toaster_chunks, the access method of our TOAST relations.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PG_TOASTER_TOAST_AM_H
#define PG_TOASTER_TOAST_AM_H

#include "postgres.h"

#include "access/tableam.h"

#include "pointer.h"

/* Name of the access method, as the extension's script creates it. */
#define TOAST_AM_NAME	"toaster_chunks"

extern const TableAmRoutine *toast_am_routine(void);
extern bool toast_am_pointer(Datum datum, TreePointer *pointer);
extern void toast_am_init(void);

#endif							/* PG_TOASTER_TOAST_AM_H */
