/*
 * asb migrate: applies the schema's migrations as the database's owner. The installer and the
 * development stack run it before the programs start, which refuse an unknown schema.
 */
#include "cleanup.h"
#include "cli.h"
#include "config.h"
#include "db.h"
#include "json.h"
#include "pool.h"
#include "verbs.h"

struct migrate_options {
	const char *config;
};

static const struct flag flags[] = {
	FLAG(TEXT, struct migrate_options, config, .value = "FILE", .help = "the site's settings"),
};

static bool migrate(
	struct cli *cli, void *options, int nwords, char **words, int *status, struct err *err)
{
	const struct migrate_options *o = options;
	CLEANUP(json) struct json_object *told = json_new_object();
	const struct config *cfg;
	CLEANUP(db) struct db *db = NULL;
	int applied = 0;

	(void)nwords;
	(void)words;
	(void)status;
	if (!cli_settings(cli, o->config, &cfg, err))
		return false;
	db = db_new(config_db(cli->pool, cfg, "asb_owner"), "migrate", 0);
	if (!migrate_run(db, pool_printf(cli->pool, "%s/sql", cfg->lib_dir), &applied, err))
		return false;
	json_add_i64(told, "applied", applied);
	if (cli->json)
		cli_print_json(cli, told);
	else
		cli_say("schema up to date, %d migrations applied now", applied);
	return true;
}

const struct verb verb_migrate = {
	.name = "migrate",
	.usage = "",
	.summary = "bring the database's schema up to date (as its owner)",
	.about = "Reads the settings ASB_DB, ASB_DB_PASSFILE and ASB_LIB_DIR like every program.",
	VERB_FLAGS(struct migrate_options, flags),
	.run = migrate,
};
