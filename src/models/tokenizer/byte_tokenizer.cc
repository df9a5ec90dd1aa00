#include "models/tokenizer/byte_tokenizer.h"

#include <cstdint>
#include <utility>

#include "core/json.h"
#include "models/tokenizer/byte_level.h"

namespace hearth::models {
namespace {

std::string byte_token(char byte) { return tokens::text_of_bytes({&byte, 1}); }

}  // namespace

std::string byte_tokenizer_json() {
  JsonObject vocabulary;
  for (int byte = 0; byte < kByteTokens; ++byte) {
    vocabulary.emplace_back(byte_token(static_cast<char>(byte)), std::int64_t{byte});
  }
  const JsonObject steps = {{"type", "ByteLevel"},
                            {"add_prefix_space", false},
                            {"trim_offsets", false},
                            {"use_regex", true}};
  return json_text(JsonObject{
      {"version", "1.0"},
      {"added_tokens", JsonArray{}},
      {"normalizer", nullptr},
      {"pre_tokenizer", steps},
      {"post_processor", nullptr},
      {"decoder", steps},
      {"model",
       JsonObject{{"type", "BPE"}, {"vocab", std::move(vocabulary)}, {"merges", JsonArray{}}}}});
}

std::string byte_tokenizer_config_json() {
  return json_text(JsonObject{{"bos_token", byte_token('\n')}, {"eos_token", byte_token('\0')}});
}

}  // namespace hearth::models
