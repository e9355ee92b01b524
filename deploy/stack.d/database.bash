# shellcheck shell=bash
# The site's PostgreSQL cluster: made once, started by the supervisor, migrated at each `up`.

PG_BIN=$(find /usr/lib/postgresql -mindepth 2 -maxdepth 2 -name bin 2>/dev/null | sort -V | tail -n 1)

database_psql() {
	(cd / && as postgres "$PG_BIN/psql" -X -q -v ON_ERROR_STOP=1 -h "$RUN/pg" -U postgres "$@")
}

# The cluster's folder. The superuser is whoever runs the server, by peer; everyone else by password.
database_make() {
	[ ! -s "$STATE/pg/PG_VERSION" ] || return 0
	say "making the database cluster"
	(cd / && as postgres "$PG_BIN/initdb" -D "$STATE/pg" -U postgres -E UTF8 --locale=C -A peer \
		--data-checksums >"$STATE/logs/initdb.log" 2>&1) || {
		tail -n 20 "$STATE/logs/initdb.log" >&2
		fail "initdb failed"
	}
}

database_settings() {
	local os_user
	os_user=$(id -un)
	[ "$ROOT" = 0 ] || os_user=postgres
	cat >"$STATE/conf/postgresql.conf" <<-END
		# written by deploy/stack
		data_directory = '$STATE/pg'
		hba_file = '$STATE/conf/pg_hba.conf'
		ident_file = '$STATE/conf/pg_ident.conf'
		external_pid_file = ''
		listen_addresses = ''
		unix_socket_directories = '$RUN/pg'
		unix_socket_permissions = 0777
		password_encryption = 'scram-sha-256'
		max_connections = 120
		shared_buffers = 128MB
		# each new connection, of a runner for one job, would load it with its first trigger
		shared_preload_libraries = 'plpgsql'
		# a committed row is a promise: nothing of this is relaxed
		fsync = on
		synchronous_commit = on
		full_page_writes = on
		wal_level = replica
		max_wal_size = 1GB
		timezone = 'UTC'
		log_timezone = 'UTC'
		log_min_duration_statement = 1000
		log_line_prefix = '%m %q%u/%a '
		# statements carry tasks and answers: not into logs
		log_parameter_max_length = 0
		log_parameter_max_length_on_error = 0
	END
	cat >"$STATE/conf/pg_hba.conf" <<-END
		local all postgres peer map=site
		local all all scram-sha-256
	END
	echo "site $os_user postgres" >"$STATE/conf/pg_ident.conf"
	chmod 644 "$STATE/conf/"{postgresql,pg_hba,pg_ident}.conf
}

# A role's password, made once, in a file that only the program reads.
database_role() {
	local role=$1 who=$2 file=$STATE/secrets/$1.pass password
	if [ -s "$file" ] && [ "${DATABASE_IS_NEW:-0}" != 1 ]; then
		own "$who" 0600 "$file"
		return
	fi
	password=$(head -c 24 /dev/urandom | base64 | tr '+/' '-_')
	# on stdin, since a command line can be read by everyone
	printf "ALTER ROLE %s PASSWORD '%s';\n" "$role" "$password" |
		(umask 077 && cat >"$file.sql")
	own postgres 0600 "$file.sql"
	database_psql -d postgres -f "$file.sql"
	(umask 077 && printf '*:*:*:%s:%s\n' "$role" "$password" >"$file.new")
	rm -f "$file.sql"
	own "$who" 0600 "$file.new"
	mv "$file.new" "$file"
}

database_wait() {
	local end=$((SECONDS + 30))
	until "$PG_BIN/pg_isready" -q -h "$RUN/pg"; do
		[ "$SECONDS" -lt "$end" ] || {
			tail -n 20 "$STATE/logs/postgres.log" >&2
			fail "PostgreSQL does not start"
		}
		sleep 0.02
	done
}

database_up() {
	database_wait
	if [ "$(database_psql -At -d postgres -c "SELECT count(*) FROM pg_database WHERE datname = 'asb'")" = 0 ]; then
		DATABASE_IS_NEW=1
	fi
	if [ -n "${DATABASE_IS_NEW:-}" ] || ! cmp -s "$STATE/lib/sql/roles.sql" "$STATE/conf/roles.applied"; then
		database_psql -d postgres -f "$STATE/lib/sql/roles.sql"
		cp "$STATE/lib/sql/roles.sql" "$STATE/conf/roles.applied"
	fi
	[ -z "${DATABASE_IS_NEW:-}" ] || database_psql -d postgres -c 'CREATE DATABASE asb OWNER asb_owner'
	database_role asb_owner root
	database_role asb_web web
	database_role asb_live live
	database_role asb_worker worker
	database_role asb_gate gate
	ASB_CONFIG=$STATE/conf/site.conf ASB_DB_PASSFILE=$STATE/secrets/asb_owner.pass \
		"$STATE/lib/bin/asb" migrate || fail "the schema could not be brought up to date"
}
