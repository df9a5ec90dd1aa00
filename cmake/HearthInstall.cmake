# `cmake --install`, and the package that find_package(hearth) reads.
include(CMakePackageConfigHelpers)

set(HEARTH_PACKAGE_DIR "${CMAKE_INSTALL_LIBDIR}/cmake/hearth")
install(TARGETS hearth EXPORT hearthTargets)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/hearth" TYPE INCLUDE)
install(EXPORT hearthTargets NAMESPACE hearth:: DESTINATION "${HEARTH_PACKAGE_DIR}")
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
