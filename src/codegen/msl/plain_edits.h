// What texts of Metal's own say in words of Apple's compiler that compilers of C++ do not have.
#pragma once

#include <string_view>
#include <vector>

#include "codegen/text_edits.h"
#include "codegen/tokens.h"

namespace hearth::gpu {

// `T a[N] = {[0 ... N - 1] = v};` becomes a declaration and a loop.
void rewrite_range_initialisers(const std::vector<Token>& tokens, TextEdits& edits);
// An explicit specialisation of a function within a class, which g++ before 14 refuses, becomes an
// overload: calls find it by its parameters all the same.
void rewrite_member_specialisations(const std::vector<Token>& tokens, TextEdits& edits);
// A swizzle that is read, `q.xy`, becomes a call of the prelude's, unless the text gives one of its
// own names that form.
void rewrite_swizzles(const std::vector<Token>& tokens, TextEdits& edits);

// Parts of a preprocessed text that come of included files which only wrap Apple's internal
// functions, such as MLX's bf16_math.h: other compilers have those functions by the prelude.
std::vector<std::string_view> wrapper_parts(std::string_view text);

}  // namespace hearth::gpu
