# Tests of the house itself: headers, programs that must not compile, the installed package, the
# layers, and the Python tests.
set(COMPILE ${CMAKE_CXX_COMPILER} -std=c++20 -fsyntax-only -Wall -Wextra -Wpedantic -Wshadow -Werror
  "-I${PROJECT_SOURCE_DIR}/include")

# Each public header compiles alone, and twice.
file(GLOB headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/include/hearth/*.h")
foreach(header IN LISTS headers)
  cmake_path(GET header FILENAME file)
  set(source "${CMAKE_CURRENT_BINARY_DIR}/headers/${file}.cc")
  file(CONFIGURE OUTPUT "${source}" CONTENT "#include \"hearth/${file}\"\n#include \"hearth/${file}\"\n")
  hearth_test(header.${file} ${COMPILE} "${source}")
endforeach()

# tests/compile_fail/x.cc must compile as it stands, and must not with each MISTAKE it contains.
file(GLOB sources CONFIGURE_DEPENDS compile_fail/*.cc)
list(JOIN COMPILE " " command)
foreach(source IN LISTS sources)
  cmake_path(GET source STEM name)
  hearth_test(compile_fail.${name} ${CMAKE_COMMAND} "-DSOURCE=${source}" "-DCOMPILE=${command}"
    -P "${CMAKE_CURRENT_SOURCE_DIR}/cmake/compile_fail.cmake")
endforeach()

# A program outside the tree finds the installed package, links it and runs.
hearth_test(consumer ${CMAKE_COMMAND}
  "-DBUILD_DIR=${PROJECT_BINARY_DIR}" "-DSOURCE_DIR=${CMAKE_CURRENT_SOURCE_DIR}/consumer"
  "-DWORK_DIR=${CMAKE_CURRENT_BINARY_DIR}/consumer" "-DCXX=${CMAKE_CXX_COMPILER}"
  -P "${CMAKE_CURRENT_SOURCE_DIR}/cmake/consumer.cmake")

set(PYTHON "${PROJECT_SOURCE_DIR}/.venv/bin/python")
hearth_test(layers python3 "${PROJECT_SOURCE_DIR}/scripts/check_layers.py")

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
