/*
 * asb migrate: applies the schema's migrations as the database's owner. The installer and the
 * development stack run it before the programs start, which refuse an unknown schema.
 */
#include "cleanup.h"
#include "cli.h"
#include "config.h"
#include "db.h"
#include "pool.h"
#include "verbs.h"

bool verb_migrate(struct cli *cli, int argc, char **argv, int *status, struct err *err)
{
	const struct config *cfg;
	CLEANUP(db) struct db *db = NULL;
	int applied = 0;

	if (!config_load(cli->pool, argc, argv, &cfg, err))
		return false;
	db = db_new(config_db(cli->pool, cfg, "asb_owner"), "migrate", 0);
	if (!migrate_run(db, pool_printf(cli->pool, "%s/sql", cfg->lib_dir), &applied, err))
		return false;
	cli_say("schema up to date, %d migrations applied now", applied);
	*status = 0;
	return true;
}
