#pragma once
/*
 * The API as OpenAPI 3.1, from the table of actions: paths, what they take and answer, errors and
 * who may ask. GET /openapi.json answers with it; `asb-web --print-openapi` prints it.
 */
struct json_object;

struct buf;
/* The document of a site at its first address, for whoever has none. */
void openapi_print(struct buf *b);
/* url: of the site; cookie: the name of its session cookie. The caller's to free. */
struct json_object *openapi_document(const char *url, const char *cookie);
