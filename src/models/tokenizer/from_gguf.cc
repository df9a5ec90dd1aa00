#include "models/tokenizer/from_gguf.h"

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <optional>

#include "core/quoted.h"
#include "models/tokenizer/bpe.h"
#include "models/tokenizer/byte_level.h"
#include "models/tokenizer/gguf_roles.h"
#include "models/tokenizer/named_pre_tokenizer.h"
#include "models/tokenizer/parts.h"
#include "models/tokenizer/spm.h"
#include "models/tokenizer/unigram.h"
#include "models/tokenizer/wpm.h"

namespace hearth::models {
namespace tokens {
namespace {

const std::string kPrefix = "tokenizer.ggml.";

std::string with_spaces(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const bool mark = text.substr(at).starts_with(kSpaceMark);
    out += mark ? ' ' : text[at];
    at += mark ? kSpaceMark.size() : 1;
  }
  return out;
}

class GgufTokenizer {
 public:
  GgufTokenizer(const GgufMetadata& metadata, const std::string& source)
      : metadata_(metadata), source_(source) {}

  Parts read() {
    try {
      const std::string& model = model_ = required("model").as_text(kPrefix + "model");
      if (model != "llama" && model != "gpt2" && model != "bert" && model != "t5" &&
          model != "gemma4" && model != "whitespace") {
        throw Error(ErrorCode::unsupported,
                    source_ + ": tokenizer.ggml.model is not known; got " + hearth::quoted(model) +
                        ", expected llama, gpt2, bert, t5, gemma4 or whitespace");
      }
      read_vocabulary();
      if (model == "llama") read_spm();
      if (model == "gpt2" || model == "whitespace")
        read_bpe(metadata_.as_text(kPrefix + "pre", ""));
      if (model == "gemma4") read_bpe("gemma4");
      if (model == "bert") read_wpm();
      if (model == "t5") read_unigram();
      return std::move(parts_);
    } catch (const Error& error) {
      // Of metadata that are of another type.
      if (error.code() != ErrorCode::invalid_argument) throw;
      throw Error(ErrorCode::corrupt_file, source_ + ": " + error.what());
    }
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorCode::corrupt_file, source_ + ": " + what);
  }

  const GgufValue& required(const std::string& key) const {
    const GgufValue* value = metadata_.find(kPrefix + key);
    if (value == nullptr) fail(kPrefix + key + " is missing");
    return *value;
  }

  void expect_count(const std::string& key, std::size_t count) const {
    if (count == parts_.vocabulary.size()) return;
    fail(kPrefix + key + " does not fit the tokens; got " + std::to_string(count) + ", expected " +
         std::to_string(parts_.vocabulary.size()));
  }

  void read_vocabulary() {
    const auto& texts = required("tokens").as_texts(kPrefix + "tokens");
    if (texts.size() >= std::size_t{std::numeric_limits<std::int32_t>::max() / 4}) {
      fail("tokenizer.ggml.tokens has too many");
    }
    std::vector<std::int64_t> types;
    if (metadata_.contains(kPrefix + "token_type")) {
      types = metadata_.as_ints(kPrefix + "token_type");
      if (types.size() != texts.size()) {
        fail(kPrefix + "token_type does not fit the tokens; got " + std::to_string(types.size()) +
             ", expected " + std::to_string(texts.size()));
      }
    }
    Vocabulary& vocabulary = parts_.vocabulary;
    std::size_t bytes = 0;
    for (const std::string& text : texts) bytes += text.size();
    vocabulary.texts.reserve(texts.size(), bytes);
    for (std::size_t id = 0; id < texts.size(); ++id) {
      const std::int64_t type = types.empty() ? 1 : types[id];
      if (type < 0 || type > 6) {
        fail("tokenizer.ggml.token_type of token " + std::to_string(id) + " is none; got " +
             std::to_string(type) + ", expected 1 to 6");
      }
      vocabulary.add(texts[id], type == 0 ? TokenType::normal : static_cast<TokenType>(type));
    }
    vocabulary.find_byte_tokens();
  }

  void read_special(const SpecialTokens& defaults) {
    SpecialTokens& special = parts_.special = defaults;
    const auto size = static_cast<std::int64_t>(parts_.vocabulary.size());
    for (const auto& [role, key] : kRoleKeys) {
      const std::string full = kPrefix + std::string(key);
      if (metadata_.contains(full)) {
        const std::int64_t id = metadata_.as_int(full);
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
    const std::string ends = kPrefix + std::string(kEndsKey);
    find_roles(parts_,
               metadata_.contains(ends) ? metadata_.as_ints(ends) : std::vector<std::int64_t>());
  }

  // What add_special puts around a text, unless the keys say otherwise.
  void read_ends(bool bos, std::int32_t begin, bool eos, std::int32_t end) {
    if (begin >= 0 && metadata_.as_bool(kPrefix + "add_bos_token", bos)) {
      parts_.before.push_back(begin);
    }
    if (end >= 0 && metadata_.as_bool(kPrefix + "add_eos_token", eos)) parts_.after.push_back(end);
  }

  // Whether the lower-case text of a key has one of the words.
  bool names(const std::string& key, std::initializer_list<std::string_view> words) const {
    const std::string text = lower_case(metadata_.as_text(key, ""));
    return std::any_of(words.begin(), words.end(),
                       [&](std::string_view word) { return text.find(word) != std::string::npos; });
  }

  // The format does not say which tokens take the white space beside them; models do.
  void read_added() {
    const bool strips_right = model_ == "llama" && names("general.name", {"phi-3", "phi3"});
    const bool mask_strips_left =
        names(kPrefix + "pre", {"jina-v2-de", "jina-v2-es", "jina-v2-code"}) ||
        names("general.architecture", {"nomic-bert-moe", "jina-bert-v3"});
    const Vocabulary& vocabulary = parts_.vocabulary;
    for (std::size_t id = 0; id < vocabulary.size(); ++id) {
      const TokenType type = vocabulary.types[id];
      const bool is_control = type == TokenType::control || type == TokenType::unknown;
      if (!is_control && type != TokenType::user_defined) continue;
      AddedToken token;
      token.id = static_cast<std::int32_t>(id);
      token.is_control = is_control;
      const std::string_view text = vocabulary.texts[token.id];
      token.left_strip = mask_strips_left && text == "<mask>";
      token.right_strip =
          strips_right && text != "<unk>" && text != "<s>" && text != "<|endoftext|>";
      parts_.raw_texts.add(text, token);
    }
  }

  // What tokens add to texts whose spaces are U+2581.
  void read_bytes() {
    Vocabulary& vocabulary = parts_.vocabulary;
    vocabulary.bytes.reserve(vocabulary.size(), 0);
    for (std::size_t id = 0; id < vocabulary.size(); ++id) {
      const std::string_view text = vocabulary.texts[static_cast<std::int32_t>(id)];
      const TokenType type = vocabulary.types[id];
      const int byte = type == TokenType::byte ? byte_of_text(text) : -1;
      if (type == TokenType::byte && byte < 0) {
        fail("token " + std::to_string(id) + " is no byte; got " + hearth::quoted(text) +
             ", expected <0x00> to <0xFF>");
      }
      const bool is_plain = type == TokenType::control || type == TokenType::user_defined;
      vocabulary.bytes.append(byte >= 0  ? std::string(1, static_cast<char>(byte))
                              : is_plain ? std::string(text)
                                         : with_spaces(text));
    }
  }

  std::vector<double> read_scores() const {
    std::vector<double> scores = required("scores").as_floats(kPrefix + "scores");
    expect_count("scores", scores.size());
    for (std::size_t id = 0; id < scores.size(); ++id) {
      if (scores[id] != scores[id])
        fail("tokenizer.ggml.scores of " + std::to_string(id) + " is NaN");
    }
    return scores;
  }

  void read_spm() {
    const std::vector<double> scores = read_scores();
    SpecialTokens defaults;
    defaults.bos = 1, defaults.eos = 2, defaults.unknown = 0;
    read_special(defaults);
    read_ends(true, parts_.special.bos, false, parts_.special.eos);
    read_added();
    read_bytes();
    if (metadata_.as_bool(kPrefix + "add_space_prefix", true)) {
      parts_.normalizer.emplace_back(Prepend{" ", true});
      parts_.drops_first_space = true;
    }
    parts_.normalizer.emplace_back(Replace{nullptr, " ", std::string(kSpaceMark)});
    const Vocabulary& vocabulary = parts_.vocabulary;
    parts_.model =
        std::make_unique<Spm>(vocabulary.texts, std::vector<float>(scores.begin(), scores.end()),
                              vocabulary.of_bytes, parts_.special.unknown);
  }

  void read_bpe(const std::string& pre) {
    NamedPreTokenizer named = named_pre_tokenizer(pre, source_);
    const bool by_bytes = named.spaces == SpacesOfPieces::as_bytes;
    SpecialTokens defaults;
    if (by_bytes) defaults.bos = defaults.eos = 11;
    read_special(defaults);
    read_ends(named.adds_bos, parts_.special.bos, false, parts_.special.eos);
    read_added();
    parts_.pre_tokenizer = std::move(named.steps);
    BpeOptions options;
    options.by_bytes = by_bytes;
    options.whole_first = named.whole_first;
    Vocabulary& vocabulary = parts_.vocabulary;
    StringTable pieces;
    pieces.reserve(vocabulary.size(), 0);
    if (by_bytes) {
      for (std::size_t id = 0; id < vocabulary.size(); ++id) {
        const auto index = static_cast<std::int32_t>(id);
        const std::string_view text = vocabulary.texts[index];
        const TokenType type = vocabulary.types[id];
        const bool is_plain = type == TokenType::control || type == TokenType::user_defined;
        const auto bytes = is_plain ? std::nullopt : bytes_of_text(text);
        vocabulary.bytes.append(bytes ? std::string_view(*bytes) : text);
        pieces.append(bytes_of_text(text).value_or(std::string(text)));
        if (type != TokenType::control) pieces.index(index);
      }
    } else {
      if (named.spaces == SpacesOfPieces::marked) {
        parts_.normalizer.emplace_back(Replace{nullptr, " ", std::string(kSpaceMark)});
      }
      parts_.drops_first_space = named.spaces == SpacesOfPieces::marked_before_each;
      if (model_ == "whitespace" && metadata_.as_bool(kPrefix + "normalizer.lowercase", false)) {
        parts_.normalizer.emplace_back(LowerCase{});
      }
      options.byte_fallback = true;
      options.unknown = parts_.special.unknown;
      read_bytes();
      for (std::size_t id = 0; id < vocabulary.size(); ++id) {
        pieces.append(vocabulary.texts[static_cast<std::int32_t>(id)]);
        if (vocabulary.types[id] != TokenType::control) {
          pieces.index(static_cast<std::int32_t>(id));
        }
      }
    }
    std::string pool;
    const auto merges = read_merges(by_bytes, pool);
    parts_.model = std::make_unique<Bpe>(std::move(pieces), merges, vocabulary.of_bytes, options);
  }

  // Views into `pool`.
  std::vector<Bpe::Merge> read_merges(bool by_bytes, std::string& pool) const {
    const auto& texts = required("merges").as_texts(kPrefix + "merges");
    std::size_t bytes = 0;
    for (const std::string& text : texts) bytes += text.size();
    pool.reserve(bytes);
    const auto keep = [&](std::string_view text) {
      const std::size_t begin = pool.size();
      const auto plain = by_bytes ? bytes_of_text(text) : std::nullopt;
      pool += plain ? std::string_view(*plain) : text;
      return std::string_view(pool).substr(begin);
    };
    std::vector<Bpe::Merge> merges;
    merges.reserve(texts.size());
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const std::string_view text = texts[i];
      // The first part may be a space itself.
      const std::size_t space = text.find(' ', 1);
      if (space == std::string_view::npos || space + 1 == text.size()) {
        fail("tokenizer.ggml.merges: " + std::to_string(i) + " is no pair; got " +
             hearth::quoted(text));
      }
      const std::string_view left = keep(text.substr(0, space));
      merges.emplace_back(left, keep(text.substr(space + 1)));
    }
    return merges;
  }

  void read_wpm() {
    SpecialTokens defaults;
    defaults.cls = 101, defaults.separator = 102, defaults.unknown = 100;
    defaults.padding = 0, defaults.mask = 103;
    read_special(defaults);
    if (parts_.special.cls < 0) parts_.special.cls = parts_.special.bos;
    if (parts_.special.bos < 0) parts_.special.bos = parts_.special.cls;
    read_ends(true, parts_.special.cls, metadata_.as_bool(kPrefix + "add_sep_token", true),
              parts_.special.separator);
    read_added();
    read_bytes();
    parts_.drops_first_space = true;
    BertText bert;
    bert.lower = metadata_.as_bool(kPrefix + "normalizer.lowercase", true);
    bert.strip_accents = metadata_.as_bool(kPrefix + "normalizer.strip_accents", bert.lower);
    parts_.normalizer.emplace_back(bert);
    add_bert_pre_tokenizer(parts_.pre_tokenizer);
    WpmOptions options;
    options.first_prefix = kSpaceMark;
    options.unknown = parts_.special.unknown;
    parts_.model = std::make_unique<Wpm>(parts_.vocabulary.texts, options);
  }

  void read_unigram() {
    const std::vector<double> scores = read_scores();
    SpecialTokens defaults;
    defaults.eos = 1, defaults.unknown = 2, defaults.padding = 0;
    read_special(defaults);
    read_ends(false, parts_.special.bos, true, parts_.special.eos);
    read_added();
    read_bytes();
    if (const GgufValue* map = metadata_.find(kPrefix + "precompiled_charsmap")) {
      parts_.normalizer.emplace_back(Charsmap(bytes_of(*map), source_ + ": precompiled_charsmap"));
    }
    MarkSpaces spaces;
    spaces.prefix = metadata_.as_bool(kPrefix + "add_space_prefix", true);
    spaces.merge = metadata_.as_bool(kPrefix + "remove_extra_whitespaces", true);
    parts_.normalizer.emplace_back(spaces);
    parts_.drops_first_space = spaces.prefix;
    UnigramOptions options;
    options.unknown = parts_.special.unknown;
    parts_.model = std::make_unique<Unigram>(parts_.vocabulary, scores, options);
  }

  std::string bytes_of(const GgufValue& value) const {
    if (const auto* bytes = std::get_if<std::vector<std::uint8_t>>(&value.storage())) {
      return {bytes->begin(), bytes->end()};
    }
    if (const auto* bytes = std::get_if<std::vector<std::int8_t>>(&value.storage())) {
      return {bytes->begin(), bytes->end()};
    }
    fail(kPrefix + "precompiled_charsmap is no array of bytes");
  }

  const GgufMetadata& metadata_;
  const std::string& source_;
  std::string model_;
  Parts parts_;
};

}  // namespace
}  // namespace tokens

Tokenizer tokenizer_from_gguf(const GgufMetadata& metadata, const std::string& source) {
  return Tokenizer(tokens::GgufTokenizer(metadata, source).read());
}

}  // namespace hearth::models
