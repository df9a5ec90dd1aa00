# run(word...): runs a program; what it wrote is in OUTPUT, a status other than 0 ends the test.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE errors)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\n${output}${errors}")
  endif()
  set(OUTPUT "${output}" PARENT_SCOPE)
endfunction()

# Compiles SOURCE_DIR/main.cc with CXX, and the example in C with the system's C compiler, each with
# what pkg-config says of the package in PREFIX, and runs them.
function(run_with_pkg_config prefix)
  file(GLOB_RECURSE package "${prefix}/*/hearth.pc")
  cmake_path(GET package PARENT_PATH folder)
  set(ENV{PKG_CONFIG_PATH} "${folder}")
  cmake_path(GET folder PARENT_PATH libraries)
  run(pkg-config --modversion hearth)
  string(STRIP "${OUTPUT}" version)
  foreach(static "" --static)
    run(pkg-config --cflags --libs ${static} hearth)
    separate_arguments(flags UNIX_COMMAND "${OUTPUT}")
    set(program "${WORK_DIR}/with_pkg_config${static}")
    run("${CXX}" -std=c++20 "-DPACKAGE_VERSION=\"${version}\"" "${SOURCE_DIR}/main.cc" ${flags}
      -o "${program}")
    run(${CMAKE_COMMAND} -E env "LD_LIBRARY_PATH=${libraries}" "DYLD_LIBRARY_PATH=${libraries}"
      "${program}")
    run(cc -std=c11 "${SOURCE_DIR}/../../examples/c_api.c" ${flags} -o "${program}_c")
    run(${CMAKE_COMMAND} -E env "LD_LIBRARY_PATH=${libraries}" "DYLD_LIBRARY_PATH=${libraries}"
      "${program}_c")
  endforeach()
endfunction()
