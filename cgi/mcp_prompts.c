/*
 * Prompts: two ways of working that a person can pick by name, worded so that a model does not
 * claim what it has not seen.
 */
#include <string.h>

#include "buf.h"
#include "cleanup.h"
#include "json.h"
#include "mcp_door.h"

/* Of one argument: what comes before its value in the text. */
struct argument {
	const char *name, *description, *lead;
	bool required;
};

static const struct argument safely[] = {
	{"code", "The code that is to be run, or what it has to do.", "\nWhat is to be run:\n",
		true},
	{"language", "python, javascript, bash, go or java.", "\nLanguage: ", false},
	{"sandbox_id", "A sandbox that is there already.", "\nUse this sandbox: ", false},
};

static const struct argument task[] = {
	{"task", "What is to be done.", "\nThe task:\n", true},
	{"repo", "owner/name of the repository.", "\nRepository: ", false},
};

static const struct prompt {
	const char *name, *title, *description, *text;
	const struct argument *arguments;
	size_t n;
} prompts[] = {
	{"run_safely", "Run it safely", "Run code in a sandbox and say only what was seen there.",
		"Run the following in a sandbox, not on this machine.\n"
		"1. Call create_sandbox with the language and the packages that are needed, unless "
		"a sandbox_id is given.\n"
		"2. Call run with the code. If it fails, mend it and run it again.\n"
		"3. Say what the output and the exit code were, word for word where it matters. "
		"Do not say that something works before a run has shown it; if it was not run, say "
		"that it was not run.\n"
		"4. Call destroy_sandbox.\n",
		safely, sizeof(safely) / sizeof(safely[0])},
	{"delegate_task", "Delegate a task",
		"Hand a task to an agent in a box and see it through to its result.",
		"Hand the following task to an agent.\n"
		"1. Call delegate with the task in full: what is wrong or wanted, where, and how "
		"one sees that it is done. Name the repository.\n"
		"2. While the answer says run:running, call status with the session. Do not call "
		"delegate again.\n"
		"3. If it says run:waiting, show me the question and call resume with my answer.\n"
		"4. When it is done, read what changed with diff, tell me what you saw in it and "
		"what the run said of its tests, and ask me before anything is taken over.\n",
		task, sizeof(task) / sizeof(task[0])},
};
#define PROMPTS (sizeof(prompts) / sizeof(prompts[0]))

static struct json_object *argument_list(const struct prompt *p)
{
	struct json_object *list = json_new_array();

	for (size_t i = 0; i < p->n; i++) {
		struct json_object *o = json_new_object();

		json_add_text(o, "name", p->arguments[i].name);
		json_add_text(o, "description", p->arguments[i].description);
		json_add_bool(o, "required", p->arguments[i].required);
		json_push(list, o);
	}
	return list;
}

bool mcp_prompts_list(struct mcp *m)
{
	struct json_object *list;

	if (!mcp_one_page(m))
		return false;
	list = json_new_array();
	for (size_t i = 0; i < PROMPTS; i++) {
		struct json_object *o = json_new_object();

		json_add_text(o, "name", prompts[i].name);
		json_add_text(o, "title", prompts[i].title);
		json_add_text(o, "description", prompts[i].description);
		json_add(o, "arguments", argument_list(&prompts[i]));
		json_push(list, o);
	}
	m->result = json_new_object();
	json_add(m->result, "prompts", list);
	return true;
}

bool mcp_prompt_is(const char *name)
{
	for (size_t i = 0; i < PROMPTS; i++)
		if (!strcmp(prompts[i].name, name))
			return true;
	return false;
}

static struct json_object *user_message(const struct buf *text)
{
	struct json_object *list = json_new_array(), *o = json_new_object(),
			   *content = json_new_object();

	json_add_text(content, "type", "text");
	json_add_text_n(content, "text", text->data, text->len);
	json_add_text(o, "role", "user");
	json_add(o, "content", content);
	json_push(list, o);
	return list;
}

static bool fill(struct mcp *m, const struct prompt *p, struct buf *text)
{
	struct json_object *given = json_get(m->params, "arguments");

	(void)buf_adds(text, p->text);
	for (size_t i = 0; i < p->n; i++) {
		const struct argument *a = &p->arguments[i];
		const char *value = "";

		if (json_get(given, a->name) && !json_get_text(given, a->name, &value))
			return mcp_bad_params(m, "arguments.%s: must be text", a->name);
		if (a->required && !*value)
			return mcp_bad_params(m, "arguments.%s: is missing", a->name);
		if (*value) {
			(void)buf_adds(text, a->lead);
			(void)buf_adds(text, value);
		}
	}
	return !text->failed || mcp_bad_params(m, "arguments: too long");
}

bool mcp_prompts_get(struct mcp *m)
{
	const char *name;

	if (!mcp_param(m, "name", &name))
		return false;
	for (size_t i = 0; i < PROMPTS; i++) {
		CLEANUP(buf) struct buf text = BUF_INIT(1u << 20);

		if (strcmp(prompts[i].name, name) != 0)
			continue;
		if (!fill(m, &prompts[i], &text))
			return false;
		m->result = json_new_object();
		json_add_text(m->result, "description", prompts[i].description);
		json_add(m->result, "messages", user_message(&text));
		return true;
	}
	return mcp_bad_params(m, "no such prompt: prompts/list says which there are");
}
