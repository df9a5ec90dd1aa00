# The lists of implementations that sources define, found by where they are:
# hearth_families(target namespace header file...) gives `target` a source that defines
# <namespace>::families() of `header`, with x_family() of each file x.cc.
function(hearth_families target namespace header)
  set(declarations "")
  set(calls "")
  foreach(file IN LISTS ARGN)
    get_filename_component(family "${file}" NAME_WE)
    string(APPEND declarations "Family ${family}_family();\n")
    string(APPEND calls "      ${family}_family(),\n")
  endforeach()
  set(output "${CMAKE_CURRENT_BINARY_DIR}/${target}_families.cc")
  file(CONFIGURE OUTPUT "${output}" @ONLY CONTENT "#include \"@header@\"

namespace @namespace@ {

@declarations@
const std::vector<Family>& families() {
  static const auto* const all = new std::vector<Family>{
@calls@  };
  return *all;
}

}  // namespace @namespace@
")
  target_sources(${target} PRIVATE "${output}")
endfunction()

# hearth_family_folders(variable file...): of these sources each x/x.cc, whose folder is a family.
function(hearth_family_folders variable)
  set(families "")
  foreach(file IN LISTS ARGN)
    cmake_path(GET file STEM name)
    cmake_path(GET file PARENT_PATH folder)
    cmake_path(GET folder FILENAME folder)
    if(name STREQUAL folder)
      list(APPEND families "${file}")
    endif()
  endforeach()
  set(${variable} ${families} PARENT_SCOPE)
endfunction()
