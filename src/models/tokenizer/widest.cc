#include <algorithm>

#include "models/tokenizer/parts.h"

namespace hearth::models::tokens {

void find_widest(Parts& parts) {
  const std::size_t of_model = parts.model->widest();
  const auto raw = parts.raw_texts.widest(), normal = parts.normal_texts.widest();
  const bool keeps = std::all_of(parts.normalizer.begin(), parts.normalizer.end(),
                                 [](const NormalizerStep& step) { return keeps_bytes(step); }) &&
                     std::all_of(parts.pre_tokenizer.begin(), parts.pre_tokenizer.end(),
                                 [](const PreTokenizerStep& step) { return keeps_bytes(step); });
  const bool is_bounded = keeps && of_model > 0 && raw && normal;
  parts.widest = is_bounded ? std::max({of_model, *raw, *normal}) : 0;
}

}  // namespace hearth::models::tokens
