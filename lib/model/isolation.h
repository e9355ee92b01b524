#pragma once
/* Isolation classes: what a box is separated by, as it is said outside (docs/runtimes.md). */

#define ISOLATION_EMULATED "emulated-vm"
#define ISOLATION_HARDWARE "hardware-vm"
#define ISOLATION_CONTAINER "container"

/* Of a runtime's boxes, by its name; "process": none at all. A box says itself what it came to,
 * e.g. that slots are not separated. */
const char *isolation_of(const char *runtime);
