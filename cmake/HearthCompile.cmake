# How every target of Hearth is compiled.
include_guard()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
include(GNUInstallDirs)

if(PROJECT_IS_TOP_LEVEL)
  if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
  endif()
  # -O2 for all; src/devices/cpu alone asks for more.
  string(REPLACE "-O3" "-O2" CMAKE_CXX_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")
  set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
  find_program(HEARTH_CCACHE ccache)
  if(HEARTH_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    # It takes no source with a precompiled header without the sloppiness; none uses __TIME__ and
    # its like. Clones in other folders share what they compile.
    set(CMAKE_CXX_COMPILER_LAUNCHER
      "${CMAKE_COMMAND}" -E env CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_NOHASHDIR=1
      "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" "${HEARTH_CCACHE}")
  endif()
endif()

# Compilers never contract a * b + c: the planner alone decides where an fma stands, so that a fused
# and an unfused program, and two devices, give the same bits.
add_library(hearth_compile INTERFACE)
target_compile_options(hearth_compile INTERFACE
  -ffp-contract=off -fvisibility=hidden -Wall -Wextra -Wpedantic -Wshadow
  # g++ notes that the ABI of wide vectors depends on the target; none crosses a library boundary.
  $<$<CXX_COMPILER_ID:GNU>:-Wno-psabi>
  # Loops over a few extents stay loops: a call of memcpy costs more than the copy.
  $<$<CXX_COMPILER_ID:GNU>:-fno-tree-loop-distribute-patterns>
  $<$<BOOL:${HEARTH_WERROR}>:-Werror>)

# A project around Hearth that names no build type means no unoptimised tensors; one that names
# Debug, or an -O of its own, gets what it asks for.
set(HEARTH_OPTIMISE_UNTYPED OFF)
if(NOT PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES
   AND NOT " ${CMAKE_CXX_FLAGS}" MATCHES " -O")
  set(HEARTH_OPTIMISE_UNTYPED ON)
  target_compile_options(hearth_compile INTERFACE -O2)
  message(STATUS "hearth: no build type is set; compiling hearth itself with -O2")
endif()

if(HEARTH_SANITIZE)
  set(_sanitize -fsanitize=${HEARTH_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_compile_options(hearth_compile INTERFACE ${_sanitize})
  target_link_options(hearth_compile INTERFACE ${_sanitize})
endif()
if(HEARTH_FUZZ AND NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  message(FATAL_ERROR "HEARTH_FUZZ needs clang: configure with the preset asan or fuzz")
endif()
