# What the tests of src/devices/cuda need: a driver library, a cuBLASLt and a cuSOLVER without a
# card, once as it is and once as an old one, and the toolkit's headers where there are any. devices_tests exists.
set(fakes "${CMAKE_CURRENT_BINARY_DIR}/cuda")
file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/machines/cuda_fake/*.cc")
foreach(kind current old)
  set(target hearth_fake_cuda_${kind})
  add_library(${target} MODULE ${sources})
  set_target_properties(${target} PROPERTIES
    PREFIX "" OUTPUT_NAME libcuda SUFFIX ".so.1" POSITION_INDEPENDENT_CODE ON
    LIBRARY_OUTPUT_DIRECTORY "${fakes}/${kind}")
  target_include_directories(${target} PRIVATE
    "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src" "${CMAKE_CURRENT_SOURCE_DIR}")
  target_link_libraries(${target} PRIVATE hearth_compile Threads::Threads)
  add_dependencies(devices_tests ${target})
  # All names of one file are one library: the fakes are one machine.
  foreach(name libcublasLt.so.13 libcusolver.so.12)
    add_custom_command(TARGET ${target} POST_BUILD
      COMMAND ${CMAKE_COMMAND} -E create_symlink libcuda.so.1 "${fakes}/${kind}/${name}")
  endforeach()
endforeach()
target_compile_definitions(hearth_fake_cuda_old PRIVATE HEARTH_FAKE_OLD)

file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/devices/cuda/*_test.cc")
set_property(SOURCE ${sources} APPEND PROPERTY COMPILE_DEFINITIONS
  HEARTH_FAKE_CUDA="${fakes}" HEARTH_SOURCE="${PROJECT_SOURCE_DIR}")

file(GLOB packages "${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/nvidia/*/include")
find_path(HEARTH_CUDA_INCLUDE cuda.h
  PATHS ${packages} $ENV{CUDA_HOME}/include /usr/local/cuda/include NO_DEFAULT_PATH)
mark_as_advanced(HEARTH_CUDA_INCLUDE)
# A package of its own, which is not small.
find_path(HEARTH_CUBLAS_INCLUDE cublasLt.h
  PATHS ${packages} $ENV{CUDA_HOME}/include /usr/local/cuda/include NO_DEFAULT_PATH)
mark_as_advanced(HEARTH_CUBLAS_INCLUDE)
find_path(HEARTH_CUDNN_INCLUDE cudnn_graph.h PATHS ${packages} $ENV{CUDNN_HOME}/include NO_DEFAULT_PATH)
mark_as_advanced(HEARTH_CUDNN_INCLUDE)
if(HEARTH_CUDNN_INCLUDE AND HEARTH_CUDA_INCLUDE)
  set_property(SOURCE "${CMAKE_CURRENT_SOURCE_DIR}/devices/cuda/cudnn_prototypes_test.cc"
    APPEND PROPERTY COMPILE_OPTIONS -isystem "${HEARTH_CUDNN_INCLUDE}" -isystem "${HEARTH_CUDA_INCLUDE}")
endif()
find_path(HEARTH_CUSOLVER_INCLUDE cusolverDn.h
  PATHS ${packages} $ENV{CUDA_HOME}/include /usr/local/cuda/include NO_DEFAULT_PATH)
mark_as_advanced(HEARTH_CUSOLVER_INCLUDE)
if(HEARTH_CUSOLVER_INCLUDE AND HEARTH_CUBLAS_INCLUDE AND HEARTH_CUDA_INCLUDE)
  set_property(SOURCE "${CMAKE_CURRENT_SOURCE_DIR}/devices/cuda/cusolver_prototypes_test.cc"
    APPEND PROPERTY COMPILE_OPTIONS -isystem "${HEARTH_CUSOLVER_INCLUDE}"
      -isystem "${HEARTH_CUBLAS_INCLUDE}" -isystem "${HEARTH_CUDA_INCLUDE}")
endif()
if(HEARTH_CUDA_INCLUDE)
  set_property(SOURCE "${CMAKE_CURRENT_SOURCE_DIR}/devices/cuda/prototypes_test.cc"
    APPEND PROPERTY COMPILE_OPTIONS -isystem "${HEARTH_CUDA_INCLUDE}")
  if(HEARTH_CUBLAS_INCLUDE)
    set_property(SOURCE "${CMAKE_CURRENT_SOURCE_DIR}/devices/cuda/prototypes_test.cc"
      APPEND PROPERTY COMPILE_OPTIONS -isystem "${HEARTH_CUBLAS_INCLUDE}")
  endif()
endif()
