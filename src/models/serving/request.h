// What a text that a model shall write is asked for with, and what comes back of it.
#pragma once

#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "hearth/error.h"
#include "hearth/models.h"
#include "models/grammar/grammar.h"
#include "models/sampling/draw_tokens.h"
#include "models/sampling/sampling_options.h"

namespace hearth::models {

using hearth::FinishReason;

struct GenerationRequest {
  std::vector<std::int32_t> tokens;  // the prompt, at least one
  std::int64_t most_tokens = 256;    // to write; a full context ends a text, too
  // Before so many no token that ends a text is drawn, and no stop is looked for in their text. Not
  // beside a constraint, which may leave nothing but an end.
  std::int64_t least_tokens = 0;
  SamplingOptions sampling = {};
  // The text ends before the first of these, none of them empty.
  std::vector<std::string> stops = {};
  std::shared_ptr<grammar::Constraint> constraint = nullptr;  // null: any text
  grammar::GrammarTrigger trigger = {};
  // Where the context is full the text goes on behind its last half, which runs again, and before
  // it the token that the tokenizer begins texts with, and so many tokens of the prompt behind it.
  bool goes_on = false;
  std::int64_t kept_tokens = 0;
  bool ignores_end = false;    // tokens that end a text are tokens like others
  bool shows_special = false;  // texts of control tokens are text
  // -1: none; else the logarithm of each token's probability, and those of so many of the best.
  std::int64_t logprobs = -1;
  // The same of the tokens of the prompt, each behind those before it. Prompts are then computed
  // from their first token on, in parts whose scores take little memory.
  std::int64_t prompt_logprobs = -1;
};

struct GenerationToken {
  std::int32_t token = 0;
  float logprob = 0;               // 0 where none was asked for
  std::vector<TokenLogprob> best;  // the likeliest first
  std::int64_t rank = 0;           // of a token of the prompt; 1: the likeliest
};

// A part of an answer. Pieces joined are all of it, those that end it among them.
struct GenerationPiece {
  std::string text = {};                     // whole code points, perhaps none
  std::vector<GenerationToken> tokens = {};  // that were drawn since the last piece
  // Of the prompt, from its second token on, where prompt_logprobs were asked for: those that were
  // scored since the last piece. All of them come before the first that is drawn.
  std::vector<GenerationToken> prompt = {};
  FinishReason finish = FinishReason::none;
  std::string stop = {};   // of the request's stops, the one that ended the answer; empty: none did
  std::string error = {};  // of FinishReason::failed
  ErrorCode error_code = ErrorCode::internal;
  // Of the whole answer so far.
  std::int64_t prompt_tokens = 0;
  std::int64_t cached_tokens = 0;  // of the prompt, that the model need not see again
  std::int64_t new_tokens = 0;

  // The two as one; how it ended and the counts are the next one's. Leaves the text and the counts
  // as they are where it throws.
  void append(GenerationPiece next) {
    const auto add = [](std::vector<GenerationToken>& all, std::vector<GenerationToken>& more) {
      all.insert(all.end(), std::make_move_iterator(more.begin()),
                 std::make_move_iterator(more.end()));
    };
    text.reserve(text.size() + next.text.size());
    add(tokens, next.tokens);
    add(prompt, next.prompt);
    next.text = std::move(text.append(next.text));
    next.tokens = std::move(tokens);
    next.prompt = std::move(prompt);
    *this = std::move(next);
  }
};

}  // namespace hearth::models
