#include "models/language/text_generation.h"

#include <algorithm>
#include <string>
#include <vector>

#include "hearth/error.h"
#include "models/language/sequences.h"
#include "models/sampling/draw_tokens.h"

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
  Sequences sequences(model, {.pages = (length + most + kPageRows - 1) / kPageRows,
                              .page_size = kPageRows,
                              .states = 1,
                              .dtype = model.compute});
  Sequence sequence = sequences.begin();
  SamplingState sampling(options.sampling, model.vocabulary());
  sampling.accept_prompt(tokens);
  if (options.constraint != nullptr) {
    sampling.set_grammar(grammar::GrammarMatcher(options.constraint));
  }
  TokenStream stream(loaded.tokenizer);
  std::span<const std::int32_t> next = tokens;
  std::int32_t token = 0;
  while (made.tokens < most) {
    const std::span<const std::int32_t> piece = next.first(std::min(next.size(), kPromptPiece));
    next = next.subspan(piece.size());
    const SequenceRows rows{&sequence, piece, next.empty() ? 1 : 0};
    const Array scores = sequences.step({&rows, 1});
    if (!next.empty()) continue;
    SamplingState* const state = &sampling;
    token = draw_tokens(scores, {&state, 1}).front().token;
    if (token < 0) {
      throw Error(ErrorCode::invalid_argument,
                  "generate: no token can be drawn; got scores that are no numbers, or all banned "
                  "by options or grammar, expected at least one");
    }
    sampling.accept(token);
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
