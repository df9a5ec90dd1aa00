# A toolchain that builds for Macs with Apple's chips on Linux: scripts/cross_macos. Zig brings the
# compiler, Apple's C headers and what the system library exports. HEARTH_ZIG is its program,
# HEARTH_CROSS_HEADERS a folder with the header-only libraries: the system's own headers must not be
# found beside them.
set(CMAKE_SYSTEM_NAME Darwin)
set(CMAKE_SYSTEM_PROCESSOR arm64)
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES HEARTH_ZIG HEARTH_CROSS_HEADERS)

set(CMAKE_CXX_COMPILER "${HEARTH_ZIG}" c++ -target aarch64-macos.13.0)
set(CMAKE_AR "${HEARTH_ZIG}")
set(CMAKE_CXX_ARCHIVE_CREATE "<CMAKE_AR> ar qc <TARGET> <LINK_FLAGS> <OBJECTS>")
set(CMAKE_CXX_ARCHIVE_APPEND "<CMAKE_AR> ar q <TARGET> <LINK_FLAGS> <OBJECTS>")
set(CMAKE_CXX_ARCHIVE_FINISH "<CMAKE_AR> ranlib <TARGET>")
set(CMAKE_INSTALL_NAME_TOOL "${CMAKE_COMMAND}")  # has to be there; nothing is installed
set(CMAKE_OSX_SYSROOT "" CACHE STRING "Zig has its own")

# One set of SIMD instructions serves all of these chips, so that Highway's headers suffice.
set(CMAKE_CXX_FLAGS_INIT "-isystem \"${HEARTH_CROSS_HEADERS}\" -DHWY_COMPILE_ONLY_STATIC=1")
# Packages name it as theirs; taken for implicit, it is left out.
set(CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES /usr/include)
