# Makes gen/queries.h of sql/migrations/*.sql (only their numbers count) and sql/queries/*.sql: an
# enumerator Q_NAME and a row of text for each `-- name: x` block. `-- retry` in a block marks a
# statement that may be run again; other comment lines are dropped. A name used twice is an error.
function fail(what) {
	printf "%s:%d: %s\n", FILENAME, FNR, what >"/dev/stderr"
	failed = 1
	exit 1
}
FILENAME ~ /migrations\// {
	n = FILENAME
	sub(/.*\//, "", n)
	schema = n + 0
	next
}
/^-- name: / {
	if ($3 !~ /^[a-z][a-z0-9_]*$/)
		fail("a name is [a-z][a-z0-9_]*, not " $3)
	if ($3 in seen)
		fail("statement " $3 " stands twice")
	seen[$3] = 1
	name[++count] = $3
	next
}
/^-- retry *$/ { retry[count] = 1; next }
/^[ \t]*--/ || /^[ \t]*$/ { next }
!count { fail("text before the first `-- name:`") }
{
	line = $0
	while (match(line, /\$[0-9]+/)) {
		n = substr(line, RSTART + 1, RLENGTH - 1) + 0
		if (n > nargs[count])
			nargs[count] = n
		line = substr(line, RSTART + RLENGTH)
	}
	line = $0
	sub(/^[ \t]+/, "", line)
	sub(/;[ \t]*$/, "", line)
	gsub(/\\/, "\\\\\\\\", line)
	gsub(/"/, "\\\"", line)
	text[count] = text[count] "\n\t\t\"" line "\\n\""
}
END {
	if (failed)
		exit 1
	print "#pragma once\n/* made by sql/sql2c.awk */\n#define SCHEMA_VERSION " schema + 0 "\nenum query {"
	for (i = 1; i <= count; i++)
		print "\tQ_" toupper(name[i]) ","
	print "\tQ__COUNT\n};\n#ifdef QUERIES_TABLE"
	print "#pragma GCC diagnostic ignored \"-Woverlength-strings\" /* C promises 4095 bytes, gcc has more */"
	print "static const struct {\n\tconst char *name, *text;\n\tint nargs, retry;\n} queries[] = {"
	for (i = 1; i <= count; i++) {
		if (text[i] == "") {
			print "statement " name[i] " has no text" >"/dev/stderr"
			exit 1
		}
		print "\t{\"" name[i] "\"," text[i] ",\n\t\t" nargs[i] + 0 ", " retry[i] + 0 "},"
	}
	print "};\n#endif"
}
