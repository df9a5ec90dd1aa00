// Evaluates integer constant expressions of kernel texts: conditions of the preprocessor, and
// values of function constants.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "codegen/text/tokens.h"

namespace hearth::gpu {

// The value of a name, or nothing where it has none.
using NameValue = std::function<std::optional<std::int64_t>(std::string_view name)>;

// The value of an expression of integers, `true`, `false`, names and C's operators; nothing where
// it is no such expression, or needs a name that has no value. Computed as C's preprocessor does,
// in intmax_t, or in uintmax_t where an operand is unsigned; the bits of that are returned.
std::optional<std::int64_t> evaluate(std::span<const Token> expression, const NameValue& value);

}  // namespace hearth::gpu
