# Installs BUILD_DIR into a fresh prefix, then builds and runs the consumer against it: with CMake, and
# with pkg-config.
include("${CMAKE_CURRENT_LIST_DIR}/consumer_steps.cmake")

file(REMOVE_RECURSE "${WORK_DIR}")
run(${CMAKE_COMMAND} --install "${BUILD_DIR}" --prefix "${WORK_DIR}/prefix")
run(${CMAKE_COMMAND} -G Ninja -S "${SOURCE_DIR}" -B "${WORK_DIR}/build" -DCMAKE_BUILD_TYPE=Release
  "-DCMAKE_PREFIX_PATH=${WORK_DIR}/prefix" "-DCMAKE_CXX_COMPILER=${CXX}")
run(${CMAKE_COMMAND} --build "${WORK_DIR}/build")
run("${WORK_DIR}/build/consumer")
run_with_pkg_config("${WORK_DIR}/prefix")
foreach(licence MIT APACHE)
  if(NOT EXISTS "${WORK_DIR}/prefix/share/licenses/hearth/LICENSE-${licence}")
    message(FATAL_ERROR "LICENSE-${licence} is not installed")
  endif()
endforeach()
