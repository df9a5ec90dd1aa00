#include "models/tokenizer/to_gguf.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "core/json.h"
#include "core/json_fields.h"
#include "core/json_object.h"
#include "core/quoted.h"
#include "models/tokenizer/config_templates.h"
#include "models/tokenizer/from_gguf.h"
#include "models/tokenizer/from_json.h"
#include "models/tokenizer/gguf_roles.h"
#include "models/tokenizer/json_parts.h"
#include "models/tokenizer/named_pre_tokenizer.h"
#include "models/tokenizer/same_tokenizer.h"
#include "models/tokenizer/tokenizer.h"
#include "models/tokenizer/vocabulary.h"

namespace hearth::models {
namespace tokens {
namespace {

class GgufTokenizerWriter {
 public:
  GgufTokenizerWriter(GgufMetadata& metadata, const JsonValue& document, const Tokenizer& tokenizer,
                      bool keeps_merges, const std::string& source)
      : metadata_(metadata),
        file_(document, source),
        model_(file_.object("model")),
        tokenizer_(tokenizer),
        keeps_merges_(keeps_merges) {}

  // True: readers merge where the folder takes whole pieces, so merges have to lead to all tokens.
  bool needs_merges() const { return needs_merges_; }

  void write() {
    const bool is_pairs = model_.find("merges") != nullptr;
    const std::string type = model_.text("type", is_pairs ? "BPE" : "");
    if (type == "WordPiece") {
      add_word_pieces();
    } else if (type == "BPE") {
      add_pairs();
    } else if (type == "Unigram") {
      add_scored_pieces();
    } else {
      file_.unsupported("GGUF files of this model are not written; got " + hearth::quoted(type) +
                        ", expected BPE, Unigram or WordPiece");
    }
    add_vocabulary();
    add_roles();
  }

 private:
  void set(const char* key, GgufValue value) { metadata_.set(kKeyPrefix + key, std::move(value)); }

  std::string text_of(std::size_t id) const {
    return std::string(tokenizer_.text(static_cast<std::int32_t>(id)));
  }

  void add_vocabulary() {
    std::vector<std::string> texts;
    std::vector<std::int32_t> types;
    for (std::size_t id = 0; id < tokenizer_.size(); ++id) {
      const TokenType type = tokenizer_.type(static_cast<std::int32_t>(id));
      const bool is_word = type == TokenType::normal || type == TokenType::user_defined;
      std::string text = text_of(id);
      if (is_word_pieces_ && is_word) text = word_piece(text);
      if (type == TokenType::unused) text = "[PAD" + std::to_string(id) + "]";
      texts.push_back(std::move(text));
      types.push_back(static_cast<std::int32_t>(type));
    }
    set("tokens", std::move(texts));
    set("token_type", std::move(types));
    if (!scores_.empty()) set("scores", scores_);
  }

  void add_roles() {
    const SpecialTokens& special = tokenizer_.special();
    for (const auto& [role, key] : kRoleKeys) {
      const std::string full = kKeyPrefix + std::string(key);
      if (special.*role < 0 || key == "separator_token_id") continue;
      metadata_.set(full, static_cast<std::uint32_t>(special.*role));
    }
    const std::vector<std::int32_t> around = tokenizer_.encode("");
    const bool has_eos =
        !around.empty() && around.back() == special.eos && special.eos != special.bos;
    set("add_bos_token", tokenizer_.adds_bos());
    if (is_word_pieces_) {
      set("add_sep_token", !around.empty() && around.back() == special.separator);
    } else {
      set("add_eos_token", has_eos);
    }
  }

  // Words begin with U+2581, what goes on in them with nothing.
  std::string word_piece(const std::string& text) const {
    const std::string prefix = model_.text("continuing_subword_prefix", "##");
    if (!prefix.empty() && text.starts_with(prefix)) return text.substr(prefix.size());
    return std::string(kSpaceMark) + text;
  }

  void add_word_pieces() {
    is_word_pieces_ = true;
    set("model", "bert");
    set("pre", "default");
    std::vector<NormalizerStep> steps;
    add_normalizer(file_.find("normalizer"), file_.name(), steps);
    const auto* bert = steps.size() == 1 ? std::get_if<BertText>(&steps[0]) : nullptr;
    if (bert == nullptr) {
      file_.unsupported("another normalizer of WordPiece; got " + std::to_string(steps.size()) +
                        " steps, expected BertNormalizer alone");
    }
    set("normalizer.lowercase", bert->lower);
    set("normalizer.strip_accents", bert->strip_accents);
  }

  void add_scored_pieces() {
    set("model", "t5");
    set("pre", "default");
    std::vector<NormalizerStep> steps;
    add_normalizer(file_.find("normalizer"), file_.name(), steps);
    std::vector<PreTokenizerStep> cuts;
    bool by_bytes = false;
    add_pre_tokenizer(file_.find("pre_tokenizer"), file_.name(), cuts, by_bytes);
    const auto* marks = cuts.empty() ? nullptr : std::get_if<MetaspaceStep>(&cuts.back());
    if (marks == nullptr) {
      file_.unsupported("a pre-tokenizer of Unigram that marks no spaces; got " +
                        std::to_string(cuts.size()) + " steps, expected Metaspace as the last");
    }
    set("add_space_prefix", marks->prepend != MetaspaceStep::Prepend::never);
    // What else there is before the model drops spaces: there is nothing more that readers do.
    std::erase_if(steps, [](const auto& step) { return std::holds_alternative<Charsmap>(step); });
    set("remove_extra_whitespaces", !steps.empty() || cuts.size() > 1);
    if (const JsonValue* normalizer = file_.find("normalizer")) {
      add_charsmap(JsonFields(*normalizer, file_.name()));
    }
    scores_.assign(tokenizer_.size(), 0);
    std::size_t id = 0;
    for (const JsonValue& each : model_.array("vocab")) {
      const JsonValue& score = std::get<JsonArray>(each)[1];
      const auto* whole = std::get_if<std::int64_t>(&score);
      scores_[id++] = static_cast<float>(whole == nullptr ? std::get<double>(score)
                                                          : static_cast<double>(*whole));
    }
  }

  void add_charsmap(const JsonFields& normalizer) {
    const std::string& type = normalizer.text("type");
    if (type == "Sequence") {
      each_part(normalizer, "normalizers", [&](const JsonValue& part, const std::string& name) {
        add_charsmap(JsonFields(part, name));
      });
    } else if (type == "Precompiled") {
      const std::string bytes = base64_bytes(normalizer, "precompiled_charsmap");
      set("precompiled_charsmap", std::vector<std::uint8_t>(bytes.begin(), bytes.end()));
    }
  }

  void add_pairs() {
    std::vector<PreTokenizerStep> steps;
    bool by_bytes = false;
    add_pre_tokenizer(file_.find("pre_tokenizer"), file_.name(), steps, by_bytes);
    if (by_bytes) {
      require_no_normalizer();
      const bool whole_first = model_.flag("ignore_merges", false);
      std::string_view name = name_of_pre_tokenizer(steps, whole_first);
      if (name.empty() && whole_first) {
        name = name_of_pre_tokenizer(steps, false);
        needs_merges_ = true;
      }
      if (name.empty()) {
        file_.unsupported("GGUF has no name for how this pre-tokenizer cuts texts; got none of " +
                          std::to_string(ways_to_split().size()) +
                          " ways that are known, expected one");
      }
      set("model", "gpt2");
      set("pre", std::string(name));
      set("merges", merges());
    } else if (keeps_merges_) {
      set("model", "gemma4");
      set("merges", merges());
      set("add_space_prefix", false);
    } else {
      set("model", "llama");
      set("pre", "default");
      set("add_space_prefix", tokenizer_.drops_first_space());
      add_scores();
    }
  }

  // Readers of GGUF take texts as they are; what is in normal form already, as most are, stays.
  void require_no_normalizer() const {
    std::vector<NormalizerStep> steps;
    add_normalizer(file_.find("normalizer"), file_.name(), steps);
    for (const NormalizerStep& step : steps) {
      const auto* form = std::get_if<NormalForm>(&step);
      if (form == nullptr || *form != NormalForm::nfc) {
        file_.unsupported("a normalizer of byte pairs; got one, expected NFC or none");
      }
    }
  }

  template <class OnPair>
  void each_merge(OnPair on_pair) const {
    for (const JsonValue& each : model_.array("merges")) {
      if (const auto* text = std::get_if<std::string>(&each)) {
        if (is_merges_version(*text)) continue;
        const std::size_t space = text->find(' ');
        on_pair(text->substr(0, space), text->substr(space + 1));
      } else {
        const auto& pair = std::get<JsonArray>(each);
        on_pair(std::get<std::string>(pair[0]), std::get<std::string>(pair[1]));
      }
    }
  }

  std::vector<std::string> merges() const {
    std::vector<std::string> all;
    each_merge([&](const std::string& left, const std::string& right) {
      // Where a part has a space, the format cannot say where it ends.
      if (left.find(' ', 1) != std::string::npos || right.empty()) {
        model_.unsupported("a merge of texts with spaces; got " + hearth::quoted(left + right) +
                           ", expected none within its parts");
      }
      all.push_back(left + " " + right);
    });
    return all;
  }

  // SentencePiece joins what has the best score, pairs what comes first.
  void add_scores() {
    scores_.assign(tokenizer_.size(), kWorst);
    float rank = 0;
    each_merge([&](const std::string& left, const std::string& right) {
      const std::int32_t id = tokenizer_.find(left + right);
      rank += 1;
      if (id < 0) return;
      float& score = scores_[static_cast<std::size_t>(id)];
      if (score == kWorst) score = -rank;
    });
  }

  static constexpr float kWorst = -1e9F;

  GgufMetadata& metadata_;
  JsonFields file_, model_;
  const Tokenizer& tokenizer_;
  const bool keeps_merges_;
  bool is_word_pieces_ = false;
  bool needs_merges_ = false;
  std::vector<float> scores_;
};

// Tokens that end texts, where readers do not find them by their roles and texts.
void add_ends(GgufMetadata& metadata, const Tokenizer& given, const Tokenizer& written) {
  std::vector<std::uint32_t> ends;
  for (std::int32_t id = 0; id < static_cast<std::int32_t>(given.size()); ++id) {
    if (given.is_end_of_generation(id) && !written.is_end_of_generation(id)) {
      ends.push_back(static_cast<std::uint32_t>(id));
    }
  }
  if (!ends.empty()) metadata.set(kKeyPrefix + std::string(kEndsKey), std::move(ends));
}

// One template, or several with names.
void add_templates(GgufMetadata& metadata, const TokenizerTexts& texts, const std::string& source) {
  const std::string key = "tokenizer.chat_template";
  if (!texts.chat_template.empty()) {
    metadata.set(key, texts.chat_template);
    if (!texts.tool_template.empty()) metadata.set(key + ".tool_use", texts.tool_template);
    return;
  }
  for (const auto& [name, text] :
       config_templates(texts.config, source + ": tokenizer_config.json")) {
    metadata.set(name == "default" ? key : key + "." + name, text);
  }
}

}  // namespace
}  // namespace tokens

void add_tokenizer(GgufMetadata& metadata, const TokenizerTexts& texts, std::int64_t rows,
                   const std::string& source) {
  const JsonValue document = parse_json_object(texts.tokenizer, source, "a tokenizer");
  const Tokenizer given = tokenizer_from_document(document, source, texts.config, texts.ends,
                                                  static_cast<std::size_t>(rows));
  tokens::GgufTokenizerWriter writer(metadata, document, given, texts.keeps_merges, source);
  writer.write();
  const Tokenizer written = tokenizer_from_gguf(metadata, source);
  tokens::require_same(given, written, source);
  tokens::add_ends(metadata, given, written);
  if (writer.needs_merges()) tokens::require_merges_to_all(given, written, source);
  tokens::add_templates(metadata, texts, source);
}

}  // namespace hearth::models
