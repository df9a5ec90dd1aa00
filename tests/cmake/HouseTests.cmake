# Tests of the house itself: headers, programs that must not compile, the installed package, the
# layers, and the Python tests.
set(STRICT ${CMAKE_CXX_COMPILER} -std=c++20 -Wall -Wextra -Wpedantic -Wshadow -Werror -Wconversion
  -Wsign-conversion)
set(COMPILE ${STRICT} -fsyntax-only "-I${PROJECT_SOURCE_DIR}/include")

# Each public header compiles alone, and twice.
file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}/include"
  "${PROJECT_SOURCE_DIR}/include/hearth/*.h")
foreach(header IN LISTS headers)
  string(REPLACE "hearth/" "" file "${header}")
  string(REPLACE "/" "." file "${file}")
  set(source "${CMAKE_CURRENT_BINARY_DIR}/headers/${file}.cc")
  file(CONFIGURE OUTPUT "${source}" CONTENT "#include \"${header}\"\n#include \"${header}\"\n")
  hearth_test(header.${file} ${COMPILE} "${source}")
endforeach()

# What C calls is C, of 2011 and later.
foreach(standard c11 c17)
  hearth_test(header.c_api_${standard} ${CMAKE_CXX_COMPILER} -std=${standard} -Wall -Wextra -Wpedantic
    -Wshadow -Wconversion -Wstrict-prototypes -Werror -fsyntax-only "-I${PROJECT_SOURCE_DIR}/include"
    -x c "${PROJECT_SOURCE_DIR}/include/hearth/c_api.h")
endforeach()

# hearth.h precompiled, for tests that compile many small sources: g++ finds it in a folder that comes
# first; clang reads the header.
set(header_folder "${CMAKE_CURRENT_BINARY_DIR}/precompiled")
file(CONFIGURE OUTPUT "${header_folder}/hearth/all.h" CONTENT "#include \"hearth/hearth.h\"\n")
hearth_test(precompiled ${STRICT} "-I${PROJECT_SOURCE_DIR}/include" -x c++-header
  "${header_folder}/hearth/all.h" -o "${header_folder}/hearth/hearth.h.gch")
set_tests_properties(precompiled PROPERTIES FIXTURES_SETUP precompiled)

# tests/compile_fail/x.cc must compile as it stands, and must not with each MISTAKE it contains.
file(GLOB sources CONFIGURE_DEPENDS compile_fail/*.cc)
list(JOIN STRICT " " command)
string(APPEND command " -fsyntax-only -I${header_folder} -I${PROJECT_SOURCE_DIR}/include")
foreach(source IN LISTS sources)
  cmake_path(GET source STEM name)
  hearth_test(compile_fail.${name} ${CMAKE_COMMAND} "-DSOURCE=${source}" "-DCOMPILE=${command}"
    -P "${CMAKE_CURRENT_SOURCE_DIR}/cmake/compile_fail.cmake")
  set_tests_properties(compile_fail.${name} PROPERTIES FIXTURES_REQUIRED precompiled)
endforeach()

# A program outside the tree finds the installed package, links it and runs.
hearth_test(consumer ${CMAKE_COMMAND}
  "-DBUILD_DIR=${PROJECT_BINARY_DIR}" "-DSOURCE_DIR=${CMAKE_CURRENT_SOURCE_DIR}/consumer"
  "-DWORK_DIR=${CMAKE_CURRENT_BINARY_DIR}/consumer" "-DCXX=${CMAKE_CXX_COMPILER}"
  -P "${CMAKE_CURRENT_SOURCE_DIR}/cmake/consumer.cmake")

# A project with this checkout as a part of it, with no build type, as a shared library: its first run
# compiles all of the library, without optimising it, later ones what has changed.
list(JOIN CMAKE_CXX_COMPILER_LAUNCHER "|" launcher)
hearth_test(fetched ${CMAKE_COMMAND}
  "-DHEARTH_FETCH=${PROJECT_SOURCE_DIR}" "-DSOURCE_DIR=${CMAKE_CURRENT_SOURCE_DIR}/consumer"
  "-DWORK_DIR=${CMAKE_CURRENT_BINARY_DIR}/fetched" "-DCXX=${CMAKE_CXX_COMPILER}"
  "-DLAUNCHER=${launcher}" -DPRECOMPILE=${HEARTH_PRECOMPILE}
  -P "${CMAKE_CURRENT_SOURCE_DIR}/cmake/fetched.cmake")
set_tests_properties(fetched PROPERTIES TIMEOUT 1500 PROCESSORS 2)

# The C++ in README.md and docs/, against the library as it is built here.
hearth_test(snippets python3 "${PROJECT_SOURCE_DIR}/scripts/check_snippets.py"
  --work "${CMAKE_CURRENT_BINARY_DIR}/snippets"
  ${STRICT} "-I${header_folder}" "-I${PROJECT_SOURCE_DIR}/include" -isystem "${PROJECT_SOURCE_DIR}/src"
  {source} -o {program}
  $<TARGET_FILE:$<IF:$<BOOL:${BUILD_SHARED_LIBS}>,hearth_objects,hearth>> "${Hwy_LIBRARY}"
  -lpthread -ldl)
set_tests_properties(snippets PROPERTIES FIXTURES_REQUIRED precompiled)

# The CPU device without optimisation, where intrinsics are macros and inline functions are calls. What
# it is linked with is the library's own.
if(TARGET devices_tests AND NOT BUILD_SHARED_LIBS)
  get_target_property(sources hearth_devices_cpu SOURCES)
  add_library(hearth_unoptimised OBJECT ${sources})
  target_include_directories(hearth_unoptimised PRIVATE
    "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src")
  target_link_libraries(hearth_unoptimised PRIVATE hearth_compile hearth_simd Threads::Threads)
  target_compile_options(hearth_unoptimised PRIVATE -O0)
  get_property(objects GLOBAL PROPERTY HEARTH_OBJECTS)
  list(FILTER objects EXCLUDE REGEX "hearth_devices_cpu")
  add_executable(unoptimised_tests ${objects} $<TARGET_OBJECTS:hearth_unoptimised>
    "$<FILTER:$<TARGET_OBJECTS:devices_tests>,INCLUDE,/devices/cpu/>")
  target_link_libraries(unoptimised_tests PRIVATE
    hearth_compile hwy::hwy Threads::Threads ${CMAKE_DL_LIBS} GTest::gtest GTest::gtest_main)
  # Without the cases of many elements, which repeat what small ones do.
  hearth_test(unoptimised unoptimised_tests --gtest_brief=1
    --gtest_filter=-*.ManyBlocks:*.LongSums*:*.*PastTheCaches:*.SameBits*
    --gtest_output=xml:${RESULTS}/unoptimised.xml)
  set_property(TEST unoptimised APPEND PROPERTY ENVIRONMENT HEARTH_TEST_EFFORT=10)
endif()

# The generated header, source and page are what the op table gives.
if(TARGET hearth_tool)
  foreach(generated methods ops_page c_functions)
    hearth_test(generated_${generated} python3
      "${PROJECT_SOURCE_DIR}/scripts/generate_${generated}" --check
      --hearth $<TARGET_FILE:hearth_tool>)
  endforeach()
endif()

set(PYTHON "${PROJECT_SOURCE_DIR}/.venv/bin/python")
hearth_test(layers python3 "${PROJECT_SOURCE_DIR}/scripts/check_layers.py")
hearth_test(generated_block_tables "${PYTHON}"
  "${PROJECT_SOURCE_DIR}/scripts/generate_block_tables" --check)
hearth_test(generated_unicode_tables "${PYTHON}"
  "${PROJECT_SOURCE_DIR}/scripts/generate_unicode_tables" --check)

file(GLOB sources CONFIGURE_DEPENDS python/*_test.py)
if(sources)
  hearth_test(python "${PYTHON}" -m pytest -q -p no:cacheprovider -o python_files=*_test.py
    "--junitxml=${RESULTS}/python.xml" "${CMAKE_CURRENT_SOURCE_DIR}/python")
  set_property(TEST python APPEND PROPERTY ENVIRONMENT
    "HEARTH_BUILD_DIR=${PROJECT_BINARY_DIR}" PYTHONDONTWRITEBYTECODE=1)
  if(TARGET hearth_tool)
    set_property(TEST python APPEND PROPERTY ENVIRONMENT "HEARTH_TOOL=$<TARGET_FILE:hearth_tool>")
  endif()
endif()
