// Reads arbitrary bytes as a tokenizer.json, with a tokenizer_config.json behind a byte 0, or
// encodes them as a text with small vocabularies; the first byte says which. What is over bytes
// must come back as it was; a tokenizer that GGUF can say must do the same as it is read back from
// there.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hearth/error.h"
#include "models/tokenizer/from_gguf.h"
#include "models/tokenizer/from_json.h"
#include "models/tokenizer/to_gguf.h"
#include "models/tokenizer/unicode.h"
#include "tokenizer_checks.h"

namespace {

using hearth::models::Tokenizer;
using hearth::models::tokenizer_from_gguf;
using hearth::testing::check_tokenizer;
using hearth::testing::require;

hearth::GgufMetadata with_bytes(const std::string& model, std::vector<std::string> words) {
  std::vector<std::string> texts = {"<unk>", "<s>", "</s>"};
  std::vector<std::int32_t> types = {2, 3, 3};
  for (int byte = 0; byte < 256; ++byte) {
    constexpr char kDigits[] = "0123456789ABCDEF";
    texts.push_back(std::string("<0x") + kDigits[byte >> 4] + kDigits[byte & 15] + ">");
    types.push_back(6);
  }
  texts.insert(texts.end(), words.begin(), words.end());
  types.resize(texts.size(), 1);
  std::vector<float> scores;
  for (std::size_t i = 0; i < texts.size(); ++i) scores.push_back(-static_cast<float>(i % 7));
  return {{"tokenizer.ggml.model", model},
          {"tokenizer.ggml.tokens", texts},
          {"tokenizer.ggml.token_type", types},
          {"tokenizer.ggml.scores", scores},
          {"tokenizer.ggml.unknown_token_id", std::uint32_t{0}},
          {"tokenizer.ggml.cls_token_id", std::uint32_t{1}},
          {"tokenizer.ggml.seperator_token_id", std::uint32_t{2}}};
}

struct Small {
  Small() {
    const std::vector<std::string> words = {"\xe2\x96\x81",
                                            "a",
                                            "b",
                                            "ab",
                                            "\xe2\x96\x81"
                                            "a",
                                            "\n",
                                            "\n\n",
                                            "\xc3\xa9"};
    for (const char* model : {"llama", "bert", "t5"}) {
      tokenizers.push_back(tokenizer_from_gguf(with_bytes(model, words), model));
    }
    hearth::GgufMetadata pairs = with_bytes("gemma4", words);
    pairs.set("tokenizer.ggml.merges", std::vector<std::string>{"a b", "\xe2\x96\x81 a", "\n \n"});
    tokenizers.push_back(tokenizer_from_gguf(pairs, "gemma4"));
  }
  std::vector<Tokenizer> tokenizers;
};

void write_as_gguf(const std::string& json, const std::string& config, std::size_t rows) {
  hearth::GgufMetadata metadata;
  hearth::models::add_tokenizer(metadata, {json, config, ""}, static_cast<std::int64_t>(rows),
                                "fuzz");
  const Tokenizer written = tokenizer_from_gguf(metadata, "fuzz");
  require(written.size() == rows);
  check_tokenizer(written, hearth::testing::kMixedText, false);
}

void read_json(const std::string& bytes) {
  const std::size_t end = std::min(bytes.find('\0'), bytes.size());
  const std::string json = bytes.substr(0, end);
  const std::string config = bytes.substr(std::min(end + 1, bytes.size()));
  const Tokenizer tokenizer = hearth::models::tokenizer_from_json(json, "fuzz", config);
  // What normalizers make too much of is refused when a text is encoded.
  try {
    check_tokenizer(tokenizer, hearth::testing::kMixedText, false);
    check_tokenizer(tokenizer, std::string_view(bytes).substr(0, 1000), false);
    write_as_gguf(json, config, tokenizer.size() + 3);
  } catch (const hearth::Error& error) {
    if (error.code() != hearth::ErrorCode::invalid_argument) throw;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  if ((data[0] & 1) != 0) {
    static const Small small;
    // The first is exact but for U+2581, which is a space there.
    const bool has_mark = bytes.find(hearth::models::tokens::kSpaceMark) != std::string::npos;
    for (const Tokenizer& tokenizer : small.tokenizers) {
      const bool is_exact = &tokenizer == &small.tokenizers[0] && !has_mark;
      check_tokenizer(tokenizer, bytes, is_exact);
    }
    return 0;
  }
  try {
    read_json(bytes);
  } catch (const hearth::Error& error) {
    require(error.code() == hearth::ErrorCode::corrupt_file ||
            error.code() == hearth::ErrorCode::unsupported);
  }
  return 0;
}
