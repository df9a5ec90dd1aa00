// Parts of the objects that answers are.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/json.h"
#include "models/serving/request.h"
#include "models/tokenizer/tokenizer.h"

namespace hearth::tools::serve {

// A name for an answer that no other has: the prefix and 24 random digits.
std::string fresh_id(const char* prefix);
std::int64_t seconds_now();

// "stop", "length", "tool_calls" or null.
JsonValue finish_name(models::FinishReason finish, bool has_calls);

// The bytes of a token as a text, or as numbers where they are no UTF-8, as llama.cpp has them.
JsonValue token_piece(const models::Tokenizer& tokenizer, std::int32_t token);

// Of chats: [{token, logprob, bytes, top_logprobs}].
JsonArray chat_logprobs(const models::Tokenizer& tokenizer,
                        std::span<const models::GenerationToken> tokens);

// Of llama.cpp's completions: [{id, token, bytes, logprob, top_logprobs}].
JsonArray llama_probabilities(const models::Tokenizer& tokenizer,
                              std::span<const models::GenerationToken> tokens);

// How tokens are drawn, by the names that requests have for it.
JsonObject sampling_object(const models::SamplingOptions& options);

// How many code points a text has, of which clients count places in texts.
std::int64_t code_points(std::string_view text);

// How far a text of tokens has come.
struct TextPlace {
  std::int64_t offset = 0;  // code points
  bool at_start = true;     // of Tokenizer::shown()
};
// Behind tokens whose text is left out.
TextPlace place_behind(const models::Tokenizer& tokenizer, std::span<const std::int32_t> tokens);

// The logprobs of completions: {tokens, token_logprobs, top_logprobs, text_offset}. Tokens that are
// no UTF-8 are called "bytes:\xf0\x9f".
class CompletionLogprobs {
 public:
  // A prompt, of which the first token has null, for nothing stands before it. `scored`: the
  // others, with their scores. `place`: as add() has it.
  void add_prompt(const models::Tokenizer& tokenizer, std::int32_t first,
                  std::span<const models::GenerationToken> scored, TextPlace& place);
  // `place` is where the text of the first token begins, and is moved behind the last.
  void add(const models::Tokenizer& tokenizer, std::span<const models::GenerationToken> tokens,
           TextPlace& place);
  JsonValue document() &&;

 private:
  void add_token(const models::Tokenizer& tokenizer, const models::GenerationToken& token,
                 std::int64_t offset);

  JsonArray texts_, logprobs_, best_, offsets_;
};

// As vLLM has them: null for the first token, then for each {token: {logprob, rank,
// decoded_token}}, of the token itself and of the best beside it. Rank 1 is the likeliest.
JsonValue prompt_logprobs(const models::Tokenizer& tokenizer,
                          std::span<const models::GenerationToken> scored);

}  // namespace hearth::tools::serve
