# shellcheck shell=bash
# How the site is reached from elsewhere than this machine: by TLS of its own, or behind a proxy that has it. Given
# once to `up` and kept in conf/door; without it there is loopback alone.
#
#   SITE_URL     https://NAME[:PORT], what people open; the programs' ASB_URL. SITE_URL=none goes back to loopback
#   SITE_CERT    files of the certificate with its chain ...
#   SITE_KEY     ... and of its key, which nginx's uid must be able to read
#   SITE_LISTEN  address:port for TLS, 0.0.0.0:8443 without; below 1024 the kernel has to allow it
#   SITE_PROXY   instead of the three: addresses of the proxy in front (with spaces between), which ends TLS, sends to
#                127.0.0.1:PORT, and whose X-Forwarded-For is believed

door_take() {
	local door=$STATE/conf/door name file
	[ -n "${SITE_URL:-}" ] || return 0
	if [ "$SITE_URL" = none ]; then
		rm -f "$door"
		site_numbers
		return
	fi
	[[ $SITE_URL =~ ^https://[A-Za-z0-9.-]+(:[0-9]{1,5})?$ ]] || fail "SITE_URL: must be https://NAME[:PORT]"
	if [ -n "${SITE_PROXY:-}" ]; then
		[ -z "${SITE_CERT:-}${SITE_KEY:-}" ] || fail "SITE_PROXY and SITE_CERT: who ends TLS? Give one of them"
		[[ $SITE_PROXY =~ ^[0-9a-fA-F.:/\ ]+$ ]] || fail "SITE_PROXY: must be addresses, with spaces between"
	else
		for name in SITE_CERT SITE_KEY; do
			file=${!name:-}
			[ -n "$file" ] || fail "$SITE_URL needs TLS: give SITE_CERT and SITE_KEY (files), or SITE_PROXY (addresses of a proxy that has it)"
			[[ $file =~ ^/[A-Za-z0-9._/+-]+$ ]] || fail "$name: must be a whole path of plain characters"
			as nginx test -r "$file" || fail "$name: nginx's uid $(uid_of nginx) cannot read $file"
		done
		SITE_LISTEN=${SITE_LISTEN:-0.0.0.0:8443}
		[[ $SITE_LISTEN =~ ^[][0-9a-fA-F.:]+:[0-9]{1,5}$ ]] || fail "SITE_LISTEN: must be address:port"
	fi
	for name in URL CERT KEY LISTEN PROXY; do
		file=SITE_$name
		printf 'DOOR_%s=%q\n' "$name" "${!file:-}"
	done >"$door.new"
	mv "$door.new" "$door"
	site_numbers
}

# Sets DOOR_* to what was kept; without, they are empty.
door_load() {
	DOOR_URL='' DOOR_CERT='' DOOR_KEY='' DOOR_LISTEN='' DOOR_PROXY=''
	# shellcheck source=/dev/null
	[ ! -s "$STATE/conf/door" ] || . "$STATE/conf/door"
}

# What the template includes in its http block. door_conf FILE
door_conf() {
	local address
	if [ -n "$DOOR_CERT" ]; then
		printf 'ssl_certificate %s;\nssl_certificate_key %s;\n' "$DOOR_CERT" "$DOOR_KEY"
		printf 'ssl_protocols TLSv1.2 TLSv1.3;\nssl_prefer_server_ciphers off;\nssl_session_cache shared:tls:1m;\n'
		printf 'ssl_session_tickets off;\n'
	fi
	for address in $DOOR_PROXY; do
		printf 'set_real_ip_from %s;\n' "$address"
	done
	[ -z "$DOOR_PROXY" ] || printf 'real_ip_header X-Forwarded-For;\nreal_ip_recursive on;\n'
}

# Lines of sed that make the template's servers ones of that address.
door_sed() {
	local name=${DOOR_URL#https://}
	[ -n "$DOOR_URL" ] || return 0
	echo "s|server_name localhost .*;|server_name ${name%:*};|"
	[ -z "$DOOR_LISTEN" ] || cat <<-END
		s|^\(\t*\)listen 127.0.0.1:@PORT@ default_server .*;|&\n\1listen $DOOR_LISTEN ssl default_server backlog=4096;|
		s|^\(\t*\)listen 127.0.0.1:@PORT@;|&\n\1listen $DOOR_LISTEN ssl;|
	END
}
