#include "models/tokenizer/from_gguf.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/quoted.h"
#include "hearth/error.h"
#include "models/tokenizer/bpe.h"
#include "models/tokenizer/byte_level.h"
#include "models/tokenizer/gguf_roles.h"
#include "models/tokenizer/gguf_vocabulary.h"
#include "models/tokenizer/named_pre_tokenizer.h"
#include "models/tokenizer/parts.h"
#include "models/tokenizer/spm.h"
#include "models/tokenizer/unigram.h"
#include "models/tokenizer/wpm.h"

namespace hearth::models {
namespace tokens {
namespace {

class GgufTokenizer {
 public:
  GgufTokenizer(const GgufMetadata& metadata, const std::string& source)
      : gguf_{.metadata = metadata, .source = source} {}

  Parts read() {
    try {
      const std::string& model = gguf_.required("model").as_text(kKeyPrefix + "model");
      const auto* kind = std::ranges::find(kKinds, model, &Kind::model);
      if (kind == std::end(kKinds)) refuse(model);
      gguf_.model = model;
      gguf_.read_vocabulary();
      (this->*kind->read)();
      return std::move(gguf_.parts);
    } catch (const Error& error) {
      // Of metadata that are of another type.
      if (error.code() != ErrorCode::invalid_argument) throw;
      throw Error(ErrorCode::corrupt_file, gguf_.source + ": " + error.what());
    }
  }

 private:
  struct Kind {
    std::string_view model;  // tokenizer.ggml.model
    void (GgufTokenizer::*read)();
  };

  [[noreturn]] void refuse(const std::string& model) const {
    std::string known;
    for (const Kind& each : kKinds) known += (known.empty() ? "" : ", ") + std::string(each.model);
    throw Error(ErrorCode::unsupported, gguf_.source + ": tokenizer.ggml.model is not known; got " +
                                            hearth::quoted(model) + ", expected one of " + known);
  }

  void read_spm() {
    const std::vector<double> scores = gguf_.read_scores();
    SpecialTokens defaults;
    defaults.bos = 1, defaults.eos = 2, defaults.unknown = 0;
    gguf_.read_special(defaults);
    gguf_.read_ends(true, gguf_.parts.special.bos, false, gguf_.parts.special.eos);
    gguf_.read_added();
    gguf_.read_bytes();
    if (gguf_.flag("add_space_prefix", true)) {
      gguf_.parts.normalizer.emplace_back(Prepend{" ", true});
      gguf_.parts.drops_first_space = true;
    }
    gguf_.parts.normalizer.emplace_back(Replace{nullptr, " ", std::string(kSpaceMark)});
    const Vocabulary& vocabulary = gguf_.parts.vocabulary;
    gguf_.parts.model =
        std::make_unique<Spm>(vocabulary.texts, std::vector<float>(scores.begin(), scores.end()),
                              vocabulary.of_bytes, gguf_.parts.special.unknown);
  }

  void read_named_pairs() { read_bpe(gguf_.metadata.as_text(kKeyPrefix + "pre", "")); }
  void read_pairs_of_code_points() { read_bpe("gemma4"); }

  void read_bpe(const std::string& pre) {
    NamedPreTokenizer named = named_pre_tokenizer(pre, gguf_.source);
    const bool by_bytes = named.spaces == SpacesOfPieces::as_bytes;
    SpecialTokens defaults;
    if (by_bytes) defaults.bos = defaults.eos = 11;
    gguf_.read_special(defaults);
    gguf_.read_ends(named.adds_bos, gguf_.parts.special.bos, false, gguf_.parts.special.eos);
    gguf_.read_added();
    gguf_.parts.pre_tokenizer = std::move(named.steps);
    BpeOptions options;
    options.by_bytes = by_bytes;
    options.whole_first = named.whole_first;
    Vocabulary& vocabulary = gguf_.parts.vocabulary;
    StringTable pieces;
    pieces.reserve(vocabulary.size(), 0);
    if (by_bytes) {
      vocabulary.fill_bytes([&](std::int32_t id) {
        const std::string_view text = vocabulary.texts[id];
        const TokenType type = vocabulary.types[static_cast<std::size_t>(id)];
        const bool is_plain = type == TokenType::control || type == TokenType::user_defined;
        return is_plain ? std::string(text) : bytes_of_text(text).value_or(std::string(text));
      });
      for (std::size_t id = 0; id < vocabulary.size(); ++id) {
        const auto index = static_cast<std::int32_t>(id);
        const std::string_view text = vocabulary.texts[index];
        pieces.append(bytes_of_text(text).value_or(std::string(text)));
        if (vocabulary.types[id] != TokenType::control) pieces.index(index);
      }
    } else {
      if (named.spaces == SpacesOfPieces::marked) {
        gguf_.parts.normalizer.emplace_back(Replace{nullptr, " ", std::string(kSpaceMark)});
      }
      gguf_.parts.drops_first_space = named.spaces == SpacesOfPieces::marked_before_each;
      if (gguf_.model == "whitespace" && gguf_.flag("normalizer.lowercase", false)) {
        gguf_.parts.normalizer.emplace_back(LowerCase{});
      }
      options.byte_fallback = true;
      options.unknown = gguf_.parts.special.unknown;
      gguf_.read_bytes();
      for (std::size_t id = 0; id < vocabulary.size(); ++id) {
        pieces.append(vocabulary.texts[static_cast<std::int32_t>(id)]);
        if (vocabulary.types[id] != TokenType::control) {
          pieces.index(static_cast<std::int32_t>(id));
        }
      }
    }
    std::string pool;
    const auto merges = read_merges(by_bytes, pool);
    gguf_.parts.model =
        std::make_unique<Bpe>(std::move(pieces), merges, vocabulary.of_bytes, options);
  }

  // Views into `pool`.
  std::vector<Bpe::Merge> read_merges(bool by_bytes, std::string& pool) const {
    const auto& texts = gguf_.required("merges").as_texts(kKeyPrefix + "merges");
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
        gguf_.fail(kKeyPrefix + "merges: " + std::to_string(i) + " is no pair; got " +
                   hearth::quoted(text) + ", expected two texts with a space between");
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
    gguf_.read_special(defaults);
    if (gguf_.parts.special.cls < 0) gguf_.parts.special.cls = gguf_.parts.special.bos;
    if (gguf_.parts.special.bos < 0) gguf_.parts.special.bos = gguf_.parts.special.cls;
    gguf_.read_ends(true, gguf_.parts.special.cls, gguf_.flag("add_sep_token", true),
                    gguf_.parts.special.separator);
    gguf_.read_added();
    gguf_.read_bytes();
    gguf_.parts.drops_first_space = true;
    BertText bert;
    bert.lower = gguf_.flag("normalizer.lowercase", true);
    bert.strip_accents = gguf_.flag("normalizer.strip_accents", bert.lower);
    gguf_.parts.normalizer.emplace_back(bert);
    add_bert_pre_tokenizer(gguf_.parts.pre_tokenizer);
    WpmOptions options;
    options.first_prefix = kSpaceMark;
    options.unknown = gguf_.parts.special.unknown;
    gguf_.parts.model = std::make_unique<Wpm>(gguf_.parts.vocabulary.texts, options);
  }

  void read_unigram() {
    const std::vector<double> scores = gguf_.read_scores();
    SpecialTokens defaults;
    defaults.eos = 1, defaults.unknown = 2, defaults.padding = 0;
    gguf_.read_special(defaults);
    gguf_.read_ends(false, gguf_.parts.special.bos, true, gguf_.parts.special.eos);
    gguf_.read_added();
    gguf_.read_bytes();
    if (const GgufValue* map = gguf_.metadata.find(kKeyPrefix + "precompiled_charsmap")) {
      gguf_.parts.normalizer.emplace_back(
          Charsmap(bytes_of(*map), gguf_.source + ": precompiled_charsmap"));
    }
    MarkSpaces spaces;
    spaces.prefix = gguf_.flag("add_space_prefix", true);
    spaces.merge = gguf_.flag("remove_extra_whitespaces", true);
    gguf_.parts.normalizer.emplace_back(spaces);
    gguf_.parts.drops_first_space = spaces.prefix;
    UnigramOptions options;
    options.unknown = gguf_.parts.special.unknown;
    gguf_.parts.model = std::make_unique<Unigram>(gguf_.parts.vocabulary, scores, options);
  }

  std::string bytes_of(const GgufValue& value) const {
    if (const auto* bytes = std::get_if<std::vector<std::uint8_t>>(&value.storage())) {
      return {bytes->begin(), bytes->end()};
    }
    if (const auto* bytes = std::get_if<std::vector<std::int8_t>>(&value.storage())) {
      return {bytes->begin(), bytes->end()};
    }
    gguf_.fail(kKeyPrefix + "precompiled_charsmap is of the wrong type; got " +
               std::string(name(value.type())) + ", expected an array of bytes");
  }

  static constexpr Kind kKinds[] = {
      {"llama", &GgufTokenizer::read_spm},
      {"gpt2", &GgufTokenizer::read_named_pairs},
      {"bert", &GgufTokenizer::read_wpm},
      {"t5", &GgufTokenizer::read_unigram},
      {"gemma4", &GgufTokenizer::read_pairs_of_code_points},
      {"whitespace", &GgufTokenizer::read_named_pairs},
  };

  GgufVocabulary gguf_;
};

}  // namespace
}  // namespace tokens

Tokenizer tokenizer_from_gguf(const GgufMetadata& metadata, const std::string& source) {
  return Tokenizer(tokens::GgufTokenizer(metadata, source).read());
}

}  // namespace hearth::models
