// Runs of tokens of a Metal text: brackets, attributes, lists.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/text/tokens.h"

namespace hearth::gpu {

// Tokens of one text, in order.
using Tokens = std::span<const Token>;

bool is(Tokens tokens, std::size_t at, std::string_view text);
bool opens(std::string_view text);
bool closes(std::string_view text);
// From the first to the last token.
std::string_view source_of(Tokens tokens);
// After the bracket that closes the one at `at`; tokens.size() where there is none.
std::size_t after_bracket(Tokens tokens, std::size_t at);
// After the > that belongs to the < at `at`.
std::size_t after_template(Tokens tokens, std::size_t at);
// Separated by commas that are in no brackets of any kind.
std::vector<Tokens> separated(Tokens tokens);

struct Attribute {
  std::string name;
  Tokens arguments;
};
// [[...]]: nothing else has two brackets one after the other.
bool is_attribute(Tokens tokens, std::size_t at);
// Of [[a(1), b]], which begins at `at`.
std::vector<Attribute> read_attribute(Tokens tokens, std::size_t at);
// Tokens that are in no attribute.
std::vector<Token> plain(Tokens tokens);

}  // namespace hearth::gpu
