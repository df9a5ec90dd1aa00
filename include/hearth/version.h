// The version of these headers. CMake reads it from here, so that a package, a library and a
// program compiled against them agree.
#pragma once

#define HEARTH_VERSION_MAJOR 0
#define HEARTH_VERSION_MINOR 1
#define HEARTH_VERSION_PATCH 0
#define HEARTH_VERSION "0.1.0"

// One number to compare in #if: 10000 * major + 100 * minor + patch.
#define HEARTH_VERSION_NUMBER \
  (10000 * HEARTH_VERSION_MAJOR + 100 * HEARTH_VERSION_MINOR + HEARTH_VERSION_PATCH)
