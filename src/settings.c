/*-------------------------------------------------------------------------
 *
 * settings.c
 *	  The settings pg_toaster.*, and what follows from node_size.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>
#include <signal.h>
#include <unistd.h>

#include "miscadmin.h"
#include "utils/guc.h"
#include "utils/plancache.h"

#include "codec.h"
#include "node_format.h"
#include "settings.h"

int			settings_compression = CODEC_LZ4;
int			settings_node_size = NODE_SIZE_MAX;
int			settings_min_tree_size = 0;
bool		settings_force_indexed = false;
bool		settings_enable_planner = true;
char	   *settings_failpoint = "";

/*
 * A frame's bytes, in nodes.  192 kB cost less than a percent of the ratio
 * that lz4 reaches on whole values; half of it decompresses in 20 to 40
 * microseconds.
 */
#define FRAME_NODES		96

/* Hits left until the failpoint acts; set when the setting is assigned. */
static int	failpoint_hits_left = 1;

static const struct config_enum_entry compression_options[] = {
	{"none", CODEC_NONE, false},
	{"pglz", CODEC_PGLZ, false},
	{"lz4", CODEC_LZ4, false},
	{"zstd", CODEC_ZSTD, false},
	{NULL, 0, false}
};

static const char *const failpoint_names[] = {
	"chunks_inserted", "node_written", "before_row", "after_row",
	"node_deleted"
};

/*
 * Split 'NAME[:ACTION[:N]]'.  Returns false when it is malformed; otherwise
 * *name_size is the length of NAME, and *crash and *hits are set.
 */
static bool
failpoint_parse(const char *value, size_t *name_size, bool *crash, int *hits)
{
	const char *action = strchr(value, ':');
	const char *count;

	*name_size = action ? (size_t) (action - value) : strlen(value);
	*crash = true;
	*hits = 1;
	if (action == NULL)
		return true;
	action++;
	count = strchr(action, ':');
	if (count != NULL)
	{
		char	   *end;
		long		n = strtol(count + 1, &end, 10);

		if (end == count + 1 || *end != '\0' || n < 1 || n > INT_MAX)
			return false;
		*hits = (int) n;
	}
	if (strncmp(action, "error", 5) == 0)
		*crash = false;
	else if (strncmp(action, "crash", 5) != 0)
		return false;
	return action[5] == '\0' || action[5] == ':';
}

static bool
failpoint_check(char **newval, void **extra, GucSource source)
{
	size_t		name_size;
	bool		crash;
	int			hits;

	if ((*newval)[0] == '\0')
		return true;
	if (failpoint_parse(*newval, &name_size, &crash, &hits))
	{
		for (int i = 0; i < lengthof(failpoint_names); i++)
		{
			if (strlen(failpoint_names[i]) == name_size &&
				strncmp(failpoint_names[i], *newval, name_size) == 0)
				return true;
		}
	}
	GUC_check_errhint("Use NAME, NAME:crash:N or NAME:error:N with one of the "
					  "names in doc/reference.md.");
	return false;
}

static void
failpoint_assign(const char *newval, void *extra)
{
	size_t		name_size;
	bool		crash;

	if (!failpoint_parse(newval, &name_size, &crash, &failpoint_hits_left))
		failpoint_hits_left = 1;
}

/*
 * End the process or raise an error when the setting names this place and
 * it has been passed often enough.  Called through FAILPOINT().
 */
void
failpoint_hit(const char *name)
{
	size_t		name_size;
	bool		crash;
	int			hits;

	if (!failpoint_parse(settings_failpoint, &name_size, &crash, &hits) ||
		strlen(name) != name_size ||
		strncmp(settings_failpoint, name, name_size) != 0)
		return;
	if (--failpoint_hits_left > 0)
		return;
	failpoint_hits_left = hits;
	if (crash)
		kill(MyProcPid, SIGKILL);
	ereport(ERROR,
			(errcode(ERRCODE_INTERNAL_ERROR),
			 errmsg("failpoint \"%s\" was hit", name)));
}

/* The sizes that follow from pg_toaster.node_size. */
void
settings_limits(RopeLimits *limits)
{
	Size		node_size = settings_node_size;

	limits->capacity = node_size - sizeof(RopeHeader) - sizeof(RootTrailer);
	limits->node_payload = node_size - sizeof(NodeHeader);

	/*
	 * A full DATA node takes what four smaller ones would take, with the
	 * tuple headers (24), columns (12) and line pointers (4) of three.
	 */
	limits->full_payload = 4 * node_size + 3 * 40 - sizeof(NodeHeader);
	limits->max_refs = (limits->capacity / 2 - sizeof(PieceHeader)) /
		sizeof(Ref);
	limits->max_refs = Min(limits->max_refs, UINT8_MAX);
	limits->frame_size = Min(FRAME_NODES * node_size,
							 limits->max_refs * limits->full_payload);
	limits->inline_size = node_size / 4;
}

static void
define_rope_settings(void)
{
	DefineCustomEnumVariable("pg_toaster.compression",
							 "Compression method of values that are stored "
							 "out of line.",
							 "A column's own COMPRESSION takes precedence.",
							 &settings_compression,
							 CODEC_LZ4,
							 compression_options,
							 PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("pg_toaster.min_tree_size",
							"Values of at least this size are always stored "
							"out of line.",
							"Zero leaves the decision to the size of the "
							"row, as in a heap table.",
							&settings_min_tree_size,
							0, 0, INT_MAX,
							PGC_USERSET, GUC_UNIT_BYTE | GUC_NOT_IN_SAMPLE,
							NULL, NULL, NULL);
	DefineCustomIntVariable("pg_toaster.node_size",
							"Largest node of a tree.",
							"A developer setting: small nodes force deep "
							"trees on small values.",
							&settings_node_size,
							NODE_SIZE_MAX, NODE_SIZE_MIN, NODE_SIZE_MAX,
							PGC_USERSET, GUC_UNIT_BYTE | GUC_NOT_IN_SAMPLE,
							NULL, NULL, NULL);
}

/* Plans that were made under the other setting are made anew. */
static void
enable_planner_assign(bool newval, void *extra)
{
	if (newval != settings_enable_planner)
		ResetPlanCache();
}

static void
define_developer_settings(void)
{
	DefineCustomBoolVariable("pg_toaster.enable_planner",
							 "Read parts of documents instead of whole "
							 "documents.",
							 "A developer setting, for tests.",
							 &settings_enable_planner,
							 true,
							 PGC_USERSET, GUC_NOT_IN_SAMPLE,
							 NULL, enable_planner_assign, NULL);
	DefineCustomBoolVariable("pg_toaster.force_indexed",
							 "Reach every root through the index of the "
							 "TOAST relation.",
							 "A developer setting, for tests.",
							 &settings_force_indexed,
							 false,
							 PGC_USERSET, GUC_NOT_IN_SAMPLE,
							 NULL, NULL, NULL);
	DefineCustomStringVariable("pg_toaster.failpoint",
							   "Where the server is to crash or raise an "
							   "error.",
							   "A developer setting, for tests.",
							   &settings_failpoint,
							   "",
							   PGC_SUSET,
							   GUC_NOT_IN_SAMPLE | GUC_NO_SHOW_ALL,
							   failpoint_check, failpoint_assign, NULL);
}

/* Define the settings; called once, when the library is loaded. */
void
settings_init(void)
{
	define_rope_settings();
	define_developer_settings();
	MarkGUCPrefixReserved("pg_toaster");
}
