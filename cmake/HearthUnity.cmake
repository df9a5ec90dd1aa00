# Unity builds: some sources of a folder are compiled as one, so that the headers they share are
# parsed and their templates instantiated once.
include_guard()

# g++, and the preset asan, whose instrumentation takes longest: the build `tsan` shows that each
# source compiles alone. In a debug build, where single sources change, the compilation of all
# beside them would cost more than is gained.
set(_default OFF)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
  set(_default ON)
endif()
option(HEARTH_UNITY "Compile the sources of a folder together" ${_default})

# More saves little, and a change of one source compiles all of its unit.
set(HEARTH_UNITY_SIZE 8)

# hearth_unity(target): no two of its sources may declare the same name in an anonymous namespace,
# nor one of them a local name that is another's there (clang's -Wshadow).
function(hearth_unity target)
  if(HEARTH_UNITY)
    set_target_properties(${target} PROPERTIES
      UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${HEARTH_UNITY_SIZE})
  endif()
endfunction()
