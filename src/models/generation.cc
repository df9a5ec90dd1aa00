#include "models/generation.h"

#include <algorithm>
#include <string>

#include "models/token_range.h"

namespace hearth::models {

Generation::Generation(const Transformer& model, std::span<const std::int32_t> prompt,
                       const SamplerOptions& options)
    : model_(model),
      sampler_(options),
      caches_(model.make_caches(1)),
      tokens_(prompt.begin(), prompt.end()) {
  if (tokens_.empty()) {
    throw Error(ErrorCode::invalid_argument,
                "generate: empty prompt; got no tokens, expected at least one");
  }
  require_tokens("generate", tokens_, model.config.vocabulary);
}

std::int32_t Generation::next() {
  const NoGrad no_grad;
  const auto context = static_cast<std::size_t>(model_.config.context);
  const auto held = static_cast<std::size_t>(caches_.front().length);
  if (held + tokens_.size() - fed_ > context) {
    for (nn::KvCache& cache : caches_) cache.clear();
    fed_ = tokens_.size() - std::min(tokens_.size(), std::max<std::size_t>(1, context / 2));
  }
  const std::span<const std::int32_t> fresh = std::span(tokens_).subspan(fed_);
  const auto rows = static_cast<std::int64_t>(fresh.size());
  const Array input = Array::from_data(fresh, {1, rows}, model_.embed_tokens.weight.device());
  const Array last = narrow(model_.hidden(input, &caches_), 1, rows - 1, 1);
  const auto scores = cast(model_.logits(last), DType::f32).to_vector<float>();
  fed_ = tokens_.size();
  const auto token = static_cast<std::int32_t>(sampler_.sample(scores));
  tokens_.push_back(token);
  return token;
}

}  // namespace hearth::models
