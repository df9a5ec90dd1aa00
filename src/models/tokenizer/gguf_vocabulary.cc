#include "models/tokenizer/gguf_vocabulary.h"

#include <algorithm>
#include <limits>
#include <string_view>

#include "core/quoted.h"
#include "hearth/error.h"
#include "models/tokenizer/byte_level.h"
#include "models/tokenizer/gguf_roles.h"

namespace hearth::models::tokens {
namespace {

std::string with_spaces(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const bool mark = text.substr(at).starts_with(kSpaceMark);
    out += mark ? ' ' : text[at];
    at += mark ? kSpaceMark.size() : 1;
  }
  return out;
}

}  // namespace

void GgufVocabulary::fail(const std::string& what) const {
  throw Error(ErrorCode::corrupt_file, source + ": " + what);
}

bool GgufVocabulary::flag(const std::string& key, bool fallback) const {
  return metadata.as_bool(kKeyPrefix + key, fallback);
}

const GgufValue& GgufVocabulary::required(const std::string& key) const {
  const GgufValue* value = metadata.find(kKeyPrefix + key);
  if (value == nullptr) fail(kKeyPrefix + key + " is missing; got no such key, expected one");
  return *value;
}

void GgufVocabulary::expect_count(const std::string& key, std::size_t count) const {
  if (count == parts.vocabulary.size()) return;
  fail(kKeyPrefix + key + " does not fit the tokens; got " + std::to_string(count) + ", expected " +
       std::to_string(parts.vocabulary.size()));
}

void GgufVocabulary::read_vocabulary() {
  const auto& texts = required("tokens").as_texts(kKeyPrefix + "tokens");
  constexpr std::size_t kTooMany = std::numeric_limits<std::int32_t>::max() / 4;
  if (texts.size() >= kTooMany) {
    fail(kKeyPrefix + "tokens has too many; got " + std::to_string(texts.size()) +
         ", expected fewer than " + std::to_string(kTooMany));
  }
  std::vector<std::int64_t> types;
  if (metadata.contains(kKeyPrefix + "token_type")) {
    types = metadata.as_ints(kKeyPrefix + "token_type");
    if (types.size() != texts.size()) {
      fail(kKeyPrefix + "token_type does not fit the tokens; got " + std::to_string(types.size()) +
           ", expected " + std::to_string(texts.size()));
    }
  }
  Vocabulary& vocabulary = parts.vocabulary;
  std::size_t bytes = 0;
  for (const std::string& text : texts) bytes += text.size();
  vocabulary.texts.reserve(texts.size(), bytes);
  for (std::size_t id = 0; id < texts.size(); ++id) {
    const std::int64_t type = types.empty() ? 1 : types[id];
    if (type < 0 || type > 6) {
      fail(kKeyPrefix + "token_type of token " + std::to_string(id) + " is none; got " +
           std::to_string(type) + ", expected 1 to 6");
    }
    vocabulary.add(texts[id], type == 0 ? TokenType::normal : static_cast<TokenType>(type));
  }
  vocabulary.find_byte_tokens();
}

void GgufVocabulary::read_special(const SpecialTokens& defaults) {
  SpecialTokens& special = parts.special = defaults;
  const auto size = static_cast<std::int64_t>(parts.vocabulary.size());
  for (const auto& [role, key] : kRoleKeys) {
    const std::string full = kKeyPrefix + std::string(key);
    if (metadata.contains(full)) {
      const std::int64_t id = metadata.as_int(full);
      // Writers that have none write -1, or the largest number.
      const bool is_none = id == -1 || id == std::numeric_limits<std::uint32_t>::max();
      if (!is_none && (id < 0 || id >= size)) {
        fail(full + " is no token; got " + std::to_string(id) + ", expected 0 to " +
             std::to_string(size) + " - 1");
      }
      special.*role = is_none ? -1 : static_cast<std::int32_t>(id);
    }
    if (special.*role >= size) special.*role = -1;  // a default beyond a small vocabulary
  }
  const std::string ends = kKeyPrefix + std::string(kEndsKey);
  find_roles(parts, metadata.contains(ends) ? metadata.as_ints(ends) : std::vector<std::int64_t>());
}

void GgufVocabulary::read_ends(bool bos, std::int32_t begin, bool eos, std::int32_t end) {
  if (begin >= 0 && metadata.as_bool(kKeyPrefix + "add_bos_token", bos)) {
    parts.before.push_back(begin);
  }
  if (end >= 0 && metadata.as_bool(kKeyPrefix + "add_eos_token", eos)) parts.after.push_back(end);
}

bool GgufVocabulary::names(const std::string& key,
                           std::initializer_list<std::string_view> words) const {
  const std::string text = lower_case(metadata.as_text(key, ""));
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return text.find(word) != std::string::npos; });
}

void GgufVocabulary::read_added() {
  const bool strips_right = model == "llama" && names("general.name", {"phi-3", "phi3"});
  const bool mask_strips_left =
      names(kKeyPrefix + "pre", {"jina-v2-de", "jina-v2-es", "jina-v2-code"}) ||
      names("general.architecture", {"nomic-bert-moe", "jina-bert-v3"});
  const Vocabulary& vocabulary = parts.vocabulary;
  for (std::size_t id = 0; id < vocabulary.size(); ++id) {
    const TokenType type = vocabulary.types[id];
    const bool is_control = type == TokenType::control || type == TokenType::unknown;
    if (!is_control && type != TokenType::user_defined) continue;
    AddedToken token;
    token.id = static_cast<std::int32_t>(id);
    token.is_control = is_control;
    const std::string_view text = vocabulary.texts[token.id];
    token.left_strip = mask_strips_left && text == "<mask>";
    token.right_strip = strips_right && text != "<unk>" && text != "<s>" && text != "<|endoftext|>";
    parts.raw_texts.add(text, token);
  }
}

void GgufVocabulary::read_bytes() {
  Vocabulary& vocabulary = parts.vocabulary;
  vocabulary.fill_bytes([&](std::int32_t id) {
    const std::string_view text = vocabulary.texts[id];
    const TokenType type = vocabulary.types[static_cast<std::size_t>(id)];
    if (type == TokenType::byte) {
      const int byte = byte_of_text(text);
      if (byte < 0) {
        fail("token " + std::to_string(id) + " is no byte; got " + hearth::quoted(text) +
             ", expected <0x00> to <0xFF>");
      }
      return std::string(1, static_cast<char>(byte));
    }
    const bool is_plain = type == TokenType::control || type == TokenType::user_defined;
    return is_plain ? std::string(text) : with_spaces(text);
  });
}

std::vector<double> GgufVocabulary::read_scores() const {
  std::vector<double> scores = required("scores").as_floats(kKeyPrefix + "scores");
  expect_count("scores", scores.size());
  for (std::size_t id = 0; id < scores.size(); ++id) {
    if (scores[id] != scores[id]) {
      fail(kKeyPrefix + "scores of token " + std::to_string(id) +
           " is none; got NaN, expected a number");
    }
  }
  return scores;
}

}  // namespace hearth::models::tokens
