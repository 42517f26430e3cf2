/*-------------------------------------------------------------------------
 *
 * node_fuzz.c
 *	  Feeds the node checker with damaged nodes and random bytes.
 *
 *		node_fuzz seconds=N | nodes=N [seed=S]
 *
 * Proves of src/node_format.c, without a server:
 *
 *	1. node_problem() reads nothing outside the node: each node ends, or
 *	   begins, where memory that can be read does; and what stands in the
 *	   bytes of its last word that are not its own makes no difference.
 *	2. It accepts every well-made node, and refuses one with a known flaw.
 *	3. What it calls sound can be walked: all pieces, their references and
 *	   inline bytes lie within the node, one after the other, and keep what
 *	   the header of node_format.c promises.
 *
 * Nodes are well-made, flawed in one piece or splice, changed in a few
 * places, or random.  Changes often put the sums right again, so that damage
 * gets past the first check; a run in which no changed node is sound has
 * tested nothing, and fails.
 *
 * Ends with "N nodes, N sound, 0 problems"; a problem, also a crash, prints
 * the seed and the number of its node.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "codec_ids.h"
#include "node_format.h"
#include "node_fuzz.h"

/* No chunk is larger than a page. */
#define MAX_NODE		8192

/* Enough of them, so that a run with no sound one among them is suspect. */
#define ENOUGH_CHANGED	1000

static unsigned char *arena;	/* MAX_NODE bytes between unreadable pages */
static uint64_t random_state;
static uint64_t seed = 1;
static uint64_t node_number = 0;
static uint64_t changed_count = 0;
static uint64_t changed_sound_count = 0;
static uint64_t sound_count = 0;
static uint64_t problem_count = 0;

static volatile uint32_t sink;	/* keeps reads from being optimized away */

/* xorshift64* of Vigna, "An experimental exploration" (2016). */
uint64_t
random_next(void)
{
	random_state ^= random_state >> 12;
	random_state ^= random_state << 25;
	random_state ^= random_state >> 27;
	return random_state * UINT64_C(2685821657736338717);
}

/* A number from 0 to limit - 1. */
uint32_t
random_below(uint32_t limit)
{
	return (uint32_t) ((random_next() >> 32) % limit);
}

/* Each node follows from the seed and its number alone. */
static void
random_start(uint64_t number)
{
	random_state = (seed * UINT64_C(0x9E3779B97F4A7C15)) ^
		(number * UINT64_C(0xBF58476D1CE4E5B9));
	if (random_state == 0)
		random_state = 1;
	for (int i = 0; i < 4; i++)
		(void) random_next();
}

/* A number that code may have forgotten to think of. */
static uint32_t
random_edge(void)
{
	static const uint32_t edges[] = {
		0, 1, 2, 3, 4, 7, 8, 12, 15, 16, 24, 31, 32, 33, 127, 128, 255, 256,
		1996, 2032, 8191, 8192, 32767, 32768, 65535, 65536, 0x7FFFFFFF,
		0x80000000, 0xFFFFFFF0, 0xFFFFFFFE, 0xFFFFFFFF
	};

	if (random_below(3) == 0)
		return random_below(65536);
	return edges[random_below(sizeof(edges) / sizeof(edges[0]))];
}

/* The checker itself computes none; any function of all the bytes will do. */
uint32_t
node_crc(const void *data, size_t size)
{
	const unsigned char *at = data;
	uint32_t	sum = 0;

	for (size_t i = 0; i < size; i++)
		sum = sum * 31 + at[i];
	return sum;
}

static void
report(const char *problem)
{
	problem_count++;
	printf("seed=%llu node %llu: %s\n", (unsigned long long) seed,
		   (unsigned long long) node_number, problem);
}

/* Say which node it was; only async-signal-safe calls. */
static void
crashed(int signal_number)
{
	char		message[] = "problem: crashed at node 00000000000000000000\n";
	uint64_t	number = node_number;

	for (int i = sizeof(message) - 3; number > 0; number /= 10)
		message[i--] = '0' + number % 10;
	(void) !write(1, message, sizeof(message) - 1);
	_exit(100 + signal_number % 20);
}

/* Give the header of a piece one flaw that a checker must see. */
static void
spoil_piece(PieceHeader *head, int level)
{
	switch (random_below(level > 1 ? 5 : 4))
	{
		case 0:
			head->size = 0;
			break;
		case 1:
			head->refs = 0;
			head->inline_size = 0;
			break;
		case 2:
			head->method = CODEC_COUNT + random_below(256 - CODEC_COUNT);
			break;
		case 3:
			head->frame_size = level > 1 ? 1 : head->size - 1;
			break;
		default:
			head->skip = 1;
			break;
	}
}

/* Make a piece of a node of the given level at data; returns its size. */
static size_t
make_piece(unsigned char *data, int level, int inline_left, bool flaw)
{
	PieceHeader head = {1, 0, 0, 1 + random_below(100000), 0, 0};
	bool		flaw_in_ref = flaw && random_below(3) == 0;
	Ref			ref;

	if (level == 1)
	{
		head.refs = random_below(4);
		head.method = random_below(CODEC_COUNT);
		if (inline_left > 0 && (head.refs == 0 || random_below(3) == 0))
			head.inline_size = 1 + random_below(inline_left);
		if (head.refs == 0 && head.inline_size == 0)
			head.refs = 1;
		head.skip = random_below(3) == 0 ? random_below(5000) : 0;
		head.frame_size = head.skip + head.size + random_below(2000);
	}
	if (flaw_in_ref && head.refs == 0)
		head.refs = 1;
	if (flaw && !flaw_in_ref)
		spoil_piece(&head, level);
	memcpy(data, &head, sizeof(head));
	for (int i = 0; i < head.refs; i++)
	{
		ref.block = (uint32_t) random_next();
		ref.offset = 1 + random_below(290);
		ref.size = sizeof(NodeHeader) + random_below(8000);
		ref.crc = (uint32_t) random_next();
		if (flaw_in_ref && i == 0 && random_below(2))
			ref.offset = 0;
		else if (flaw_in_ref && i == 0)
			ref.size = random_below(sizeof(NodeHeader));
		memcpy(data + sizeof(head) + i * sizeof(Ref), &ref, sizeof(ref));
	}
	return PIECE_SIZE(head.refs);
}

/*
 * Make a window without bytes of its own, behind a piece with Refs but no
 * inline bytes, or with a flaw in that; returns its size.
 */
static size_t
make_window(unsigned char *data, const PieceHeader *frame, bool flaw)
{
	PieceHeader head = *frame;

	head.refs = 0;
	head.inline_size = 0;
	if (flaw && frame->inline_size == 0)
	{
		if (random_below(2))
			head.method = (head.method + 1) % CODEC_COUNT;
		else
			head.frame_size++;
	}
	memcpy(data, &head, sizeof(head));
	return sizeof(head);
}

/* Make a ROPE node, with a flaw in one piece or none; returns its size. */
static size_t
make_rope(unsigned char *node, bool flaw)
{
	int			count = 1 + random_below(20);
	int			flaw_at = flaw ? (int) random_below(count) : -1;
	RopeHeader	head = {{NODE_FORMAT, NODE_KIND_ROPE, 0, 0}, count, 0, 0};
	PieceHeader frame = {0, 0, 0, 0, 0, 0};
	size_t		at = sizeof(head);

	head.node.level = random_below(3) == 0 ?
		1 + random_below(NODE_MAX_LEVEL) : 1;
	head.node.flags = random_below(2) ? NODE_FLAG_ROOT : 0;
	for (int i = 0; i < count; i++)
	{
		PieceHeader piece;
		size_t		size;
		bool		flawed = i == flaw_at;

		/* with inline bytes the frame is one that windows cannot share */
		if (head.node.level == 1 && frame.refs > 0 && random_below(2) &&
			(flawed || frame.inline_size == 0))
			size = make_window(node + at, &frame, flawed);
		else
			size = make_piece(node + at, head.node.level,
							  random_below(2) ? 100 : 0, flawed);
		memcpy(&piece, node + at, sizeof(piece));
		if (piece.refs > 0)
			frame = piece;
		head.inline_size += piece.inline_size;
		head.size += piece.size;
		at += size;
	}
	memset(node + at, 'x', head.inline_size);
	at += NODE_ALIGN(head.inline_size);
	if (head.node.flags & NODE_FLAG_ROOT)
	{
		RootTrailer trailer = {0, 0, head.size, 0};

		if (random_below(4) == 0)
		{
			head.node.kind = NODE_KIND_JSON;
			head.node.flags |= random_below(2) ? NODE_FLAG_EDITED : 0;
			trailer.flat_size = (uint32_t) random_next();
		}
		memcpy(node + at, &trailer, sizeof(trailer));
		at += sizeof(trailer);
	}
	memcpy(node, &head, sizeof(head));
	return at;
}

/* Make a well-made node; returns its size. */
static size_t
make_node(unsigned char *node)
{
	NodeHeader	data = {NODE_FORMAT, NODE_KIND_DATA, 0, 0};
	uint32_t	kind = random_below(10);
	size_t		size;

	if (kind > 7)
		return delta_make(node, DELTA_SOUND);
	if (kind > 0)
		return make_rope(node, false);
	size = sizeof(data) + random_below(2000);
	memset(node, 'd', size);
	memcpy(node, &data, sizeof(data));
	return size;
}

/* Put the sums of a ROPE node's header right, as far as pieces can be read. */
static void
repair_sums(unsigned char *node, size_t size)
{
	RopeHeader	head;
	size_t		at = sizeof(head);

	if (size < sizeof(head))
		return;
	memcpy(&head, node, sizeof(head));
	if (head.node.flags & NODE_FLAG_DELTA)
	{
		delta_repair(node, size);
		return;
	}
	head.inline_size = 0;
	head.size = 0;
	for (int i = 0; i < head.count && at + sizeof(PieceHeader) <= size; i++)
	{
		PieceHeader piece;

		memcpy(&piece, node + at, sizeof(piece));
		head.inline_size += piece.inline_size;
		head.size += piece.size;
		at += PIECE_SIZE(piece.refs);
	}
	memcpy(node, &head, sizeof(head));
	if (head.node.kind == NODE_KIND_ROPE &&
		(head.node.flags & NODE_FLAG_ROOT) != 0 &&
		size >= sizeof(head) + sizeof(RootTrailer))
		memcpy(node + size - sizeof(RootTrailer) +
			   offsetof(RootTrailer, flat_size), &head.size,
			   sizeof(head.size));
}

/* Change a node somewhere; returns its size. */
static size_t
change_node(unsigned char *node, size_t size)
{
	uint32_t	value = random_edge();
	size_t		at;
	size_t		width = (size_t) 1 << random_below(3);

	/* half of the changes near the start, where the structures are */
	at = random_below(size > 64 && random_below(2) ? 64 : size);
	switch (random_below(6))
	{
		case 0:
			node[at] ^= 1 << random_below(8);
			break;
		case 1:
			node[at] = (unsigned char) value;
			break;
		case 2:
			at = at / width * width;
			if (at + width <= size)
				memcpy(node + at, &value, width);
			break;
		case 3:
			size = random_below(size + 1);
			break;
		case 4:
			size += random_below(2) ? 4 : random_below(64);
			size = size > MAX_NODE ? MAX_NODE : size;
			break;
		default:
			width = random_below(48);
			if (at + width <= size)
				memmove(node + at, node + random_below(size - width + 1),
						width);
			break;
	}
	return size;
}

/* Touch bytes, which must be the next ones that are allowed. */
static const char *
take_bytes(const char *data, size_t size, const char **next,
		   const char *end)
{
	if (data != *next || size > (size_t) (end - data))
		return "something lies outside the node, or in the wrong place";
	sink += node_crc(data, size);
	*next = data + size;
	return NULL;
}

/* Does a piece keep the promises of node_format.c's header? */
static const char *
check_piece(const Piece *piece, int level, bool delta)
{
	const PieceHeader *head = &piece->head;

	if (head->size == 0)
		return "an empty piece is sound";
	for (int i = 0; i < head->refs; i++)
	{
		if (piece->refs[i].offset == 0 ||
			piece->refs[i].size < sizeof(NodeHeader))
			return "an invalid reference is sound";
	}
	if (level > 1)
		return head->refs == 1 && (delta || head->inline_size == 0) &&
			head->method == 0 && head->skip == 0 && head->frame_size == 0 ?
			NULL : "a subtree with a frame is sound";
	if ((uint64_t) head->skip + head->size > head->frame_size)
		return "a window outside its frame is sound";
	if (head->method >= CODEC_COUNT)
		return "an unknown method is sound";
	if (head->refs == 0 && head->inline_size == 0)
		return "a frame without bytes is sound";
	return NULL;
}

/* Is a window without bytes on the frame of the last piece with Refs? */
static const char *
check_window(const Piece *piece, const Piece *frame)
{
	if (frame->head.refs == 0)
		return "a frame without bytes is sound";
	if (piece->refs != frame->refs || piece->head.refs != frame->head.refs)
		return "a window has the wrong Refs";
	return frame->head.inline_size == 0 &&
		piece->head.method == frame->head.method &&
		piece->head.frame_size == frame->head.frame_size ? NULL :
		"a window on another frame is sound";
}

/* Walk a ROPE node that is said to be sound. */
static const char *
walk_rope(const char *node, size_t size)
{
	const RopeHeader *head = (const RopeHeader *) node;
	const char *end = node + size;
	const char *next = node + sizeof(RopeHeader);
	const char *next_bytes;
	PieceCursor cursor;
	Piece		piece;
	Piece		frame = {{0, 0, 0, 0, 0, 0}, NULL, NULL, NULL};
	uint64_t	total = 0;
	size_t		inline_size = 0;
	int			count = 0;
	const char *problem = NULL;

	if (size < sizeof(RopeHeader) || head->node.level < 1 ||
		head->node.level > NODE_MAX_LEVEL)
		return "a node without a sound header is sound";
	if (node_is_root(node))
		end = (const char *) node_trailer(node, size);
	node_pieces_begin(&cursor, node);
	next_bytes = cursor.bytes;
	while (problem == NULL && node_pieces_next(&cursor, &piece))
	{
		const PieceHeader *own = (const PieceHeader *) piece.place;

		problem = take_bytes(piece.place, PIECE_SIZE(own->refs), &next, end);
		if (problem == NULL && own->refs == 0 && own->inline_size == 0)
			problem = check_window(&piece, &frame);
		if (problem == NULL && own->refs > 0)
			frame = piece;
		if (problem == NULL)
			problem = take_bytes(piece.bytes, piece.head.inline_size,
								 &next_bytes, end);
		if (problem == NULL)
			problem = check_piece(&piece, head->node.level,
								  node_is_delta(node));
		total += piece.head.size;
		inline_size += piece.head.inline_size;
		count++;
	}
	if (problem != NULL)
		return problem;
	if (count != head->count || count == 0 ||
		(total != head->size && !node_is_delta(node)) ||
		inline_size != head->inline_size)
		return "counts or sizes do not add up";
	if (node_is_delta(node))
	{
		if (count != 1 || head->node.level < 2 || !node_is_root(node))
			return "a delta on something else than one root is sound";
		problem = delta_check(&piece, head->size);
		if (problem != NULL)
			return problem;
	}
	if (NODE_ALIGN(next_bytes - next) != (size_t) (end - next))
		return "the inline bytes do not end with the node";
	return NULL;
}

/* Walk a node that is said to be sound; returns what is wrong, or NULL. */
static const char *
walk_node(const char *node, size_t size)
{
	const NodeHeader *head = (const NodeHeader *) node;

	if (size < sizeof(NodeHeader) || head->format != NODE_FORMAT ||
		(head->flags & ~NODE_FLAGS) != 0)
		return "a node without a sound header is sound";
	sink += node_crc(node, size);
	if (node_is_root(node))
	{
		if (size < sizeof(RopeHeader) + sizeof(RootTrailer))
			return "a root without a trailer is sound";
		sink += node_trailer(node, size)->version;
		sink += node_root_crc(node, size);
	}
	if (head->kind == NODE_KIND_JSON && !node_is_root(node))
		return "a branch of a document's kind is sound";
	if (node_is_edited(node) &&
		(head->kind != NODE_KIND_JSON || !node_is_root(node)))
		return "what is no root of a document is sound as an edited one";
	if (head->kind == NODE_KIND_ROPE && node_is_root(node) &&
		node_trailer(node, size)->flat_size !=
		((const RopeHeader *) node)->size)
		return "a trailer with another size is sound";
	if (head->kind == NODE_KIND_ROPE || head->kind == NODE_KIND_JSON)
		return walk_rope(node, size);
	if (head->kind != NODE_KIND_DATA)
		return "an unknown kind of node is sound";
	return head->level == 0 && head->flags == 0 ? NULL :
		"a data node with a level is sound";
}

typedef enum Expected
{
	EXPECT_SOUND,
	EXPECT_PROBLEM,
	EXPECT_EITHER
} Expected;

/* Check one node, at the end of the arena or at its start. */
static void
try_node(const unsigned char *node, size_t size, Expected expected,
		 bool at_end)
{
	size_t		room = NODE_ALIGN(size);
	unsigned char *place = at_end ? arena + MAX_NODE - room : arena;
	const char *problem;
	const char *again;

	memcpy(place, node, size);
	memset(place + size, 0, room - size);
	problem = node_problem(place, size);
	memset(place + size, 0xFF, room - size);
	again = node_problem(place, size);
	if ((problem == NULL) != (again == NULL))
		report("bytes behind the node make a difference");
	if (memcmp(place, node, size) != 0)
		report("the checker writes");
	if (expected == EXPECT_SOUND && problem != NULL)
		report(problem);
	if (expected == EXPECT_PROBLEM && problem == NULL)
		report("a flaw is not seen");
	if (problem != NULL)
		return;
	sound_count++;
	again = walk_node((const char *) place, size);
	if (again != NULL)
		report(again);
}

/* Random bytes, half of them behind a header that looks right. */
static size_t
make_garbage(unsigned char *node)
{
	size_t		size = random_below(random_below(8) ? 64 : MAX_NODE + 1);

	for (size_t i = 0; i < size; i++)
		node[i] = (unsigned char) random_next();
	if (size >= sizeof(NodeHeader) && random_below(2))
	{
		node[0] = NODE_FORMAT;
		node[1] = NODE_KIND_ROPE;
		node[2] = 1 + random_below(3);
		node[3] &= NODE_FLAGS;
	}
	return size;
}

/* Make and try the next node. */
static void
run_one(void)
{
	static unsigned char node[2 * MAX_NODE];
	uint32_t	kind = random_below(20);
	uint64_t	sound_before = sound_count;
	bool		at_end = random_below(4) > 0;
	size_t		size;

	if (kind == 0)
		try_node(node, make_node(node), EXPECT_SOUND, at_end);
	else if (kind <= 2)
		try_node(node, make_rope(node, true), EXPECT_PROBLEM, at_end);
	else if (kind == 3)
		try_node(node, delta_make(node, 1 + random_below(DELTA_FLAWS - 1)),
				 EXPECT_PROBLEM, at_end);
	else if (kind <= 5)
		try_node(node, make_garbage(node), EXPECT_EITHER, at_end);
	else
	{
		size = make_node(node);
		for (int i = random_below(3); i >= 0 && size > 0; i--)
			size = change_node(node, size);
		if (random_below(2))
			repair_sums(node, size);
		try_node(node, size, EXPECT_EITHER, at_end);
		changed_count++;
		changed_sound_count += sound_count - sound_before;
	}
}

/* Map the arena between two pages that cannot be read. */
static void
make_arena(void)
{
	size_t		guard = (size_t) sysconf(_SC_PAGESIZE);
	unsigned char *map;

	if (guard < MAX_NODE)
		guard = MAX_NODE;
	map = mmap(NULL, MAX_NODE + 2 * guard, PROT_NONE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (map == MAP_FAILED ||
		mprotect(map + guard, MAX_NODE, PROT_READ | PROT_WRITE) != 0)
	{
		perror("no memory");
		exit(2);
	}
	arena = map + guard;
}

/* Read the arguments. */
static void
parse(int argc, char **argv, uint64_t *seconds, uint64_t *nodes)
{
	for (int i = 1; i < argc; i++)
	{
		unsigned long long value;
		char		rest;

		if (sscanf(argv[i], "seconds=%llu%c", &value, &rest) == 1)
			*seconds = value;
		else if (sscanf(argv[i], "nodes=%llu%c", &value, &rest) == 1)
			*nodes = value;
		else if (sscanf(argv[i], "seed=%llu%c", &value, &rest) == 1)
			seed = value;
		else
			argc = 0;
	}
	if (argc < 2 || (*seconds == 0) == (*nodes == 0))
	{
		fprintf(stderr, "usage: node_fuzz seconds=N | nodes=N [seed=S]\n");
		exit(2);
	}
}

int
main(int argc, char **argv)
{
	uint64_t	seconds = 0;
	uint64_t	nodes = 0;
	time_t		start = time(NULL);

	parse(argc, argv, &seconds, &nodes);
	make_arena();
	signal(SIGSEGV, crashed);
	signal(SIGBUS, crashed);
	signal(SIGABRT, crashed);
	printf("seed=%llu\n", (unsigned long long) seed);
	fflush(stdout);
	while (problem_count < 10 &&
		   (nodes > 0 ? node_number < nodes :
			node_number % 1024 != 0 ||
			(uint64_t) (time(NULL) - start) < seconds))
	{
		node_number++;
		random_start(node_number);
		run_one();
	}
	if (changed_count >= ENOUGH_CHANGED && changed_sound_count == 0)
		report("no changed node is sound: the checker was hardly tested");
	printf("%llu nodes, %llu sound, %llu problems\n",
		   (unsigned long long) node_number, (unsigned long long) sound_count,
		   (unsigned long long) problem_count);
	return problem_count > 0;
}
