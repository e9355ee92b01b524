/*
 * The table of fixture tools. Those that answer the same each time have their result here.
 */
#include <string.h>

#include "json.h"
#include "mcp_door.h"
#include "mcp_fixture.h"
#include "request.h"

#define TEXT(text) "{\"content\":[{\"type\":\"text\",\"text\":\"" text "\"}]"
#define WAV "UklGRiwAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQgAAACAgICAgICAgA=="
#define ONE_ARGUMENT(name)                                                                        \
	"{\"type\":\"object\",\"properties\":{\"" name "\":{\"type\":\"string\",\"description\":" \
	"\"What the client is asked.\"}},\"required\":[\"" name "\"]}"

static bool needs_sampling(struct mcp *m)
{
	if (m->call.era == MCP_MODERN && !json_has(m->capabilities, "sampling"))
		return mcp_fault(m, 400, MCP_MISSING_CAPABILITY,
			fixture_json("{\"requiredCapabilities\":{\"sampling\":{}}}"),
			"this tool needs a client that declares sampling");
	m->result = fixture_json(TEXT("The client can sample.") "}");
	return true;
}

/* The one tool with an x-mcp-header: what its argument is must stand in Mcp-Param-Region too. */
static bool repeated(struct mcp *m)
{
	const struct call *c = &m->serve.call;
	const char *region = NULL, *header = request_param(c->rq, "HTTP_MCP_PARAM_REGION");

	(void)json_get_text(json_get(m->params, "arguments"), "region", &region);
	if (m->call.era == MCP_MODERN && (region || *header)) {
		const char *value = mcp_header_decode(c->pool, header);

		if (!region || !value || strcmp(region, value) != 0)
			return mcp_fault(m, 400, MCP_HEADER_MISMATCH, NULL,
				"Mcp-Param-Region: the header is not what the body says");
	}
	m->result = fixture_json(TEXT("Both say the same.") "}");
	return true;
}

const struct fixture_tool mcp_fixture_tools[] = {
	{"test_simple_text", "Answers with a text.", NULL,
		TEXT("This is a simple text response for testing.") "}", NULL},
	{"test_image_content", "Answers with an image.", NULL,
		"{\"content\":[{\"type\":\"image\",\"data\":\"" FIXTURE_PNG
		"\",\"mimeType\":\"image/png\"}]}",
		NULL},
	{"test_audio_content", "Answers with a sound.", NULL,
		"{\"content\":[{\"type\":\"audio\",\"data\":\"" WAV
		"\",\"mimeType\":\"audio/wav\"}]}",
		NULL},
	{"test_embedded_resource", "Answers with a resource.", NULL,
		"{\"content\":[{\"type\":\"resource\",\"resource\":{\"uri\":"
		"\"test://embedded-resource\",\"mimeType\":\"text/plain\",\"text\":\"This is an "
		"embedded resource content.\"}}]}",
		NULL},
	{"test_multiple_content_types", "Answers with several kinds of content.", NULL,
		"{\"content\":[{\"type\":\"text\",\"text\":\"Multiple content types test:\"},"
		"{\"type\":\"image\",\"data\":\"" FIXTURE_PNG "\",\"mimeType\":\"image/png\"},"
		"{\"type\":\"resource\",\"resource\":{\"uri\":\"test://mixed-content-resource\","
		"\"mimeType\":\"application/json\",\"text\":\"{\\\"test\\\":\\\"data\\\","
		"\\\"value\\\":123}\"}}]}",
		NULL},
	{"test_error_handling", "Fails.", NULL,
		TEXT("This tool intentionally returns an error for testing") ",\"isError\":true}",
		NULL},
	{"test_tool_with_progress", "Reports progress.", NULL, NULL, fixture_progress},
	{"test_tool_with_logging", "Sends log messages.", NULL, NULL, fixture_logging},
	{"test_logging_tool", "Sends log messages where they are wanted.", NULL, NULL,
		fixture_logging},
	{"test_sampling", "Asks the client's model.", ONE_ARGUMENT("prompt"), NULL, fixture_ask},
	{"test_elicitation", "Asks the client's person.", ONE_ARGUMENT("message"), NULL,
		fixture_ask},
	{"test_elicitation_sep1034_defaults", "Asks with defaults.", NULL, NULL, fixture_ask},
	{"test_elicitation_sep1330_enums", "Asks with choices.", NULL, NULL, fixture_ask},
	{"test_missing_capability", "Needs a client that can sample.", NULL, NULL, needs_sampling},
	{"test_reconnection", "Closes its stream before it answers.", NULL, NULL,
		fixture_reconnection},
	{"test_x_mcp_header", "Takes an argument that a header repeats.",
		"{\"type\":\"object\",\"properties\":{\"region\":{\"type\":\"string\","
		"\"x-mcp-header\":\"Region\"}}}",
		NULL, repeated},
	{"test_trigger_tool_change", "Tells subscribers that the tools changed.", NULL, NULL,
		fixture_trigger},
	{"test_trigger_prompt_change", "Tells subscribers that the prompts changed.", NULL, NULL,
		fixture_trigger},
	{"json_schema_2020_12_tool", "Tool with JSON Schema 2020-12 features",
		"{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"type\":\"object\","
		"\"$defs\":{\"address\":{\"$anchor\":\"addressDef\",\"type\":\"object\","
		"\"properties\":{\"street\":{\"type\":\"string\"},\"city\":{\"type\":\"string\"}}}}"
		","
		"\"properties\":{\"name\":{\"type\":\"string\"},\"address\":{\"$ref\":"
		"\"#/$defs/address\"},\"contactMethod\":{\"type\":\"string\",\"enum\":[\"phone\","
		"\"email\"]},\"phone\":{\"type\":\"string\"},\"email\":{\"type\":\"string\"}},"
		"\"allOf\":[{\"anyOf\":[{\"required\":[\"phone\"]},{\"required\":[\"email\"]}]}],"
		"\"if\":{\"properties\":{\"contactMethod\":{\"const\":\"phone\"}},\"required\":["
		"\"contactMethod\"]},\"then\":{\"required\":[\"phone\"]},\"else\":{\"required\":["
		"\"email\"]},\"additionalProperties\":false}",
		TEXT("Taken.") "}", NULL},
	{NULL, NULL, NULL, NULL, NULL},
};
