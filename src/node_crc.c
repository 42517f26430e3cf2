/*-------------------------------------------------------------------------
 *
 * node_crc.c
 *	  CRC-32C of nodes.
 *
 * Every chunk that is read is checked, so that this is most of the work of
 * reading what is not compressed.  The processor's instruction has a latency
 * of three cycles, and PostgreSQL uses it on one run of bytes: each step
 * waits for the one before.  Here three lanes, next to one another in the
 * node, are computed at a time, and put together at the end.
 *
 * The CRC is linear: with Z(c) for what a register c becomes by LANE zero
 * bytes, the register behind lanes A and B is Z(register behind A) XOR
 * (register behind B, begun at zero).  Z is linear, too, so that a table for
 * each of the register's four bytes gives it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "port/pg_crc32c.h"

#include "node_format.h"

#if defined(__x86_64__) && defined(__GNUC__)
#define HAVE_LANES
#endif

#ifdef HAVE_LANES

/*
 * Long enough to make up for putting lanes together, and short enough to
 * leave little of a node of 2 kB.
 */
#define LANE	192

static uint32 shift_table[4][256];
static int	lanes_ready = 0;	/* 1: shift_table is set; -1: no instruction */

/* Z(crc) */
static inline uint32
shift(uint32 crc)
{
	return shift_table[0][crc & 0xff] ^ shift_table[1][crc >> 8 & 0xff] ^
		shift_table[2][crc >> 16 & 0xff] ^ shift_table[3][crc >> 24];
}

/* Fill the tables: Z of each bit, then of each byte. */
static int
lanes_init(void)
{
	static const char zeros[LANE] = {0};

	if (!__builtin_cpu_supports("sse4.2"))
		return -1;
	for (int byte = 0; byte < 4; byte++)
	{
		uint32	   *table = shift_table[byte];

		for (int bit = 0; bit < 8; bit++)
		{
			pg_crc32c	crc = (uint32) 1 << (8 * byte + bit);

			COMP_CRC32C(crc, zeros, LANE);
			table[1 << bit] = crc;
			for (int i = 1; i < 1 << bit; i++)
				table[(1 << bit) + i] = table[1 << bit] ^ table[i];
		}
	}
	return 1;
}

/* The register behind the three lanes at data. */
static uint32 __attribute__((target("sse4.2")))
three_lanes(uint32 crc, const char *data)
{
	uint64		a = crc;
	uint64		b = 0;
	uint64		c = 0;

	for (int i = 0; i < LANE; i += sizeof(uint64))
	{
		uint64		word[3];

		memcpy(&word[0], data + i, sizeof(uint64));
		memcpy(&word[1], data + LANE + i, sizeof(uint64));
		memcpy(&word[2], data + 2 * LANE + i, sizeof(uint64));
		a = __builtin_ia32_crc32di(a, word[0]);
		b = __builtin_ia32_crc32di(b, word[1]);
		c = __builtin_ia32_crc32di(c, word[2]);
	}
	return shift(shift((uint32) a) ^ (uint32) b) ^ (uint32) c;
}

/* Take as many lanes from the front as there are; returns the register. */
static uint32
take_lanes(uint32 crc, const char **data, size_t *size)
{
	if (lanes_ready == 0)
		lanes_ready = lanes_init();
	while (lanes_ready > 0 && *size >= 3 * LANE)
	{
		crc = three_lanes(crc, *data);
		*data += 3 * LANE;
		*size -= 3 * LANE;
	}
	return crc;
}

#endif							/* HAVE_LANES */

/* The register behind size bytes, by PostgreSQL's own code. */
static uint32
one_lane(pg_crc32c crc, const char *data, size_t size)
{
	COMP_CRC32C(crc, data, size);
	return crc;
}

/* CRC-32C of size bytes. */
uint32_t
node_crc(const void *data, size_t size)
{
	const char *rest = data;
	size_t		left = size;
	pg_crc32c	crc;

	INIT_CRC32C(crc);
#ifdef HAVE_LANES
	crc = take_lanes(crc, &rest, &left);
#endif
	crc = one_lane(crc, rest, left);
	Assert(crc == one_lane(0xFFFFFFFF, data, size));
	FIN_CRC32C(crc);
	return crc;
}
