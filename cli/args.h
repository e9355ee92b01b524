#pragma once
/*
 * Declared flags. A row of FLAG(...) says what one is; the rows of a verb fill its struct from the
 * command line, and help, manual and completion are printed from them.
 *
 *	struct watch_options { const char *patch; bool log; };
 *	static const struct flag flags[] = {
 *		FLAG(TEXT, struct watch_options, patch, .value = "FILE", .help = "store it there"),
 *		FLAG(BOOL, struct watch_options, log, .help = "print the raw output too"),
 *	};
 *
 * The member must have the kind's C type, or the row does not compile: TEXT const char *, BOOL
 *bool, TEXTS struct flag_texts (may be repeated). A member memory_mb is typed --memory-mb. Every
 *verb takes --json and --help besides.
 */
#include <stdbool.h>
#include <stddef.h>

#include "err.h"

struct pool;
struct verb;

enum flag_kind { FLAG_KIND_TEXT, FLAG_KIND_BOOL, FLAG_KIND_TEXTS };

#define FLAG_TEXTS_MAX 64
struct flag_texts {
	const char *v[FLAG_TEXTS_MAX];
	size_t n;
};

struct flag {
	const char *name;
	enum flag_kind kind;
	size_t offset;
	char letter;		  /* -d besides --depth; 0: none */
	const char *value;	  /* what its value is, in capitals; not of BOOL */
	const char *const *words; /* the values it can have, ended by NULL; NULL: any */
	const char *help;	  /* for people; lines by \n */
};

#define FLAG_TYPE_TEXT const char *
#define FLAG_TYPE_BOOL bool
#define FLAG_TYPE_TEXTS struct flag_texts
#define FLAG(kind_, struct_, member, ...)                                             \
	{                                                                             \
		.name = #member, .kind = FLAG_KIND_##kind_,                           \
		.offset = offsetof(struct_, member) +                                 \
			  0 * sizeof(char[__builtin_types_compatible_p(               \
						  __typeof__(((struct_ *)0)->member), \
						  FLAG_TYPE_##kind_)                  \
						  ? 1                                 \
						  : -1]),                             \
		__VA_ARGS__                                                           \
	}

#define FLAG_TYPED_SIZE 40
/* "--memory-mb". */
void flag_typed(const struct flag *f, char out[FLAG_TYPED_SIZE]);

/* What a command line came to. */
struct args {
	void *options; /* the verb's struct, or NULL where it has no flags */
	char **words;  /* what is no flag, in its order, and a NULL */
	int nwords;
	bool json, help;
};

/* argv[0] is the verb. ERR_INVALID names what is wrong and, where one is near, what was meant.
 * Flags and words may be mixed; after "--" everything is a word, and so is "-". */
bool args_take(struct pool *pool, const struct verb *v, int argc, char **argv, struct args *out,
	struct err *err) NODISCARD;

/* --- nearest.c: what somebody meant who typed something else --- */
struct nearest {
	const char *typed;
	const char *best; /* NULL: nothing is near */
	size_t distance;
};
/* Offers one name; best is the nearest that was offered, if no more than a third was mistyped. */
void nearest_offer(struct nearest *n, const char *name);
