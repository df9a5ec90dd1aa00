#include "models/tokenizer/json_model.h"

#include <memory>
#include <optional>
#include <utility>

#include "core/python_json.h"
#include "core/quoted.h"
#include "models/tokenizer/byte_level.h"
#include "models/tokenizer/json_parts.h"
#include "models/tokenizer/unigram.h"
#include "models/tokenizer/wpm.h"

namespace hearth::models::tokens {

std::int32_t JsonModel::unknown_token() const {
  const std::string text = model_.text("unk_token", "");
  if (text.empty()) return -1;
  const std::int32_t id = parts_.vocabulary.texts.find(text);
  if (id < 0) {
    model_.fail("unk_token is no token; got " + hearth::quoted(text) +
                ", expected one of the vocabulary");
  }
  return id;
}

StringTable JsonModel::pieces_of_model() const {
  const Vocabulary& vocabulary = parts_.vocabulary;
  StringTable pieces;
  pieces.reserve(vocabulary.size(), 0);
  for (std::size_t id = 0; id < vocabulary.size(); ++id) {
    const auto index = static_cast<std::int32_t>(id);
    const std::string_view text = vocabulary.texts[index];
    const auto bytes = by_bytes_ ? bytes_of_text(text) : std::nullopt;
    pieces.append(bytes ? std::string_view(*bytes) : text);
    if (id < model_tokens_ && vocabulary.types[id] != TokenType::unused) pieces.index(index);
  }
  return pieces;
}

void JsonModel::read_bpe() {
  for (const std::string_view key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    const std::string text = model_.text(key, "");
    if (!text.empty()) {
      model_.unsupported("BPE with " + std::string(key) + "; got " + hearth::quoted(text) +
                         ", expected none");
    }
  }
  if (const JsonValue* dropout = model_.find("dropout")) {
    const auto* rate = std::get_if<double>(dropout);
    if (rate == nullptr || *rate != 0) {
      model_.unsupported("dropout is for training only; got " +
                         hearth::quoted(json_text(*dropout)) + ", expected null or 0.0");
    }
  }
  BpeOptions options;
  options.by_bytes = by_bytes_;
  options.whole_first = model_.flag("ignore_merges", false);
  options.byte_fallback = model_.flag("byte_fallback", false);
  options.fuse_unknown = model_.flag("fuse_unk", false);
  options.unknown = parts_.special.unknown = unknown_token();
  options.joins_known = !by_bytes_;  // GGUF cannot say it of bytes, of which vocabularies have all
  std::string pool;
  const auto merges = read_merges(pool);
  parts_.model =
      std::make_unique<Bpe>(pieces_of_model(), merges, parts_.vocabulary.of_bytes, options);
}

void JsonModel::require_tokens_of(std::string_view left, std::string_view right,
                                  const JsonValue& merge) const {
  const auto require = [&](const std::string& text) {
    if (parts_.vocabulary.texts.find(text) >= 0 || renamed_.contains(text)) return;
    model_.fail("merge of what is no token; got " + json_text(merge) + ", expected " +
                hearth::quoted(text) + " in vocab");
  };
  require(std::string(left));
  require(std::string(right));
  require(std::string(left) + std::string(right));
}

std::vector<Bpe::Merge> JsonModel::read_merges(std::string& pool) const {
  const JsonArray& list = model_.array("merges");
  std::vector<std::pair<std::string_view, std::string_view>> pairs;
  pairs.reserve(list.size());
  std::size_t bytes = 0;
  for (const JsonValue& each : list) {
    std::string_view left, right;
    if (const auto* text = std::get_if<std::string>(&each)) {
      if (is_merges_version(*text)) continue;
      const std::size_t space = text->find(' ');
      if (space != std::string::npos && space == text->rfind(' ')) {
        left = std::string_view(*text).substr(0, space);
        right = std::string_view(*text).substr(space + 1);
      }
    } else if (const auto* pair = std::get_if<JsonArray>(&each); pair && pair->size() == 2) {
      const auto* first = std::get_if<std::string>(&(*pair)[0]);
      const auto* second = std::get_if<std::string>(&(*pair)[1]);
      if (first != nullptr && second != nullptr) left = *first, right = *second;
    }
    if (left.empty() || right.empty()) {
      model_.fail("merge " + std::to_string(pairs.size()) + " is no pair; got " + json_text(each) +
                  ", expected two texts");
    }
    require_tokens_of(left, right, each);
    bytes += left.size() + right.size();
    pairs.emplace_back(left, right);
  }
  pool.reserve(bytes);
  const auto keep = [&](std::string_view text) {
    const std::size_t begin = pool.size();
    const auto plain = by_bytes_ ? bytes_of_text(text) : std::nullopt;
    pool += plain ? std::string_view(*plain) : text;
    return std::string_view(pool).substr(begin);
  };
  for (auto& [left, right] : pairs) {
    left = keep(left);
    right = keep(right);
  }
  return pairs;
}

void JsonModel::read_unigram(const std::vector<double>& scores) {
  if (by_bytes_) {
    model_.unsupported("a model of code points; got Unigram after ByteLevel, expected BPE");
  }
  UnigramOptions options;
  const std::int64_t unknown = model_.integer("unk_id", -1);
  if (unknown < -1 || unknown >= static_cast<std::int64_t>(model_tokens_)) {
    model_.fail("unk_id is no token; got " + std::to_string(unknown) + ", expected -1 to " +
                std::to_string(model_tokens_) + " - 1");
  }
  options.unknown = parts_.special.unknown = static_cast<std::int32_t>(unknown);
  options.byte_fallback = model_.flag("byte_fallback", false);
  // All tokens of the model are found, with their own scores, whatever they are added as.
  Vocabulary found = parts_.vocabulary;
  for (std::size_t id = 0; id < found.size(); ++id) {
    found.types[id] = id < model_tokens_ ? TokenType::normal : TokenType::control;
  }
  parts_.model = std::make_unique<Unigram>(found, scores, options);
}

void JsonModel::read_word_pieces() {
  if (by_bytes_) {
    model_.unsupported("a model of code points; got WordPiece after ByteLevel, expected BPE");
  }
  WpmOptions options;
  options.next_prefix = model_.text("continuing_subword_prefix", "##");
  const std::int64_t longest = model_.integer("max_input_chars_per_word", 100);
  options.longest_word = longest > 0 ? static_cast<std::size_t>(longest) : 1;
  options.unknown = parts_.special.unknown = unknown_token();
  parts_.model = std::make_unique<Wpm>(pieces_of_model(), options);
}

void JsonModel::read(const std::string& type, const std::vector<double>& scores) {
  if (type == "BPE") read_bpe();
  if (type == "Unigram") read_unigram(scores);
  if (type == "WordPiece") read_word_pieces();
}

}  // namespace hearth::models::tokens
