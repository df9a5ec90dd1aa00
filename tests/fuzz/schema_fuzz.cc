// Parses arbitrary bytes as a JSON schema; what stands behind a byte 0 says where the walk through
// the texts of it goes. Whatever is refused must be a hearth::Error; texts that may end are JSON.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/json.h"
#include "grammar_walk.h"
#include "hearth/error.h"

namespace {

using hearth::models::grammar::Grammar;

constexpr std::size_t kMaxSchema = 1 << 13;
constexpr std::size_t kSteps = 48;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > kMaxSchema) return 0;
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const std::size_t end = std::min(all.find('\0'), all.size());
  const auto schema = hearth::parse_json(std::string(all.substr(0, end)));
  if (!schema) return 0;
  const std::string_view choices = end < all.size() ? all.substr(end + 1) : all;
  try {
    hearth::testing::walk_grammar(Grammar::from_schema(*schema), choices.substr(0, kSteps), {},
                                  [](const std::string& text) {
                                    hearth::testing::require(hearth::parse_json(text).has_value());
                                  });
  } catch (const hearth::Error& error) {
    hearth::testing::require(error.code() == hearth::ErrorCode::invalid_argument ||
                             error.code() == hearth::ErrorCode::unsupported);
  }
  return 0;
}
