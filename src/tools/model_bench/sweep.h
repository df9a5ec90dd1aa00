// Lists of what `hearth bench-model` measures: every combination of them.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tools/model_bench/measure.h"

namespace hearth::tools {

// None of the lists is empty but for pairs.
struct ModelBenchSweep {
  std::vector<std::int64_t> prompts = {512}, tokens = {128};  // 0: none of it
  // Prompts and tokens behind them that are measured together; may be empty.
  std::vector<std::pair<std::int64_t, std::int64_t>> pairs = {};
  std::vector<std::int64_t> depths = {0};
  std::vector<std::int64_t> parallel = {1};
  std::vector<std::int64_t> prefills = {512};
  std::vector<std::int64_t> threads = {0};  // of the CPU; 0: as many as there are

  // Rows of caches that the longest measurement takes.
  std::int64_t most_rows() const;
};

// Numbers of [low, high], as llama-bench reads them: "512,1024", "16-64" (each of these),
// "16-64+16" and "16-64*2", in any number of texts. Throws Error{invalid_argument} with the name of
// the option.
std::vector<std::int64_t> counts_of_lists(const std::string& option,
                                          const std::vector<std::string>& lists, std::int64_t low,
                                          std::int64_t high);

// Pairs of such numbers of at least 1, as llama-bench's -pg has them: "512,128", one in each text.
std::vector<std::pair<std::int64_t, std::int64_t>> pairs_of_lists(
    const std::string& option, const std::vector<std::string>& lists, std::int64_t high);

// One measurement, of a prompt, of writing or of both, and the threads that it has.
struct ModelBenchStep {
  ModelBenchOptions options;
  std::int64_t threads = 0;
};
// Prompts, then writing, then pairs of each of the other combinations, threads changing last; of a
// model that writes, whose prompts are read one by one, prompts once for all numbers of texts.
// `repeat`, keys and values are those of `options`. Throws Error{invalid_argument} for more than
// are reasonable.
std::vector<ModelBenchStep> steps_of(const ModelBenchSweep& sweep, const ModelBenchOptions& options,
                                     bool writes_texts);

}  // namespace hearth::tools
