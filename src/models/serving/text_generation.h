// Text that a language model writes behind a prompt.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "hearth/models.h"
#include "models/grammar/grammar.h"
#include "models/language/cache_type.h"
#include "models/loading/load_model.h"
#include "models/sampling/sampling_options.h"

namespace hearth::models {

struct TextGenerationOptions {
  std::int64_t tokens = 256;  // to write at most
  SamplingOptions sampling = {};
  std::shared_ptr<grammar::Constraint> constraint = nullptr;  // what the text may be
  bool parse_special = false;           // texts of control tokens in the prompt are these tokens
  CacheTypes caches = {};               // codes are of rows that are rotated
  std::vector<std::string> stops = {};  // the text ends before the first of these
  bool goes_on = false;                 // of GenerationRequest
  std::int64_t kept_tokens = 0;         // of GenerationRequest
  // Of SchedulerOptions: tokens guessed ahead, and what guesses them.
  std::int64_t drafts = 0;
  const LoadedModel* draft_model = nullptr;
};

struct GenerationResult {
  GeneratedText text;
  std::int64_t tokens_guessed = 0;
  std::int64_t guesses_held = 0;  // of these
};

// Gives `write` the text as it comes, in whole code points, on the caller's thread; false from it
// ends the text. The prompt, of tokens as Tokenizer::encode_prompt() has them, and what is written
// are at most the context of the model unless options.goes_on. Throws what
// Scheduler::submit() throws, and what ended the text where it failed.
GenerationResult generate_text(const LoadedModel& loaded, std::string_view prompt,
                               const TextGenerationOptions& options,
                               const std::function<bool(std::string_view)>& write);

}  // namespace hearth::models
