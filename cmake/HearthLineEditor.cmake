# hearth_line_editor: the target of libedit, for `hearth chat` at a terminal. It is there only where
# the library is, shared or static, with wide characters. A system that is built for from another
# has none.
include_guard()
if(CMAKE_CROSSCOMPILING)
  return()
endif()
find_path(HEARTH_LIBEDIT_HEADERS histedit.h DOC "Folder of libedit's histedit.h")
find_library(HEARTH_LIBEDIT edit DOC "libedit, which `hearth chat` edits lines by")
mark_as_advanced(HEARTH_LIBEDIT_HEADERS HEARTH_LIBEDIT)
if(NOT HEARTH_LIBEDIT_HEADERS OR NOT HEARTH_LIBEDIT)
  return()
endif()
set(_libraries "${HEARTH_LIBEDIT}")
if(HEARTH_LIBEDIT MATCHES "\\.a$")
  # A static one leaves its own dependencies to each link.
  find_package(PkgConfig)
  if(PKG_CONFIG_FOUND)
    pkg_check_modules(HEARTH_LIBEDIT_PKG libedit)
    list(REMOVE_ITEM HEARTH_LIBEDIT_PKG_STATIC_LDFLAGS -ledit)
    list(APPEND _libraries ${HEARTH_LIBEDIT_PKG_STATIC_LDFLAGS})
  endif()
endif()

include(CheckCXXSourceCompiles)
set(CMAKE_REQUIRED_INCLUDES "${HEARTH_LIBEDIT_HEADERS}")
set(CMAKE_REQUIRED_LIBRARIES "${_libraries}")
set(CMAKE_REQUIRED_FLAGS -std=c++20)
check_cxx_source_compiles("
#include <cstdio>
#include <histedit.h>
int read_character(EditLine*, wchar_t*) { return 0; }
int main() {
  EditLine* editor = el_init(\"\", stdin, stdout, stderr);
  el_wset(editor, EL_GETCFN, &read_character);
  el_winsertstr(editor, L\"\");
}
" HEARTH_LIBEDIT_IS_WIDE)
unset(CMAKE_REQUIRED_INCLUDES)
unset(CMAKE_REQUIRED_LIBRARIES)
unset(CMAKE_REQUIRED_FLAGS)
if(HEARTH_LIBEDIT_IS_WIDE)
  add_library(hearth_line_editor INTERFACE)
  target_include_directories(hearth_line_editor SYSTEM INTERFACE "${HEARTH_LIBEDIT_HEADERS}")
  target_link_libraries(hearth_line_editor INTERFACE ${_libraries})
endif()
