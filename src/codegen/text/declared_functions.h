// The functions that a kernel text declares, found by its tokens alone.
#pragma once

#include <set>
#include <string_view>

namespace hearth::gpu {

// Names in front of a parenthesis outside of all braces: of functions and function templates, and
// of what is called in initialisers there. Parts of `text`.
std::set<std::string_view> declared_functions(std::string_view text);

}  // namespace hearth::gpu
