// Reads arbitrary bytes as a tokenizer.json, or encodes them as a text with small vocabularies; the
// first byte says which. Ids must be those of tokens; what is over bytes must come back as it was,
// and streamed as it is decoded at once.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "models/tokenizer/from_gguf.h"
#include "models/tokenizer/from_json.h"
#include "models/tokenizer/unicode.h"

namespace {

using hearth::models::Tokenizer;
using hearth::models::tokenizer_from_gguf;

void require(bool holds) {
  if (!holds) std::abort();
}

void check(const Tokenizer& tokenizer, std::string_view text, bool is_exact) {
  for (const bool is_trusted : {false, true}) {
    const auto ids =
        tokenizer.encode(text, {.add_special = is_trusted, .parse_special = is_trusted});
    for (const std::int32_t id : ids) {
      require(id >= 0 && static_cast<std::size_t>(id) < tokenizer.size());
    }
    const std::string decoded = tokenizer.decode(ids, {.show_special = true});
    if (is_exact && !is_trusted) require(decoded == text);
    hearth::models::TokenStream stream(tokenizer, {.show_special = true});
    std::string streamed;
    for (const std::int32_t id : ids) streamed += stream.push(id);
    streamed += stream.finish();
    // What is cut off at the end is one U+FFFD there, and here one for each byte.
    const std::size_t cut = hearth::models::tokens::incomplete_suffix(decoded);
    std::string expected =
        hearth::models::tokens::valid_utf8(decoded.substr(0, decoded.size() - cut));
    if (cut > 0) expected += hearth::models::tokens::kReplacementText;
    require(streamed == expected);
  }
}

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
      check(tokenizer, bytes, is_exact);
    }
    return 0;
  }
  try {
    const Tokenizer tokenizer = hearth::models::tokenizer_from_json(bytes, "fuzz");
    check(tokenizer, "a ab\n\n1234 It's \xc3\xa9\xe4\xb8\x80\xff<s>", false);
    check(tokenizer, std::string_view(bytes).substr(0, 1000), false);
  } catch (const hearth::Error& error) {
    require(error.code() == hearth::ErrorCode::corrupt_file ||
            error.code() == hearth::ErrorCode::unsupported);
  }
  return 0;
}
