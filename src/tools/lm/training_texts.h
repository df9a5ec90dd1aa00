// Texts as tokens, to train a language model on: a plain text, or the lines of a .jsonl file.
//
// Every batch is a pure function of its arguments, so a run that resumes at a step sees exactly
// what an uninterrupted one would.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "models/loading/load_model.h"

namespace hearth::tools {

// Rows of tokens and what follows each, [texts, width], row-major. Targets that do not count,
// behind the end of a short text too, are models::kNoTarget.
struct TokenRows {
  std::int64_t texts = 0;
  std::int64_t width = 0;
  std::int64_t counted = 0;
  std::vector<std::int32_t> tokens;
  std::vector<std::int32_t> targets;
};

class TrainingTexts {
 public:
  // A file whose name ends with ".jsonl" has a text a line, as TrainingLines reads them. Those with
  // a prompt that are longer than `context` lose their end, and are left out where nothing that
  // counts begins before; cuts() counts both. Another file is one text, all of which counts. The
  // last twentieth is held out where it fills a window, or of lines is one at least.
  //
  // Throws Error{io}, Error{invalid_argument} for files in which nothing counts, and what
  // TrainingLines throws.
  static TrainingTexts open(const std::string& path, const models::LoadedModel& loaded,
                            std::int64_t context);

  struct Text {
    std::vector<std::int32_t> tokens;
    std::vector<bool> counts;  // of each, whether it is to be foreseen
    std::int32_t first = -1;   // goes before each window; -1: none
  };
  TrainingTexts(std::vector<Text> train, std::vector<Text> held_out, std::int64_t context);

  struct Cuts {
    std::int64_t lines = 0;  // with conversations, or prompts and what completes them
    std::int64_t left_out = 0;
    std::int64_t shortened = 0;  // of which an answer lost its end
  };
  const Cuts& cuts() const noexcept { return cuts_; }

  bool has_held_out() const noexcept { return !held_out_.empty(); }
  std::uint64_t fingerprint() const;

  // Windows at places that are drawn from (seed, step, row).
  TokenRows train_batch(std::uint64_t seed, std::int64_t step, std::int64_t batch) const;
  // Windows of what is held out, else of what is trained on: the same on every call, spread evenly,
  // in batches of at most `batch`.
  std::vector<TokenRows> evaluation_batches(std::int64_t batch) const;

 private:
  std::int64_t window_of(const Text& text) const;  // tokens of the text in one
  void append(const Text& text, std::int64_t start, TokenRows& rows) const;

  std::vector<Text> train_, held_out_;
  std::int64_t context_;
  Cuts cuts_;
};

}  // namespace hearth::tools
