/*-------------------------------------------------------------------------
 *
 * function_map.c
 *	  Which function of ours stands for which function of the server.
 *
 * The library may be loaded where the extension is not installed, or where
 * an older script of it is, and an administrator may have taken a function
 * away from somebody.  So the functions of ours are looked up in the
 * catalogs of the database, and looked up again when these change:
 *
 * Invariants
 *	1. A function of ours is used only if it is in the schema toaster under
 *	   the name and with the arguments of the server's, in C, with the
 *	   symbol that belongs to it.  Only a superuser can make such a function,
 *	   so nobody can put another one in its place.
 *	2. It is used only if everybody may execute both it and the server's.
 *	   A cached plan can be executed for another user than it was made for,
 *	   and the executor would check ours instead of the server's.
 *	3. A plan that uses a pair depends on both entries of pg_proc.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/namespace.h"
#include "catalog/pg_language.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "nodes/plannodes.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/plancache.h"
#include "utils/syscache.h"

#include "function_map.h"

/* A function of ours has the server's symbol with this in front. */
#define SYMBOL_PREFIX "pg_toaster_"

/* In the order of OIDs. */
static FunctionPair pairs[] = {
	{F_GET_BYTE},
	{F_SET_BYTE, true},
	{F_GET_BIT_BYTEA_INT8},
	{F_SET_BIT_BYTEA_INT8_INT4, true},
	{F_OVERLAY_BYTEA_BYTEA_INT4_INT4, true},
	{F_OVERLAY_BYTEA_BYTEA_INT4, true},
	{F_POSITION_TEXT_TEXT},
	{F_STRPOS},
	{F_SUBSTR_TEXT_INT4_INT4, true, true},
	{F_SUBSTR_TEXT_INT4, true, true},
	{F_SUBSTRING_TEXT_INT4_INT4, true, true},
	{F_SUBSTRING_TEXT_INT4, true, true},
	{F_JSONB_PATH_EXISTS_TZ},
	{F_JSONB_PATH_QUERY_TZ},
	{F_JSONB_PATH_QUERY_ARRAY_TZ},
	{F_TEXTLEN},
	{F_TEXTCAT, true},
	{F_LENGTH_TEXT},
	{F_CHARACTER_LENGTH_TEXT},
	{F_CHAR_LENGTH_TEXT},
	{F_OVERLAY_TEXT_TEXT_INT4_INT4, true},
	{F_OVERLAY_TEXT_TEXT_INT4, true},
	{F_BYTEACAT, true},
	{F_SUBSTRING_BYTEA_INT4_INT4, true},
	{F_SUBSTRING_BYTEA_INT4, true},
	{F_POSITION_BYTEA_BYTEA},
	{F_JSONB_PATH_QUERY_FIRST_TZ},
	{F_JSONB_PATH_MATCH_TZ},
	{F_SUBSTR_BYTEA_INT4_INT4, true},
	{F_SUBSTR_BYTEA_INT4, true},
	{F_LEFT, true, true},
	{F_RIGHT, true, true},
	{F_JSONB_ARRAY_LENGTH},
	{F_JSONB_EACH},
	{F_JSONB_TYPEOF},
	{F_JSONB_OBJECT_FIELD_TEXT},
	{F_JSONB_ARRAY_ELEMENT},
	{F_JSONB_ARRAY_ELEMENT_TEXT},
	{F_JSONB_EXTRACT_PATH},
	{F_JSONB_ARRAY_ELEMENTS},
	{F_JSONB_CONCAT, true},
	{F_JSONB_DELETE_JSONB_TEXT, true},
	{F_JSONB_DELETE_JSONB_INT4, true},
	{F_JSONB_DELETE_PATH, true},
	{F_JSONB_SET, true},
	{F_JSONB_DELETE_JSONB__TEXT, true},
	{F_JSONB_ARRAY_ELEMENTS_TEXT},
	{F_JSONB_OBJECT_FIELD},
	{F_JSONB_INSERT, true},
	{F_STARTS_WITH},
	{F_JSONB_OBJECT_KEYS},
	{F_JSONB_EACH_TEXT},
	{F_JSONB_EXTRACT_PATH_TEXT},
	{F_JSONB_PATH_EXISTS},
	{F_JSONB_PATH_QUERY},
	{F_JSONB_PATH_QUERY_ARRAY},
	{F_JSONB_PATH_QUERY_FIRST},
	{F_JSONB_PATH_MATCH},
	{F_JSONB_PATH_EXISTS_OPR},
	{F_JSONB_PATH_MATCH_OPR},
	{F_JSONB_CONTAINS},
	{F_JSONB_EXISTS},
	{F_JSONB_EXISTS_ANY},
	{F_JSONB_EXISTS_ALL},
	{F_JSONB_CONTAINED},
	{F_JSONB_SET_LAX, true},
};

/* Functions that stand for none of the server's. */
typedef struct OwnFunction
{
	const char *name;
	const char *symbol;
	Oid			result;
	int			count;
	Oid			arguments[4];
	FunctionPair pair;			/* both sides are the same */
} OwnFunction;

static OwnFunction projection =
{
	"jsonb_path_project", "jsonb_path_project", JSONBOID,
	3, {JSONBOID, JSONPATHOID, JSONPATHARRAYOID}
};
static OwnFunction assignment =
{
	"jsonb_subscript_assign", "jsonb_subscript_assign", JSONBOID,
	4, {JSONBOID, TEXTARRAYOID, JSONBOID, BOOLOID}
};

/* Those that users call, and that may return edits. */
static OwnFunction editors[] = {
	{"splice", "splice_bytea", BYTEAOID, 4,
	{BYTEAOID, INT8OID, INT8OID, BYTEAOID}},
	{"splice", "splice_text", TEXTOID, 4,
	{TEXTOID, INT8OID, INT8OID, TEXTOID}},
	{"append", "append_bytea", BYTEAOID, 2, {BYTEAOID, BYTEAOID}},
	{"append", "append_text", TEXTOID, 2, {TEXTOID, TEXTOID}},
	{"truncate", "truncate_bytea", BYTEAOID, 2, {BYTEAOID, INT8OID}},
	{"truncate", "truncate_text", TEXTOID, 2, {TEXTOID, INT8OID}},
};

/* What the catalogs said, as long as it is valid. */
static bool pairs_valid = false;
static bool complete = false;	/* every function of ours was found */
static bool access_method_valid = false;
static Oid	access_method = InvalidOid;

static bool
own_changed(const OwnFunction *own, uint32 hash)
{
	if (own->pair.our_hash != hash)
		return false;
	ResetPlanCache();
	return true;
}

/*
 * Something in pg_proc changed: one of the functions looked up, or all.  What
 * the plan cache holds may do better now, or be forbidden.
 */
static void
forget_function(Datum arg, int cache, uint32 hash)
{
	if (!complete || hash == 0)
		pairs_valid = false;
	for (int i = 0; i < lengthof(pairs); i++)
	{
		if (pairs[i].stock_hash != hash && pairs[i].our_hash != hash)
			continue;
		pairs_valid = false;
		ResetPlanCache();
		break;
	}
	if (own_changed(&projection, hash) || own_changed(&assignment, hash))
		pairs_valid = false;
	for (int i = 0; i < lengthof(editors); i++)
	{
		if (own_changed(&editors[i], hash))
			pairs_valid = false;
	}
}

static void
forget_schema(Datum arg, int cache, uint32 hash)
{
	pairs_valid = false;
}

static void
forget_access_method(Datum arg, int cache, uint32 hash)
{
	access_method_valid = false;
}

/* May everybody execute the function? */
static bool
is_public(HeapTuple function)
{
	bool		isnull;
	Datum		value = SysCacheGetAttr(PROCOID, function,
										Anum_pg_proc_proacl, &isnull);
	Acl		   *acl;
	bool		result = false;

	if (isnull)
		return true;
	acl = DatumGetAclPCopy(value);
	for (int i = 0; i < ACL_NUM(acl) && !result; i++)
	{
		const AclItem *item = &ACL_DAT(acl)[i];

		result = item->ai_grantee == ACL_ID_PUBLIC &&
			(ACLITEM_GET_PRIVS(*item) & ACL_EXECUTE) != 0;
	}
	pfree(acl);
	return result;
}

static char *
symbol_of(HeapTuple function)
{
	bool		isnull;
	Datum		value = SysCacheGetAttr(PROCOID, function,
										Anum_pg_proc_prosrc, &isnull);

	return isnull ? pstrdup("") : TextDatumGetCString(value);
}

/* Look for the function of ours that stands for the server's. */
static void
look_up(FunctionPair *pair, HeapTuple stock, Oid schema)
{
	Form_pg_proc stock_form = (Form_pg_proc) GETSTRUCT(stock);
	HeapTuple	ours;
	Form_pg_proc form;
	char	   *symbol;
	char	   *expected;

	ours = SearchSysCache3(PROCNAMEARGSNSP,
						   CStringGetDatum(NameStr(stock_form->proname)),
						   PointerGetDatum(&stock_form->proargtypes),
						   ObjectIdGetDatum(schema));
	if (!HeapTupleIsValid(ours))
		return;
	form = (Form_pg_proc) GETSTRUCT(ours);
	pair->our_hash = GetSysCacheHashValue1(PROCOID,
										   ObjectIdGetDatum(form->oid));
	symbol = symbol_of(ours);
	expected = psprintf("%s%s", SYMBOL_PREFIX, symbol_of(stock));
	if (stock_form->prolang == INTERNALlanguageId &&
		form->prolang == ClanguageId && strcmp(symbol, expected) == 0 &&
		is_public(stock) && is_public(ours))
		pair->ours = form->oid;
	ReleaseSysCache(ours);
}

/* Look for a function that stands for none of the server's. */
static void
look_up_own(OwnFunction *own, Oid schema)
{
	FunctionPair *pair = &own->pair;
	oidvector  *types = buildoidvector(own->arguments, own->count);
	HeapTuple	ours;
	Form_pg_proc form;

	pair->stock = pair->ours = InvalidOid;
	pair->our_hash = 0;
	if (!OidIsValid(schema))
		return;
	ours = SearchSysCache3(PROCNAMEARGSNSP, CStringGetDatum(own->name),
						   PointerGetDatum(types), ObjectIdGetDatum(schema));
	if (!HeapTupleIsValid(ours))
		return;
	form = (Form_pg_proc) GETSTRUCT(ours);
	pair->our_hash =
		GetSysCacheHashValue1(PROCOID, ObjectIdGetDatum(form->oid));
	pair->stock_hash = pair->our_hash;
	if (form->prolang == ClanguageId && form->prorettype == own->result &&
		strcmp(symbol_of(ours),
			   psprintf("%s%s", SYMBOL_PREFIX, own->symbol)) == 0 &&
		is_public(ours))
		pair->stock = pair->ours = form->oid;
	ReleaseSysCache(ours);
}

static void
look_up_owns(Oid schema)
{
	look_up_own(&projection, schema);
	look_up_own(&assignment, schema);
	complete = complete && OidIsValid(projection.pair.ours) &&
		OidIsValid(assignment.pair.ours);
	for (int i = 0; i < lengthof(editors); i++)
	{
		look_up_own(&editors[i], schema);
		complete = complete && OidIsValid(editors[i].pair.ours);
	}
}

/* Look up all functions. */
static void
look_up_pairs(void)
{
	Oid			schema = get_namespace_oid("toaster", true);

	complete = OidIsValid(schema);
	for (int i = 0; i < lengthof(pairs); i++)
	{
		FunctionPair *pair = &pairs[i];
		HeapTuple	stock;

		Assert(i == 0 || pairs[i - 1].stock < pair->stock);
		pair->ours = InvalidOid;
		pair->our_hash = 0;
		stock = OidIsValid(schema) ?
			SearchSysCache1(PROCOID, ObjectIdGetDatum(pair->stock)) : NULL;
		if (HeapTupleIsValid(stock))
		{
			pair->stock_hash =
				GetSysCacheHashValue1(PROCOID, ObjectIdGetDatum(pair->stock));
			look_up(pair, stock, schema);
			ReleaseSysCache(stock);
		}
		complete = complete && OidIsValid(pair->ours);
	}
	look_up_owns(schema);
}

static void
ensure_pairs(void)
{
	if (unlikely(!pairs_valid))
	{
		/* what changes while we look makes them invalid again */
		pairs_valid = true;
		look_up_pairs();
	}
}

/* The table access method toaster in this database, or InvalidOid. */
Oid
function_map_access_method(void)
{
	if (unlikely(!access_method_valid))
	{
		/* what changes while we look makes it invalid again */
		access_method_valid = true;
		access_method = get_am_oid("toaster", true);
	}
	return access_method;
}

static const FunctionPair *
find_pair(Oid stock)
{
	int			low = 0;
	int			high = lengthof(pairs) - 1;

	while (low <= high)
	{
		int			middle = (low + high) / 2;

		if (pairs[middle].stock == stock)
		{
			ensure_pairs();
			return OidIsValid(pairs[middle].ours) ? &pairs[middle] : NULL;
		}
		if (pairs[middle].stock < stock)
			low = middle + 1;
		else
			high = middle - 1;
	}
	return NULL;
}

/* The pair of a function of the server, or NULL if it is not replaced. */
const FunctionPair *
function_map_find(Oid stock)
{
	const FunctionPair *pair = find_pair(stock);

	return pair != NULL && (!pair->edits || pair->reads) ? pair : NULL;
}

/* The same for functions that change values: the server's, and our own. */
const FunctionPair *
function_map_find_edit(Oid function)
{
	const FunctionPair *pair = find_pair(function);

	if (pair != NULL)
		return pair->edits ? pair : NULL;
	ensure_pairs();
	for (int i = 0; i < lengthof(editors); i++)
	{
		if (editors[i].pair.ours == function)
			return &editors[i].pair;
	}
	return NULL;
}

/* Our function that leaves out what a path does not need, or NULL. */
const FunctionPair *
function_map_projection(void)
{
	ensure_pairs();
	return OidIsValid(projection.pair.ours) ? &projection.pair : NULL;
}

/* Our function for doc[..] = value, or NULL. */
const FunctionPair *
function_map_assignment(void)
{
	ensure_pairs();
	return OidIsValid(assignment.pair.ours) ? &assignment.pair : NULL;
}

/* Add what a plan that uses these pairs depends on. */
List *
function_map_depend(List *inval_items, List *used)
{
	ListCell   *cell;

	foreach(cell, used)
	{
		const FunctionPair *pair = lfirst(cell);
		uint32		hashes[] = {pair->stock_hash, pair->our_hash};

		for (int i = 0; i < lengthof(hashes); i++)
		{
			PlanInvalItem *item = makeNode(PlanInvalItem);

			item->cacheId = PROCOID;
			item->hashValue = hashes[i];
			inval_items = lappend(inval_items, item);
		}
	}
	return inval_items;
}

/* Called once, when the library is loaded. */
void
function_map_init(void)
{
	CacheRegisterSyscacheCallback(PROCOID, forget_function, 0);
	CacheRegisterSyscacheCallback(NAMESPACEOID, forget_schema, 0);
	CacheRegisterSyscacheCallback(AMOID, forget_access_method, 0);
}
