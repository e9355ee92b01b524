/*
 * Setting a site up from its settings.
 */
#include "site.h"

#include <string.h>

#include "access.h"
#include "config.h"
#include "err.h"

#define TOKEN_MIN 20 /* characters: a person's word is not a token */

bool site_init(struct site *site, struct pool *pool, const struct config *cfg, struct db *db,
	const char *tools, struct err *err)
{
	*site = (struct site){.cfg = cfg, .db = db, .tools = tools};
	if (strlen(cfg->operator_token) < TOKEN_MIN) {
		(void)err_set(err, ERR_INVALID,
			"MCP_HTTP_TOKEN: missing or shorter than %d characters", TOKEN_MIN);
		return err_advise(
			err, NULL, "Set MCP_HTTP_TOKEN_FILE to a file with a long random token.");
	}
	access_operator_hash(cfg, site->operator_hash);
	return upstreams_parse(pool, cfg->git_upstreams, &site->upstreams, err) ||
	       err_wrap(err, "ASB_GIT_UPSTREAMS");
}
