-- What agents that call a model add to the rows.

-- One row per request that the gate passed to the model's host, written when it has ended.
CREATE TABLE model_calls (
	id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	ts timestamptz NOT NULL DEFAULT now(),
	account_id bigint NOT NULL,
	box_id bigint NOT NULL REFERENCES boxes,
	run_id bigint,
	turn_id bigint, -- the drive turn that was active when it began; null: none was
	path text NOT NULL,  -- /v1/messages | /v1/messages/count_tokens
	model text,          -- as the answer named it, sanitised; null: it did not come that far
	status int NOT NULL, -- of the answer; 0: none came
	error text,          -- the error's type as the answer named it, or why the stream broke
	input_tokens bigint, output_tokens bigint, -- null: not reported
	cache_read_tokens bigint, cache_write_tokens bigint,
	first_ms int,        -- until the answer's head
	ms int NOT NULL      -- until its last byte
);
CREATE INDEX model_calls_run ON model_calls (run_id, id);

-- {"input_tokens","output_tokens","cache_read_tokens","cache_write_tokens","cost_usd"} of this turn
-- alone, as the agent reports it; a member that it does not report is absent, null: it reported none.
ALTER TABLE turns ADD COLUMN usage jsonb;
-- The agent's own name for its conversation, by which it is taken up again.
ALTER TABLE runs ADD COLUMN agent_session text;

-- A way to sign in without typing the token: in the URL's fragment, 10 minutes, once.
CREATE TABLE signin_codes (
	code_sha256 bytea PRIMARY KEY,
	account_id bigint NOT NULL REFERENCES accounts,
	user_id bigint NOT NULL REFERENCES users,
	created_at timestamptz NOT NULL DEFAULT now(),
	expires_at timestamptz NOT NULL DEFAULT now() + interval '10 minutes'
);
