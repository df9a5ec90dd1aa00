// Texts that tiny models write: what each is alone, for tests of many at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "models/golden_language_model.h"
#include "models/golden_model.h"
#include "models/language/model/sequences.h"
#include "models/loading/load_model.h"
#include "models/sampling/draw_tokens.h"
#include "models/serving/generation_stream.h"
#include "models/serving/request.h"
#include "models/tokenizer/from_gguf.h"

namespace hearth::models {

using Tokens = std::vector<std::int32_t>;

inline constexpr std::int64_t kContext = 160;

// A word for each token: <unk>, <s>, </s>, then w3, w4...
inline GgufMetadata words_metadata(std::int64_t vocabulary) {
  std::vector<std::string> texts = {"<unk>", "<s>", "</s>"};
  std::vector<std::int32_t> types = {2, 3, 3};
  while (static_cast<std::int64_t>(texts.size()) < vocabulary) {
    texts.push_back("w" + std::to_string(texts.size()) + ",");
    types.push_back(1);
  }
  const std::vector<float> scores(texts.size(), 0.0F);
  return {{"tokenizer.ggml.model", "llama"},
          {"tokenizer.ggml.tokens", texts},
          {"tokenizer.ggml.token_type", types},
          {"tokenizer.ggml.scores", scores}};
}

inline Tokenizer words(std::int64_t vocabulary) {
  return tokenizer_from_gguf(words_metadata(vocabulary), "test");
}

inline LoadedModel loaded_golden(const std::string& name) {
  LanguageModel model =
      testing::golden_language_model(testing::read_golden_model(name), DType::f32, kContext);
  model.config.context = kContext;
  const std::int64_t vocabulary = model.vocabulary();
  return {std::move(model), words(vocabulary)};
}

inline GenerationRequest request_of(const LoadedModel& loaded, std::uint64_t seed,
                                    std::size_t prompt, std::int64_t most) {
  std::mt19937_64 random(seed);
  GenerationRequest request;
  for (std::size_t i = 0; i < prompt; ++i) {
    const auto count = static_cast<std::uint64_t>(loaded.model.vocabulary() - 3);
    request.tokens.push_back(3 + static_cast<std::int32_t>(random() % count));
  }
  request.most_tokens = most;
  request.sampling.seed = seed;
  request.sampling.temperature = seed % 3 == 0 ? 0 : 0.8;
  request.sampling.top_k = seed % 2 == 0 ? 0 : 20;
  request.ignores_end = true;
  return request;
}

struct Answer {
  std::string text;
  Tokens tokens;
  std::vector<float> logprobs;
  GenerationPiece last;
};

inline Answer read(GenerationStream& stream) {
  Answer answer;
  do {
    answer.last = stream.next();
    answer.text += answer.last.text;
    for (const GenerationToken& token : answer.last.tokens) {
      answer.tokens.push_back(token.token);
      answer.logprobs.push_back(token.logprob);
    }
  } while (answer.last.finish == FinishReason::none);
  return answer;
}

// One token after the other, nobody else there.
inline Tokens tokens_alone(const LoadedModel& loaded, const GenerationRequest& request) {
  Sequences sequences(
      loaded.model,
      {.pages = 64, .page_size = 8, .keys = loaded.model.compute, .values = loaded.model.compute});
  Sequence sequence = sequences.begin();
  SamplingState state(request.sampling, loaded.model.vocabulary());
  state.accept_prompt(request.tokens);
  Tokens next = request.tokens, made;
  while (static_cast<std::int64_t>(made.size()) < request.most_tokens) {
    const SequenceRows rows{&sequence, next, 1};
    SamplingState* states = &state;
    const std::int32_t token = draw_tokens(sequences.step({&rows, 1}), {&states, 1})[0].token;
    state.accept(token);
    made.push_back(token);
    next = {token};
  }
  return made;
}

}  // namespace hearth::models
