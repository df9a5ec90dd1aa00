#include "models/tokenizer/ending_tokens.h"

namespace hearth::models {

std::vector<std::int32_t> ending_tokens(const Tokenizer& tokenizer) {
  std::vector<std::int32_t> out;
  for (std::size_t i = 0; i < tokenizer.size(); ++i) {
    const auto id = static_cast<std::int32_t>(i);
    if (tokenizer.is_end_of_generation(id)) out.push_back(id);
  }
  return out;
}

}  // namespace hearth::models
