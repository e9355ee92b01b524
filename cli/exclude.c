/*
 * The list of names that are kept at home. Patterns are fnmatch(3)'s over one part of the path;
 * a folder's row takes everything below it.
 */
#include "exclude.h"

#include <fnmatch.h>
#include <string.h>
#include <strings.h>

struct exclude_row {
	const char *pattern;
	bool folder;
	const char *reason;
};

static const struct exclude_row rows[] = {
	{".aws", true, "cloud credentials"},
	{".azure", true, "cloud credentials"},
	{".docker", true, "registry credentials"},
	{".gnupg", true, "private keys"},
	{".kube", true, "cluster credentials"},
	{".ssh", true, "private keys"},
	{".env", false, "environment secrets"},
	{".env.*", false, "environment secrets"},
	{".envrc", false, "environment secrets"},
	{".git-credentials", false, "git credentials"},
	{".netrc", false, "login credentials"},
	{"_netrc", false, "login credentials"},
	{".pgpass", false, "database credentials"},
	{".pypirc", false, "registry credentials"},
	{".vault-token", false, "vault token"},
	{"credentials", false, "credentials"},
	{"credentials.json", false, "credentials"},
	{"service-account*.json", false, "cloud credentials"},
	{"id_dsa*", false, "private key"},
	{"id_ecdsa*", false, "private key"},
	{"id_ed25519*", false, "private key"},
	{"id_rsa*", false, "private key"},
	{"*.jks", false, "key store"},
	{"*.keystore", false, "key store"},
	{"*.p12", false, "key store"},
	{"*.pem", false, "private key or certificate"},
	{"*.pfx", false, "key store"},
};

/* What looks like one of the above and is made to be shared. */
static const char *const shared[] = {
	"*.pub", ".env.dist", ".env.example", ".env.sample", ".env.template"};

static bool matches(const char *pattern, const char *name)
{
	return fnmatch(pattern, name, FNM_CASEFOLD) == 0;
}

const char *exclude_reason(const char *path)
{
	char part[256];

	for (const char *p = path; *p;) {
		size_t n = strcspn(p, "/");
		bool last = p[n] == '\0';

		if (n < sizeof(part)) {
			memcpy(part, p, n);
			part[n] = '\0';
			for (size_t i = 0; last && i < sizeof(shared) / sizeof(shared[0]); i++)
				if (matches(shared[i], part))
					return NULL;
			for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
				if (rows[i].folder == !last && matches(rows[i].pattern, part))
					return rows[i].reason;
		}
		p += n + !last;
	}
	return NULL;
}

const char *exclude_folder_reason(const char *name)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].folder && matches(rows[i].pattern, name))
			return rows[i].reason;
	return NULL;
}

bool exclude_is_npmrc(const char *path)
{
	const char *name = strrchr(path, '/');

	return strcmp(name ? name + 1 : path, ".npmrc") == 0;
}

bool exclude_npmrc_has_token(const char *text)
{
	static const char *const keys[] = {"_authtoken", "_auth", "_password"};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (strcasestr(text, keys[i]))
			return true;
	return false;
}

bool exclude_is_made(const char *name)
{
	static const char *const made[] = {"node_modules", ".venv", "venv", "__pycache__"};

	for (size_t i = 0; i < sizeof(made) / sizeof(made[0]); i++)
		if (strcmp(name, made[i]) == 0)
			return true;
	return false;
}
