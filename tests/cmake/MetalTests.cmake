# The library that stands for the Objective-C runtime and Metal where there is none of them.
file(GLOB_RECURSE sources CONFIGURE_DEPENDS
  "${CMAKE_CURRENT_SOURCE_DIR}/machines/metal_double/*.cc")
add_library(hearth_metal_double MODULE ${sources}
  "${PROJECT_SOURCE_DIR}/src/devices/metal/objc/messages.cc"
  "${PROJECT_SOURCE_DIR}/src/devices/metal/objc/encoding.cc")
set_target_properties(hearth_metal_double PROPERTIES
  POSITION_INDEPENDENT_CODE ON LIBRARY_OUTPUT_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/metal")
target_include_directories(hearth_metal_double PRIVATE
  "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src" "${CMAKE_CURRENT_SOURCE_DIR}")
target_link_libraries(hearth_metal_double PRIVATE hearth_compile Threads::Threads)
foreach(area devices kernels machines)
  if(TARGET ${area}_tests)
    add_dependencies(${area}_tests hearth_metal_double)
  endif()
endforeach()
if(TARGET devices_tests)
  file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/devices/metal/*_test.cc"
    "${CMAKE_CURRENT_SOURCE_DIR}/machines/*_test.cc")
  set_property(SOURCE ${sources} APPEND PROPERTY COMPILE_DEFINITIONS
    HEARTH_METAL_DOUBLE="$<TARGET_FILE:hearth_metal_double>")
endif()
