# The std headers that most sources include, parsed once for all of them. Sources still include what
# they use: scripts/check_clang.py compiles them without these.
include_guard()

# g++ only: what clang gains does not pay for its own set of them. A project around Hearth may
# compile it with flags of its own for each target, which would make a shared one invalid.
set(_default OFF)
if(PROJECT_IS_TOP_LEVEL AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(_default ON)
endif()
option(HEARTH_PRECOMPILE "Precompile the std headers" ${_default})

set(HEARTH_PRECOMPILED
  <algorithm> <atomic> <cmath> <cstdint> <cstdio> <cstring> <functional> <limits> <memory> <mutex>
  <optional> <span> <string> <string_view> <type_traits> <unordered_map> <utility> <vector>)

# hearth_precompile(target [header...]): with these headers as well. Targets of equal compiler flags
# share one: hearth_precompile(target REUSE_FROM other).
function(hearth_precompile target)
  if(NOT HEARTH_PRECOMPILE)
    return()
  endif()
  if(ARGV1 STREQUAL "REUSE_FROM")
    target_precompile_headers(${target} REUSE_FROM ${ARGV2})
  else()
    target_precompile_headers(${target} PRIVATE ${HEARTH_PRECOMPILED} ${ARGN})
  endif()
endfunction()
