-- Run as superuser by the installer, before the first migration and again at every upgrade. Passwords
-- are set apart (ALTER ROLE ... PASSWORD) where the site does not use peer authentication.
DO $$
DECLARE r text;
BEGIN
	FOREACH r IN ARRAY ARRAY['asb_owner', 'asb_web', 'asb_live', 'asb_worker', 'asb_gate', 'asb_backup'] LOOP
		IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = r) THEN
			EXECUTE format('CREATE ROLE %I', r);
		END IF;
		EXECUTE format('ALTER ROLE %I LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION INHERIT', r);
	END LOOP;
END $$;
ALTER ROLE asb_backup BYPASSRLS;
GRANT pg_read_all_data TO asb_backup;
-- a handler must not hold a row for long; a runner's statement may wait for another's commit
ALTER ROLE asb_web SET statement_timeout = '5s';
ALTER ROLE asb_live SET statement_timeout = '5s';
ALTER ROLE asb_gate SET statement_timeout = '5s';
ALTER ROLE asb_worker SET statement_timeout = '30s';
