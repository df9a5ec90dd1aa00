# Which file defines each op: hearth_op_sources(target folder file...) gives `target` a source that
# defines hearth::tools::op_sources() (tools/bindings/op_sources.h), by the lines of the files that
# begin a definition, with paths below `folder`. Also the script that writes that source:
# cmake -DOUTPUT= -DFOLDER= -DFILES= -P.
if(NOT CMAKE_SCRIPT_MODE_FILE)
  include_guard()
  set(_hearth_op_sources_script "${CMAKE_CURRENT_LIST_FILE}")

  function(hearth_op_sources target folder)
    set(output "${CMAKE_CURRENT_BINARY_DIR}/${target}_op_sources.cc")
    list(JOIN ARGN "|" files)
    add_custom_command(OUTPUT "${output}"
      COMMAND "${CMAKE_COMMAND}" "-DOUTPUT=${output}" "-DFOLDER=${folder}" "-DFILES=${files}"
        -P "${_hearth_op_sources_script}"
      DEPENDS ${ARGN} "${_hearth_op_sources_script}"
      COMMENT "Finding the sources of ops" VERBATIM)
    target_sources(${target} PRIVATE "${output}")
  endfunction()
  return()
endif()

string(REPLACE "|" ";" FILES "${FILES}")
set(rows "")
foreach(file IN LISTS FILES)
  cmake_path(RELATIVE_PATH file BASE_DIRECTORY "${FOLDER}" OUTPUT_VARIABLE path)
  file(READ "${file}" text)
  # By itself, or by a macro of the file whose first arguments are the name and a text.
  string(REGEX MATCHALL
    "\n(constinit const OpDef (defs::)?[a-z0-9_]+_op = |HEARTH_[A-Z_]+\\([a-z0-9_]+, (\"|nullptr))"
    definitions "${text}")
  foreach(definition IN LISTS definitions)
    string(REGEX MATCH "([a-z0-9_]+)(_op = |, .*)$" found "${definition}")
    string(APPEND rows "    {\"${CMAKE_MATCH_1}\"sv, \"${path}\"sv},\n")
  endforeach()
endforeach()
file(WRITE "${OUTPUT}" "#include \"tools/bindings/op_sources.h\"

namespace hearth::tools {

std::span<const OpSource> op_sources() noexcept {
  using namespace std::string_view_literals;
  static constexpr OpSource kSources[] = {
${rows}  };
  return kSources;
}

}  // namespace hearth::tools
")
