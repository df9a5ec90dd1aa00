#include "tools/lm/base_scores.h"

#include <span>

#include "core/quoted.h"
#include "hearth/error.h"
#include "hearth/io.h"
#include "io/safetensors.h"
#include "tools/lm/model_path.h"

namespace hearth::tools {
namespace {

std::vector<std::int32_t> joined(const models::TokenChunks& chunks) {
  std::vector<std::int32_t> tokens;
  for (const auto& chunk : chunks) tokens.insert(tokens.end(), chunk.begin(), chunk.end());
  return tokens;
}

Shape shape_of(const models::TokenChunks& chunks, std::int64_t vocabulary) {
  const auto context = static_cast<std::int64_t>(chunks.front().size());
  return {static_cast<std::int64_t>(chunks.size()) * models::scored_tokens(context), vocabulary};
}

}  // namespace

BaseScoresWriter::BaseScoresWriter(const std::string& path, const models::TokenChunks& chunks,
                                   std::int64_t vocabulary)
    : file_(path), tokens_(joined(chunks)) {
  const Shape tokens = {static_cast<std::int64_t>(chunks.size()),
                        static_cast<std::int64_t>(chunks.front().size())};
  // Of elements of one width, those of the first name come first.
  std::vector<io::SafetensorsView> parts = {
      {"scores", DType::f32, shape_of(chunks, vocabulary), {}}, {"tokens", DType::i32, tokens, {}}};
  file_.write(io::safetensors_header(parts, {}));
}

void BaseScoresWriter::add(const Array& scores) {
  const HostBytes host = scores.host_bytes(DType::f32);
  file_.write(std::span(host.data, static_cast<std::size_t>(host.bytes)));
}

void BaseScoresWriter::commit() {
  file_.write(std::as_bytes(std::span(tokens_)));
  file_.commit();
}

void refuse_model(const std::string& path) {
  if (!is_model_path(path)) return;
  throw Error(ErrorCode::invalid_argument,
              "perplexity: a model, not its scores; got " + hearth::quoted(path) +
                  ", expected FILE of `hearth perplexity --model " + path +
                  " --file TEXT --save-base FILE`, with the same text and --context");
}

Array read_base_scores(const std::string& path, const models::TokenChunks& chunks,
                       std::int64_t vocabulary) {
  const auto fail = [&](const std::string& what) {
    throw Error(ErrorCode::invalid_argument, "perplexity: " + hearth::quoted(path) + " " + what);
  };
  Array tokens, scores;
  for (const NamedArray& each : map_safetensors(path, Device::cpu()).arrays) {
    if (each.name == "tokens" && each.array.dtype() == DType::i32) tokens = each.array;
    if (each.name == "scores" && each.array.dtype() == DType::f32) scores = each.array;
  }
  if (!tokens.defined() || !scores.defined()) {
    fail("holds no scores; got other tensors, expected tokens of i32 and scores of f32");
  }
  if (tokens.to_vector<std::int32_t>() != joined(chunks)) {
    fail("is of other chunks; got other tokens, expected those of this text");
  }
  const Shape expected = shape_of(chunks, vocabulary);
  if (scores.shape() != expected) {
    fail("does not fit; got scores " + to_string(scores.shape()) + ", expected " +
         to_string(expected));
  }
  return scores;
}

}  // namespace hearth::tools
