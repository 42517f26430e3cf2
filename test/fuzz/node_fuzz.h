/*-------------------------------------------------------------------------
 *
 * node_fuzz.h
 *	  Random numbers of the fuzzer, and its deltas.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PG_TOASTER_NODE_FUZZ_H
#define PG_TOASTER_NODE_FUZZ_H

#include <stddef.h>
#include <stdint.h>

#include "node_format.h"

/* The flaws of a delta that a checker must see. */
typedef enum DeltaFlaw
{
	DELTA_SOUND,
	DELTA_LEVEL,
	DELTA_COUNT,
	DELTA_NO_ROOT,
	DELTA_NO_SPLICES,
	DELTA_EMPTY_SPLICE,
	DELTA_KEPT,
	DELTA_REMOVED,
	DELTA_INSERTED,
	DELTA_VARINT,
	DELTA_NUMBER,
	DELTA_LONG,
	DELTA_SIZE,
	DELTA_NOTHING,
	DELTA_LARGE,
	DELTA_FLAWS
} DeltaFlaw;

/* node_fuzz.c */
extern uint64_t random_next(void);
extern uint32_t random_below(uint32_t limit);

/* delta_fuzz.c */
extern size_t delta_make(unsigned char *node, DeltaFlaw flaw);
extern void delta_repair(unsigned char *node, size_t size);
extern const char *delta_check(const Piece *piece, uint32_t result);

#endif							/* PG_TOASTER_NODE_FUZZ_H */
