// What a kernel needs of the prelude: compilers take longer to read it than most kernels.
#pragma once

#include <string>

namespace hearth::gpu {

// A finished text without the lines `HEARTH_MACRO(name, ...)` of the prelude whose name nothing
// else in it says; lines keep their numbers. All of it where a text outside of the prelude makes
// names of parts (##).
std::string with_used_vocabulary(std::string text);

}  // namespace hearth::gpu
