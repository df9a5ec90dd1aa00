// Rewrites what Apple's compiler accepts and compilers of C++ do not.
#pragma once

#include <string_view>
#include <vector>

#include "codegen/text/text_edits.h"
#include "codegen/text/tokens.h"

namespace hearth::gpu {

// `T a[N] = {[0 ... N - 1] = v};` becomes a declaration and a loop.
void rewrite_range_initialisers(const std::vector<Token>& tokens, TextEdits& edits);
// An explicit specialisation of a function within a class, which g++ before 14 refuses, becomes an
// overload: calls find it by its parameters all the same.
void rewrite_member_specialisations(const std::vector<Token>& tokens, TextEdits& edits);
// A class whose constructors are all `= default` may be initialised as an aggregate, which C++20
// wants undeclared.
void rewrite_defaulted_constructors(const std::vector<Token>& tokens, TextEdits& edits);
// A specialisation of a class template of metal's, `template <> struct is_integral<Mine> {...};`,
// goes to the prelude's namespace: C++ wants it there.
void rewrite_metal_specialisations(const std::vector<Token>& tokens, TextEdits& edits);
// A swizzle, `q.wx` or `q.xy += v`, becomes a call of the prelude's, unless the text has a name of
// its own of that form.
void rewrite_swizzles(const std::vector<Token>& tokens, TextEdits& edits);

// Functions of a preprocessed text that only wrap Apple's internal ones: those that add to
// namespace metal, such as MLX's for bfloat, which other compilers have by the prelude, and those
// that nothing calls.
std::vector<std::string_view> wrapper_parts(const std::vector<Token>& tokens);

}  // namespace hearth::gpu
