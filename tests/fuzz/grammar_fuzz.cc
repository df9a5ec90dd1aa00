// Parses arbitrary bytes as a grammar in GBNF; what stands behind a byte 0 says where the walk
// through it goes, and with a byte 1 before it the grammar waits for a trigger. Whatever is refused
// must be a hearth::Error.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "grammar_walk.h"
#include "hearth/error.h"

namespace {

using hearth::models::grammar::Grammar;
using hearth::models::grammar::GrammarTrigger;

constexpr std::size_t kMaxSource = 1 << 12;
constexpr std::size_t kSteps = 24;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > kMaxSource) return 0;
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const std::size_t end = std::min(all.find('\0'), all.size());
  std::string_view text = all.substr(0, end);
  const std::string_view choices = end < all.size() ? all.substr(end + 1) : all;
  GrammarTrigger trigger;
  if (text.ends_with('\1')) {
    trigger = {.texts = {"ab", "{"}, .tokens = {7}};
    text.remove_suffix(1);
  }
  const auto find = [](std::string_view name) { return name == "<t>" ? 3 : -1; };
  try {
    hearth::testing::walk_grammar(Grammar::from_gbnf(text, "root", find), choices.substr(0, kSteps),
                                  trigger, [](const std::string&) {});
  } catch (const hearth::Error& error) {
    hearth::testing::require(error.code() == hearth::ErrorCode::invalid_argument ||
                             error.code() == hearth::ErrorCode::unsupported);
  }
  return 0;
}
