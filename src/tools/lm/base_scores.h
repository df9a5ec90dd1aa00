// The log-probabilities of a model over a text, as a safetensors file that others are compared
// with: `tokens` i32 [chunks, context] and `scores` f32 [chunks * scored, vocabulary].
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hearth/array.h"
#include "io/file.h"
#include "models/language/model/perplexity.h"

namespace hearth::tools {

// Writes the file while scores come: there are 4 bytes of them for each token and each word of the
// vocabulary. The file is there after commit() only.
class BaseScoresWriter {
 public:
  // Throws Error{io}.
  BaseScoresWriter(const std::string& path, const models::TokenChunks& chunks,
                   std::int64_t vocabulary);
  // [tokens, vocabulary] f32, the next ones in the order of the chunks.
  void add(const Array& scores);
  // After all of them.
  void commit();

 private:
  io::AtomicFileWriter file_;
  std::vector<std::int32_t> tokens_;
};

// Throws Error{invalid_argument} where the path is a model, and no file of its scores.
void refuse_model(const std::string& path);

// The scores of a file of these chunks. Throws Error{invalid_argument} for one of others.
Array read_base_scores(const std::string& path, const models::TokenChunks& chunks,
                       std::int64_t vocabulary);

}  // namespace hearth::tools
