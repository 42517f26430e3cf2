/*-------------------------------------------------------------------------
 *
 * json_lazy.h
 *	  A part of a document as a datum that is read when it is needed.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PG_TOASTER_JSON_LAZY_H
#define PG_TOASTER_JSON_LAZY_H

#include "postgres.h"

#include "json_tree.h"

extern Datum json_lazy_make(const JsonItem *item);
extern bool json_lazy_open(Datum datum, JsonItem *item);

#endif							/* PG_TOASTER_JSON_LAZY_H */
