/* What these files were built as; deploy/static puts it in. The server says its own in `hello`. */
export const VERSION = '@VERSION@'
