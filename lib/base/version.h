#pragma once
/* What this tree calls itself; CHANGELOG.md says what is in it. */
#define ASB_VERSION "0.2"
/* The day of that version, as manuals write it. */
#define ASB_VERSION_DATE "November 30, 2026"
