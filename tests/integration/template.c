/*
 * Migrates the database that with-postgres's test databases are copied from. Not a test.
 */
#include <stdio.h>
#include <stdlib.h>

#include "cleanup.h"
#include "db.h"

int main(void)
{
	CLEANUP(db) struct db *db = NULL;
	char conninfo[512];
	struct err err = {0};
	int applied;

	(void)snprintf(conninfo, sizeof(conninfo), "%s dbname=asb_template user=asb_owner",
		getenv("ASB_TEST_DB"));
	db = db_new(conninfo, "template", 0);
	if (migrate_run(db, getenv("ASB_TEST_SQL"), &applied, &err))
		return 0;
	(void)fprintf(stderr, "%s\n", err.msg);
	return 1;
}
