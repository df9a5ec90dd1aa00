# hearth_environment(target) gives `target` a source that defines
# hearth::runtime::documented_variables() (runtime/device/environment.h): the HEARTH_* variables
# that docs/environment.md has a row for, and those of CMake's own files.
function(hearth_environment target)
  set(page "${PROJECT_SOURCE_DIR}/docs/environment.md")
  file(STRINGS "${page}" rows REGEX "^\\| `HEARTH_")
  file(GLOB files CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/CMakeLists.txt"
    "${PROJECT_SOURCE_DIR}/*/CMakeLists.txt" "${PROJECT_SOURCE_DIR}/cmake/*.cmake"
    "${PROJECT_SOURCE_DIR}/tests/*/CMakeLists.txt" "${PROJECT_SOURCE_DIR}/tests/cmake/*.cmake")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${page}")
  set(text "")
  foreach(row IN LISTS rows)
    string(REGEX MATCH "HEARTH_[A-Z0-9_]+" name "${row}")
    string(APPEND text "${name} ")
  endforeach()
  foreach(file IN LISTS files)
    file(READ "${file}" part)
    string(APPEND text "${part}")
  endforeach()
  string(REGEX MATCHALL "HEARTH_[A-Z0-9_]*[A-Z0-9]" names "${text}")
  list(SORT names)
  list(REMOVE_DUPLICATES names)
  list(TRANSFORM names REPLACE "(.+)" "      \"\\1\",\n" OUTPUT_VARIABLE lines)
  list(JOIN lines "" lines)
  set(output "${CMAKE_CURRENT_BINARY_DIR}/${target}_environment.cc")
  file(CONFIGURE OUTPUT "${output}" @ONLY CONTENT "#include \"runtime/device/environment.h\"

namespace hearth {
inline namespace v0 {
namespace runtime {

std::span<const char* const> documented_variables() noexcept {
  static constexpr const char* kNames[] = {
@lines@  };
  return kNames;
}

}  // namespace runtime
}  // namespace v0
}  // namespace hearth
")
  target_sources(${target} PRIVATE "${output}")
endfunction()
