#pragma once
/*
 * Which files of a working tree stay at home because their names say that they hold credentials.
 * The rule is by name, never by guessing at contents (but for .npmrc, which most often holds none);
 * whoever packs reports each one, and a person may include it by path.
 */
#include <stdbool.h>

/* Why the file must not be shipped, or NULL where it may. path is relative, with '/'. */
const char *exclude_reason(const char *path);
/* True for a name whose contents decide: exclude_npmrc_has_token says. */
bool exclude_is_npmrc(const char *path);
bool exclude_npmrc_has_token(const char *text);
/* The same for a folder by its name alone: nothing in it may be shipped. */
const char *exclude_folder_reason(const char *name);
/* Folders that are made by tools and never shipped from a directory that is not a repository. */
bool exclude_is_made(const char *name);
