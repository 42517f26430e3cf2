/*-------------------------------------------------------------------------
 *
 * planner.h
 *	  Our functions in the place of the server's, in finished plans.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PG_TOASTER_PLANNER_H
#define PG_TOASTER_PLANNER_H

extern void planner_init(void);

#endif							/* PG_TOASTER_PLANNER_H */
