#pragma once
/* What this tree calls itself; CHANGELOG.md says what is in it. */
#define ASB_VERSION "0.2"
