# `cmake --install`, the package that find_package(hearth) reads, and hearth.pc.
include(CMakePackageConfigHelpers)

set(HEARTH_PACKAGE_DIR "${CMAKE_INSTALL_LIBDIR}/cmake/hearth")
install(TARGETS hearth EXPORT hearthTargets)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/hearth" TYPE INCLUDE)
install(EXPORT hearthTargets NAMESPACE hearth:: DESTINATION "${HEARTH_PACKAGE_DIR}")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE-MIT" "${PROJECT_SOURCE_DIR}/LICENSE-APACHE"
  DESTINATION "${CMAKE_INSTALL_DATAROOTDIR}/licenses/hearth")
if(TARGET hearth_tool)
  install(TARGETS hearth_tool)
endif()

configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/hearthConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/hearthConfig.cmake" INSTALL_DESTINATION "${HEARTH_PACKAGE_DIR}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/hearthConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES
  "${PROJECT_BINARY_DIR}/hearthConfig.cmake"
  "${PROJECT_BINARY_DIR}/hearthConfigVersion.cmake"
  "${PROJECT_SOURCE_DIR}/cmake/FindHwy.cmake"
  DESTINATION "${HEARTH_PACKAGE_DIR}")

# hearth.pc finds itself, so that `--prefix` may name another place than was configured. A static
# library leaves its own dependencies to every link, not only to those that ask with --static; a
# shared one names them in itself.
set(_depends "")
cmake_path(GET Hwy_LIBRARY PARENT_PATH _folder)
if(Hwy_LIBRARY AND NOT _folder IN_LIST CMAKE_CXX_IMPLICIT_LINK_DIRECTORIES)
  string(APPEND _depends "-L${_folder} ")
endif()
string(APPEND _depends "-lhwy -lpthread")
# What a C++ compiler links by itself, and a C compiler does not.
foreach(_library IN ITEMS stdc++ c++ m)
  if(_library IN_LIST CMAKE_CXX_IMPLICIT_LINK_LIBRARIES)
    string(APPEND _depends " -l${_library}")
  endif()
endforeach()
foreach(_library IN LISTS CMAKE_DL_LIBS)
  string(APPEND _depends " -l${_library}")
endforeach()
set(HEARTH_PC_LIBS "-L\${libdir} -lhearth")
set(HEARTH_PC_PRIVATE "${_depends}")
if(NOT BUILD_SHARED_LIBS)
  string(APPEND HEARTH_PC_LIBS " ${_depends}")
  set(HEARTH_PC_PRIVATE "")
endif()
set(HEARTH_PC_PREFIX "${CMAKE_INSTALL_PREFIX}")
if(NOT IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
  file(RELATIVE_PATH _up "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/prefix")
  string(REGEX REPLACE "/$" "" _up "${_up}")
  set(HEARTH_PC_PREFIX "\${pcfiledir}/${_up}")
endif()
foreach(_kind LIBDIR INCLUDEDIR)
  cmake_path(ABSOLUTE_PATH CMAKE_INSTALL_${_kind} BASE_DIRECTORY "/prefix" OUTPUT_VARIABLE _path)
  string(REGEX REPLACE "^/prefix/" "\${prefix}/" HEARTH_PC_${_kind} "${_path}")
endforeach()
configure_file("${PROJECT_SOURCE_DIR}/cmake/hearth.pc.in" "${PROJECT_BINARY_DIR}/hearth.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/hearth.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
