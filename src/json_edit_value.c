/*-------------------------------------------------------------------------
 *
 * json_edit_value.c
 *	  Values that an edit puts into a document.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "json_edit_parts.h"

/* Describe a value as jsonb stores it; its bytes are not copied. */
void
json_edit_value_init(EditValue *value, const JsonbValue *from)
{
	JsonbValue	scalar;

	if (from->type == jbvBinary &&
		JsonContainerIsScalar(from->val.binary.data))
	{
		(void) JsonbExtractScalar(from->val.binary.data, &scalar);
		from = &scalar;
	}
	value->bytes = NULL;
	value->size = 0;
	switch (from->type)
	{
		case jbvNull:
			value->type = JENTRY_ISNULL;
			break;
		case jbvBool:
			value->type = from->val.boolean ? JENTRY_ISBOOL_TRUE :
				JENTRY_ISBOOL_FALSE;
			break;
		case jbvString:
			value->type = JENTRY_ISSTRING;
			value->bytes = from->val.string.val;
			value->size = from->val.string.len;
			break;
		case jbvNumeric:
			value->type = JENTRY_ISNUMERIC;
			value->bytes = (const char *) from->val.numeric;
			value->size = VARSIZE_ANY(from->val.numeric);
			break;
		case jbvBinary:
			value->type = JENTRY_ISCONTAINER;
			value->bytes = (const char *) from->val.binary.data;
			value->size = from->val.binary.len;
			break;
		default:
			elog(ERROR, "unexpected type of a jsonb value: %d",
				 (int) from->type);
	}
}

static void
keep_all(FormSink *sink)
{
}

/* The stored form of a long container; NULL when it has none but its bytes. */
static const char *
store_container(const EditValue *value, const FormLimits *limits,
				JsonStub *stub)
{
	FormLayout *layout = form_layout_member(value->bytes, value->size,
											limits);
	FormSink	sink;

	if (layout == NULL)
		return NULL;
	stub->stored_size = form_layout_size(layout);
	stub->head_size = form_layout_head_size(layout);
	initStringInfo(&sink.window);
	enlargeStringInfo(&sink.window, stub->stored_size);
	sink.more = keep_all;
	form_write_member(layout, &sink);
	form_layout_free(layout);
	if (sink.window.len != stub->stored_size)
		elog(ERROR, "member of a document has another size than measured");
	return sink.window.data;
}

/* Make the bytes that a long member is stored in, and its stub. */
const char *
json_edit_value_store(const EditValue *value, const FormLimits *limits,
					  JsonStub *stub)
{
	bool		container = value->type == JENTRY_ISCONTAINER;
	char	   *stored;

	memset(stub, 0, sizeof(JsonStub));
	stub->word = FORM_SPECIAL | value->type;
	stub->flat_size = value->size;
	if (container)
	{
		const char *form = store_container(value, limits, stub);
		uint32		word = *(const uint32 *) value->bytes;

		stub->word |= (word & JB_FOBJECT) != 0 ? STUB_OBJECT : STUB_ARRAY;
		if (form != NULL)
			return form;
	}
	stub->stored_size = FORM_ALIGN(value->size);
	stub->head_size = container ? stub->stored_size : 0;
	stored = MemoryContextAllocHuge(CurrentMemoryContext, stub->stored_size);
	memcpy(stored, value->bytes, value->size);
	memset(stored + value->size, 0, stub->stored_size - value->size);
	return stored;
}
