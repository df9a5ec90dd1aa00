# Builds text files into a target: hearth_embed(target namespace folder file...) gives `target` a
# source that defines hearth::namespace::embedded_texts() (codegen/embedded_texts.h), with each
# file's path below `folder`. Also the script that writes that source:
# cmake -DOUTPUT= -DNAMESPACE= -DFOLDER= -DFILES= -P.
if(NOT CMAKE_SCRIPT_MODE_FILE)
  include_guard()
  set(_hearth_embed_script "${CMAKE_CURRENT_LIST_FILE}")

  function(hearth_embed target namespace folder)
    string(REPLACE "::" "_" name "${target}_${namespace}")
    set(output "${CMAKE_CURRENT_BINARY_DIR}/${name}_texts.cc")
    list(JOIN ARGN "|" files)
    add_custom_command(OUTPUT "${output}"
      COMMAND "${CMAKE_COMMAND}" "-DOUTPUT=${output}" "-DNAMESPACE=${namespace}"
        "-DFOLDER=${folder}" "-DFILES=${files}" -P "${_hearth_embed_script}"
      DEPENDS ${ARGN} "${_hearth_embed_script}"
      COMMENT "Embedding the texts of ${folder}" VERBATIM)
    target_sources(${target} PRIVATE "${output}")
  endfunction()
  return()
endif()

string(REPLACE "|" ";" FILES "${FILES}")
set(texts "")
foreach(file IN LISTS FILES)
  cmake_path(RELATIVE_PATH file BASE_DIRECTORY "${FOLDER}" OUTPUT_VARIABLE path)
  file(READ "${file}" text)
  string(APPEND texts "    {\"${path}\", R\"embedded(${text})embedded\"sv},\n")
endforeach()
file(WRITE "${OUTPUT}" "#include \"codegen/embedded_texts.h\"

namespace hearth::${NAMESPACE} {

std::span<const gpu::EmbeddedText> embedded_texts() noexcept {
  using namespace std::string_view_literals;  // their lengths are not counted while compiling
  static constexpr gpu::EmbeddedText kTexts[] = {
${texts}  };
  return kTexts;
}

}  // namespace hearth::${NAMESPACE}
")
