-- A key, a grant or a session that is taken back ends what asb-live holds for it, at once. That somebody's was is
-- all that is told: who still may is read from the rows.
CREATE FUNCTION caller_revoked() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
	PERFORM pg_notify('callers', '');
	RETURN NULL;
END $$;
CREATE TRIGGER api_keys_revoked AFTER UPDATE OF revoked_at ON api_keys
	FOR EACH ROW EXECUTE FUNCTION caller_revoked();
CREATE TRIGGER oauth_grants_revoked AFTER UPDATE OF revoked_at ON oauth_grants
	FOR EACH ROW EXECUTE FUNCTION caller_revoked();
CREATE TRIGGER sessions_ended AFTER DELETE ON sessions FOR EACH ROW EXECUTE FUNCTION caller_revoked();
