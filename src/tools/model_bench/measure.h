// How fast a language model reads prompts and writes tokens.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/language/cache_type.h"
#include "models/language/model/language_model.h"
#include "models/loading/load_model.h"

namespace hearth::tools {

struct ModelBenchOptions {
  std::int64_t prompt = 512;  // tokens of a prompt; 0: do not measure one
  std::int64_t tokens = 128;  // to write of each text; 0: do not measure them
  bool together = false;      // a prompt and then the tokens behind it are one measurement
  std::int64_t depth = 0;     // tokens that are in the caches before
  std::int64_t parallel = 1;  // texts that are written at once
  std::int64_t repeat = 5;
  std::int64_t prefill = 512;                // tokens of a prompt in a step
  models::CacheType keys = {}, values = {};  // what caches hold them as
};

// Neither is of no values. deviation_of: of a sample, over n - 1; 0 of one.
double mean_of(std::span<const double> values);
double deviation_of(std::span<const double> values);

struct ModelBenchRow {
  std::string test;           // "pp512", "tg128 x 4", "pp512+tg128", with depth "pp512 @ d1024"
  std::vector<double> rates;  // tokens of all texts a second, of each repetition
  // Of guesses, the share that held in all repetitions; nothing where none were made.
  std::optional<double> held = std::nullopt;
  std::int64_t threads = 0, prefill = 0, depth = 0;  // that it was measured with
  std::int64_t prompt = 0, tokens = 0;               // of a text, read and written
  std::int64_t parallel = 1;                         // texts at once
  std::string time = {};                             // when it began: 2026-01-31T23:59:59Z
  double mean() const { return mean_of(rates); }
  double deviation() const { return deviation_of(rates); }
  double best() const;
};

// Of an encoder: how fast `parallel` texts of `prompt` tokens become vectors, as "embed128 x 8".
// Otherwise prompts and writing. Random tokens, after one repetition that does not count. Tokens
// are written one pass each, whose scores are read as a sampler would. Throws Error as Sequences
// does.
std::vector<ModelBenchRow> measure_model(const models::LanguageModel& model,
                                         const ModelBenchOptions& options);

// Of measure_drafts(): guesses are looked up in what is there.
inline constexpr std::int64_t kLeastDraftedPrompt = 16;

// How fast the same number of greedy texts is written behind random prompts of `depth` tokens, of
// kLeastDraftedPrompt at least, where `drafts` tokens are guessed ahead (SchedulerOptions): "tg128
// + 8 drafts". The prompts take their part of the time; `prompt` does not count. Throws Error as
// Scheduler does.
ModelBenchRow measure_drafts(const models::LoadedModel& loaded, const ModelBenchOptions& options,
                             std::int64_t drafts, const models::LoadedModel* draft_model);

}  // namespace hearth::tools
