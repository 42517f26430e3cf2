/*-------------------------------------------------------------------------
 *
 * row_compress.h
 *	  Compression of values that may stay in the row.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PG_TOASTER_ROW_COMPRESS_H
#define PG_TOASTER_ROW_COMPRESS_H

#include "postgres.h"

#include "catalog/pg_attribute.h"

extern Datum row_compress(Form_pg_attribute attr, Datum datum, char method,
						  Size limit);

#endif							/* PG_TOASTER_ROW_COMPRESS_H */
