#include "models/language/text_generation.h"

#include <algorithm>
#include <string>
#include <vector>

#include "hearth/error.h"
#include "hearth/ops.h"
#include "models/language/sequences.h"

namespace hearth::models {
namespace {

constexpr std::int64_t kPageRows = 32;
constexpr std::size_t kPromptPiece = 512;  // rows of a pass over the prompt

}  // namespace

Generated generate_text(const LoadedModel& loaded, std::string_view prompt,
                        const GenerateOptions& options,
                        const std::function<bool(std::string_view)>& write) {
  const LanguageModel& model = loaded.model;
  const EncodeOptions encoding{.add_special = true, .parse_special = options.parse_special};
  const std::vector<std::int32_t> tokens = loaded.tokenizer.encode(prompt, encoding);
  const auto length = static_cast<std::int64_t>(tokens.size());
  if (length == 0 || length > model.config.context) {
    throw Error(ErrorCode::invalid_argument, "generate: a prompt of so many tokens; got " +
                                                 std::to_string(length) + ", expected 1 to " +
                                                 std::to_string(model.config.context));
  }
  Generated made;
  made.prompt_tokens = length;
  const std::int64_t most = std::min(options.tokens, model.config.context - length);
  const CacheType keys = options.keys.value_or(model.compute);
  const CacheType values = options.values.value_or(model.compute);
  Sequences sequences(model, {.pages = (length + most + kPageRows - 1) / kPageRows,
                              .page_size = kPageRows,
                              .states = 1,
                              .keys = keys,
                              .values = values,
                              .rotate = keys.is_coded() || values.is_coded()});
  Sequence sequence = sequences.begin();
  Sampler sampler(options.sampler);
  TokenStream stream(loaded.tokenizer);
  std::span<const std::int32_t> next = tokens;
  std::int32_t token = 0;
  while (made.tokens < most) {
    const std::span<const std::int32_t> piece = next.first(std::min(next.size(), kPromptPiece));
    next = next.subspan(piece.size());
    const SequenceRows rows{&sequence, piece, next.empty() ? 1 : 0};
    const Array scores = sequences.step({&rows, 1});
    if (!next.empty()) continue;
    token = static_cast<std::int32_t>(sampler.sample(cast(scores, DType::f32).to_vector<float>()));
    if (loaded.tokenizer.is_end_of_generation(token)) {
      made.is_ended = true;
      break;
    }
    ++made.tokens;
    const std::string text = stream.push(token);
    if (!text.empty() && !write(text)) return made;
    next = {&token, 1};
  }
  const std::string rest = stream.finish();
  if (!rest.empty()) write(rest);
  return made;
}

}  // namespace hearth::models
