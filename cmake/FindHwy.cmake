# Finds Highway (SIMD) and defines hwy::hwy. A static library is preferred, so that a program built
# with Hearth needs none at run time; distributions that ship only the shared one work as well.
find_path(Hwy_INCLUDE_DIR hwy/highway.h)
find_library(Hwy_LIBRARY NAMES libhwy.a hwy)

if(Hwy_INCLUDE_DIR)
  set(_version "")
  foreach(_part MAJOR MINOR PATCH)
    file(GLOB _headers "${Hwy_INCLUDE_DIR}/hwy/highway.h" "${Hwy_INCLUDE_DIR}/hwy/base.h")
    foreach(_header ${_headers})
      file(STRINGS "${_header}" _line REGEX "^#define HWY_${_part} [0-9]+")
      if(_line MATCHES "([0-9]+)$")
        list(APPEND _version "${CMAKE_MATCH_1}")
        break()
      endif()
    endforeach()
  endforeach()
  list(JOIN _version "." Hwy_VERSION)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Hwy
  REQUIRED_VARS Hwy_LIBRARY Hwy_INCLUDE_DIR
  VERSION_VAR Hwy_VERSION
  REASON_FAILURE_MESSAGE
    "Install libhwy-dev (Debian) or highway (Homebrew), or run scripts/bootstrap")
mark_as_advanced(Hwy_INCLUDE_DIR Hwy_LIBRARY)

if(Hwy_FOUND AND NOT TARGET hwy::hwy)
  add_library(hwy::hwy UNKNOWN IMPORTED)
  set_target_properties(hwy::hwy PROPERTIES
    IMPORTED_LOCATION "${Hwy_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${Hwy_INCLUDE_DIR}")
  if(NOT Hwy_LIBRARY MATCHES "\\.a$")
    set_property(TARGET hwy::hwy PROPERTY INTERFACE_COMPILE_DEFINITIONS HWY_SHARED_DEFINE)
  endif()
endif()
