// Checks of dialect texts, and what of them has to be rewritten for C++.
#pragma once

#include <string>
#include <string_view>

namespace hearth::gpu {

// Metal has no double: 1.0 is a float, and 1.0h a half. The text with the suffixes that C++ wants;
// lines stay where they are.
std::string with_float_literals(std::string_view text);

// Whether `word` occurs in `text` outside of comments and literals.
bool mentions(std::string_view text, std::string_view word);

// Throws Error{invalid_argument} for what would compile and mean something else: a threadgroup
// array within a function, which would be each thread's own, and entry points, which are generated.
// `name` is the kernel's, for the message.
void check_dialect(std::string_view text, const std::string& name);

}  // namespace hearth::gpu
