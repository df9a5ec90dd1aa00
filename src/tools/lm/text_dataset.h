// The bytes of a text as training and held-out data for a language model.
//
// The last 5 % of the bytes are held out. Every batch is a pure function of its arguments, so a run
// that resumes at a step sees exactly what an uninterrupted one would.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "hearth/error.h"

namespace hearth::tools {

// Bytes as token ids. targets[b][i] is the byte after tokens[b][i] in the text.
struct TokenBatch {
  std::int64_t batch = 0;
  std::int64_t context = 0;
  std::vector<std::int32_t> tokens;   // [batch, context], row-major
  std::vector<std::int32_t> targets;  // [batch, context]
};

class TextDataset {
 public:
  // The least number of held-out bytes that an evaluation covers, where the text has them.
  static constexpr std::int64_t kEvaluationBytes = 16384;

  // Reads the file. Throws Error{io} when it is unreadable and Error{invalid_argument} when it is
  // too short for one window of `context` bytes and a target in either part.
  static TextDataset open(const std::string& path, std::int64_t context);

  // `source` is the name used in messages.
  TextDataset(std::vector<std::byte> text, std::int64_t context,
              const std::string& source = "text");

  std::int64_t context() const noexcept { return context_; }
  std::span<const std::uint8_t> train() const noexcept;
  std::span<const std::uint8_t> held_out() const noexcept;

  // `batch` windows of the training part, each at an independent uniform place drawn from
  // (seed, step, row). Throws Error{invalid_argument} unless batch > 0.
  TokenBatch train_batch(std::uint64_t seed, std::int64_t step, std::int64_t batch) const;

  // Windows of the held-out part, the same on every call, in batches that all have `batch` rows.
  // Their targets cover at least `bytes` bytes, spread evenly, or all of a shorter part; to fill
  // the last batch windows may overlap.
  std::vector<TokenBatch> held_out_batches(std::int64_t batch,
                                           std::int64_t bytes = kEvaluationBytes) const;

 private:
  void append_window(std::span<const std::uint8_t> part, std::uint64_t start,
                     TokenBatch& batch) const;
  TokenBatch empty_batch(std::int64_t batch) const;

  std::vector<std::byte> text_;
  std::int64_t context_;
  std::size_t train_bytes_ = 0;
};

}  // namespace hearth::tools
