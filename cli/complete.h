#pragma once
/*
 * What can stand where the cursor is: for the shells' completion, which asks `asb --complete
 * WORDS`.
 */
struct buf;
struct cli;

/* words: what follows "asb", the last one as far as it is typed (may be ""). Adds a line for each
 * candidate: the word, a tab, a few words about it. No line: a file, or anything. Sessions and
 * sandboxes are asked of the site, which has a second to answer. */
void complete_words(struct cli *cli, int nwords, char **words, struct buf *out);
