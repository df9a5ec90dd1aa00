# Configures the consumer with HEARTH_FETCH as a part of it, as a shared library and without a build
# type: the library is optimised nevertheless. Then builds it with the -O0 that the project asks for,
# which takes half the time, and needs no fewer of the library's symbols: it runs, and is installed only
# when asked for.
include("${CMAKE_CURRENT_LIST_DIR}/consumer_steps.cmake")

set(build "${WORK_DIR}/build")
file(REMOVE_RECURSE "${WORK_DIR}/off" "${WORK_DIR}/on")
set(configure ${CMAKE_COMMAND} -G Ninja -S "${SOURCE_DIR}" -B "${build}" -DBUILD_SHARED_LIBS=ON
  "-DHEARTH_FETCH=${HEARTH_FETCH}" "-DCMAKE_CXX_COMPILER=${CXX}" -DCMAKE_EXPORT_COMPILE_COMMANDS=ON
  -DHEARTH_PRECOMPILE=${PRECOMPILE})
string(REPLACE "|" ";" ENV{CMAKE_CXX_COMPILER_LAUNCHER} "${LAUNCHER}")

# expect_optimised(yes): whether the sources of the library are.
function(expect_optimised wanted)
  file(READ "${build}/compile_commands.json" commands)
  string(JSON count LENGTH "${commands}")
  math(EXPR last "${count} - 1")
  foreach(i RANGE ${last})
    string(JSON command GET "${commands}" ${i} command)
    string(JSON file GET "${commands}" ${i} file)
    set(found OFF)
    if(command MATCHES " -O[23] ")
      set(found ON)
    endif()
    if(file MATCHES "/src/" AND NOT found STREQUAL wanted)
      message(SEND_ERROR "optimised: ${found}, expected ${wanted}: ${command}")
    endif()
  endforeach()
endfunction()

run(${configure} -DCMAKE_CXX_FLAGS= -DHEARTH_INSTALL=OFF)
expect_optimised(ON)
list(APPEND configure -DCMAKE_CXX_FLAGS=-O0)
run(${configure})
expect_optimised(OFF)
run(${CMAKE_COMMAND} --build "${build}" -j 2)
run("${build}/consumer")
run(${CMAKE_COMMAND} --install "${build}" --prefix "${WORK_DIR}/off")
file(GLOB_RECURSE installed "${WORK_DIR}/off/*")
if(NOT installed STREQUAL "${WORK_DIR}/off/bin/consumer")
  message(FATAL_ERROR "the project around hearth installs more than its own program: ${installed}")
endif()

run(${configure} -DHEARTH_INSTALL=ON)
run(${CMAKE_COMMAND} --install "${build}" --prefix "${WORK_DIR}/on")
run_with_pkg_config("${WORK_DIR}/on")
if(NOT CMAKE_HOST_APPLE)
  file(GLOB_RECURSE library "${WORK_DIR}/on/*/libhearth.so")
  run(readelf -d "${library}")
  if(NOT OUTPUT MATCHES "SONAME[^\n]*libhearth\\.so\\.[0-9]+\\.[0-9]+\\]")
    message(FATAL_ERROR "the SONAME does not name the minor version: ${OUTPUT}")
  endif()
endif()
