// How fast a language model reads prompts and writes tokens.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/language/cache_type.h"
#include "models/language/language_model.h"

namespace hearth::tools {

struct ModelBenchOptions {
  std::int64_t prompt = 512;  // tokens of a prompt; 0: do not measure one
  std::int64_t tokens = 128;  // that each sequence writes; 0: do not measure them
  std::int64_t depth = 0;     // tokens that are in the caches before
  std::int64_t batch = 1;     // sequences that write side by side
  std::int64_t repeat = 5;
  std::int64_t piece = 512;      // rows of a pass over a prompt at most
  models::CacheType cache = {};  // of keys and values
};

struct ModelBenchRow {
  std::string test;           // "pp512", "tg128", "tg128 x 4", with depth "pp512 @ d1024"
  std::vector<double> rates;  // tokens of all sequences a second, of each repetition
  double mean() const;
  double deviation() const;  // of a sample: over n - 1; 0 of one
  double best() const;
};

// Of an encoder: how fast `batch` texts of `prompt` tokens become vectors, as "embed128 x 8".
// Otherwise prompts and writing. Random tokens, after one repetition that does not count. Tokens
// are written one pass each, whose scores are read as a sampler would. Throws Error as Sequences
// does.
std::vector<ModelBenchRow> measure_model(const models::LanguageModel& model,
                                         const ModelBenchOptions& options);

}  // namespace hearth::tools
