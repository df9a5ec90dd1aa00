// Tiny models whose tokens are signs, as files that the commands take.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "hearth/io.h"
#include "models/files/json_values.h"
#include "models/golden_model.h"
#include "models/language/folder/folder_model.h"

namespace hearth::tools {

// The sign of a token from 3 on: U+4E00 and what follows, in UTF-8.
inline std::string sign(std::int32_t token) {
  return {'\xe4', static_cast<char>(0xb8 + token / 64), static_cast<char>(0x80 + token % 64)};
}

inline GgufMetadata signs_metadata(std::int32_t vocabulary) {
  std::vector<std::string> texts = {"<unk>", "<s>", "</s>"};
  std::vector<std::int32_t> types = {2, 3, 3};
  for (std::int32_t token = 3; token < vocabulary; ++token) {
    texts.push_back(sign(token));
    types.push_back(1);
  }
  return {{"tokenizer.ggml.model", "llama"},
          {"tokenizer.ggml.tokens", texts},
          {"tokenizer.ggml.token_type", types},
          {"tokenizer.ggml.scores", std::vector<float>(texts.size(), 0)}};
}

// Says each sign as it is, with the end of a text behind an assistant's.
inline constexpr const char* kSignsTemplate =
    "{{ '<s>' }}{% for m in messages %}{{ m['content'] }}{{ '</s>' if m['role'] == 'assistant' "
    "else "
    "'\xe4\xb8\x89' }}{% endfor %}";

// Writes tests/golden/models/NAME.json as a GGUF file; an empty template: without one.
inline void write_signs_model(const std::string& path, const std::string& name,
                              const std::string& chat_template, const GgufMetadata& more = {}) {
  const testing::GoldenModel golden = testing::read_golden_model(name);
  GgufContents contents = models::gguf_of_folder(golden.config, testing::golden_weights(golden));
  const auto vocabulary = static_cast<std::int32_t>(
      std::get<std::int64_t>(*models::find_value(golden.config, "vocab_size")));
  for (const GgufEntry& entry : signs_metadata(vocabulary)) {
    contents.metadata.set(entry.key, entry.value);
  }
  contents.metadata.set("tokenizer.ggml.add_space_prefix", false);
  if (!chat_template.empty()) contents.metadata.set("tokenizer.chat_template", chat_template);
  for (const GgufEntry& entry : more) contents.metadata.set(entry.key, entry.value);
  save_gguf(path, contents.arrays, contents.metadata);
}

}  // namespace hearth::tools
