-- Secrets that a person enters on a page of the site, for what the gate does in his account's name. A row holds them
-- sealed to the gate's key (crypto_box_seal), with account and name inside: nobody else can read one, and one that
-- was moved to another row does not open. docs/access.md.

-- Public keys of the gate, which tells its own when it starts; the one told last is sealed to.
CREATE TABLE seal_keys (
	key text PRIMARY KEY, -- 'x25519:' + base64 of the 32 bytes
	told_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE secrets (
	account_id bigint NOT NULL REFERENCES accounts,
	name text NOT NULL CHECK (name IN ('anthropic_api_key')),
	sealed bytea NOT NULL,
	created_at timestamptz NOT NULL DEFAULT now(),
	updated_at timestamptz NOT NULL DEFAULT now(),
	last_used_at timestamptz, -- by the gate; written once a minute
	PRIMARY KEY (account_id, name)
);
