// The compiler that turns kernel texts into libraries of this machine: what HEARTH_HOST_COMPILER
// names, else the one found when Hearth was configured, else g++, c++ or clang++ in PATH.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace hearth::sim {

// `checked`: the library reports its accesses (access_hooks.h). `debug`: it knows its lines, and a
// checked one reports indices outside arrays of its own as well. `time_limit`: seconds of the
// processor's time that the compiler may take; 0: any.
struct HostOptions {
  bool checked = false;
  bool debug = false;
  double time_limit = 0;
};

// The library's bytes. Throws Error{device} with the compiler's messages, also where the text calls
// what neither it nor the prelude has, such as libc, has inline assembly, or, with `debug`, would
// initialise variables when it is loaded, and where it takes too long; Error{unsupported} where
// there is no compiler. Thread-safe.
std::vector<std::byte> compile_for_host(const std::string& kernel, const std::string& text,
                                        HostOptions options);

// Changes with whatever the library depends on besides the text.
std::string host_compiler_version(HostOptions options);

// Where the instruction at this offset of a library comes from: the file and line of the innermost
// function that is not of the prelude, "axpy:5". Empty without debug lines or addr2line (binutils).
std::string source_line(std::span<const std::byte> library, std::uintptr_t offset);

}  // namespace hearth::sim
