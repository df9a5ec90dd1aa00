#include "models/generation.h"

#include <algorithm>
#include <string>

#include "models/sampling/draw_tokens.h"
#include "models/token_range.h"

namespace hearth::models {

Generation::Generation(const Transformer& model, std::span<const std::int32_t> prompt,
                       const SamplingOptions& options)
    : model_(model),
      sampling_(options, model.config.vocabulary),
      caches_(model.make_caches(1)),
      tokens_(prompt.begin(), prompt.end()) {
  if (tokens_.empty()) {
    throw Error(ErrorCode::invalid_argument,
                "generate: empty prompt; got no tokens, expected at least one");
  }
  require_tokens("generate", tokens_, model.config.vocabulary);
  sampling_.accept_prompt(tokens_);
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
  const Array scores = reshape(model_.logits(last), {1, model_.config.vocabulary});
  fed_ = tokens_.size();
  SamplingState* const sampling = &sampling_;
  const std::int32_t token = draw_tokens(scores, {&sampling, 1}).front().token;
  if (token < 0 || !sampling_.accept(token)) return -1;
  tokens_.push_back(token);
  return token;
}

}  // namespace hearth::models
