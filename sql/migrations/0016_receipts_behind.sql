-- Below which ids there is nothing left to sign, nor will be. An id is drawn before its row is committed: below
-- the id of a row of this minute there may be one that nobody sees yet, and no transaction takes as long as that.
CREATE OR REPLACE FUNCTION receipts_behind(after_exec bigint, after_turn bigint)
RETURNS TABLE (exec_id bigint, turn_id bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
	SELECT coalesce((SELECT min(e.id) - 1 FROM execs e WHERE e.id > after_exec AND (e.created_at > now() - interval '1 minute'
			OR e.lane LIKE 'exec:%' AND NOT EXISTS (SELECT 1 FROM receipts c WHERE c.exec_id = e.id))), after_exec),
		coalesce((SELECT min(t.id) - 1 FROM turns t WHERE t.id > after_turn AND (t.created_at > now() - interval '1 minute'
			OR NOT EXISTS (SELECT 1 FROM receipts c WHERE c.turn_id = t.id))), after_turn)
$$;
