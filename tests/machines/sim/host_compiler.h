// The compiler that turns kernel texts into libraries of this machine.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace hearth::sim {

// The library's bytes. A checked library reports its accesses (access_hooks.h). Throws
// Error{device} with the compiler's messages. Thread-safe.
std::vector<std::byte> compile_for_host(const std::string& kernel, const std::string& text,
                                        bool checked);

// Changes with whatever the library depends on beside the text.
std::string host_compiler_version(bool checked);

}  // namespace hearth::sim
