// Which sanitizers the tests are built with, as g++ and clang say it: 1 or 0 each.
#pragma once

#if defined(__has_feature)
#define HEARTH_TESTS_FEATURE(name) __has_feature(name)
#else
#define HEARTH_TESTS_FEATURE(name) 0
#endif

#if defined(__SANITIZE_THREAD__) || HEARTH_TESTS_FEATURE(thread_sanitizer)
#define HEARTH_THREAD_SANITIZED 1
#else
#define HEARTH_THREAD_SANITIZED 0
#endif

// Memory stays allocated for a while after it is freed.
#if defined(__SANITIZE_ADDRESS__) || HEARTH_TESTS_FEATURE(address_sanitizer) || \
    HEARTH_THREAD_SANITIZED
#define HEARTH_KEEPS_FREED_MEMORY 1
#else
#define HEARTH_KEEPS_FREED_MEMORY 0
#endif

#if HEARTH_KEEPS_FREED_MEMORY || HEARTH_TESTS_FEATURE(undefined_behavior_sanitizer) || \
    !defined(NDEBUG)
#define HEARTH_LARGE_FRAMES 1
#else
#define HEARTH_LARGE_FRAMES 0
#endif
