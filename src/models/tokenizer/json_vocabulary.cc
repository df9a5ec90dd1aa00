#include "models/tokenizer/json_vocabulary.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <variant>

#include "core/json.h"
#include "core/quoted.h"

namespace hearth::models::tokens {
namespace {

constexpr std::int64_t kMaxTokens = 1 << 24;
constexpr std::size_t kMostGaps = std::size_t{1} << 16;  // ids that no token has

struct Entry {
  std::string_view text;
  double score = 0;
  bool is_there = false;
  bool is_added = false;  // by tokenizer.json itself
};

[[noreturn]] void fail_id(const JsonFields& fields, std::size_t id, std::string_view first,
                          std::string_view second) {
  fields.fail("two tokens have the id " + std::to_string(id) + "; got " + hearth::quoted(first) +
              " and " + hearth::quoted(second) + ", expected an id for each");
}

std::size_t checked_id(const JsonFields& fields, const JsonValue& value, std::string_view text,
                       std::int64_t most_ids) {
  const auto* id = std::get_if<std::int64_t>(&value);
  if (id == nullptr || *id < 0 || *id >= most_ids) {
    fields.fail("the id of token " + hearth::quoted(text) + " is none; got " + json_text(value) +
                ", expected 0 to " + std::to_string(most_ids - 1));
  }
  return static_cast<std::size_t>(*id);
}

// A small file must not ask for much memory by one large id.
std::int64_t most_ids_of(const JsonFields& model, const AddedTokens& added) {
  std::size_t listed = added.listed;
  const JsonValue& vocabulary = model.at("vocab");
  if (const auto* object = std::get_if<JsonObject>(&vocabulary)) listed += object->size();
  if (const auto* array = std::get_if<JsonArray>(&vocabulary)) listed += array->size();
  return std::min(kMaxTokens, static_cast<std::int64_t>(2 * listed + kMostGaps));
}

// By their ids.
std::vector<Entry> tokens_of_model(const JsonFields& model, const std::string& type,
                                   std::int64_t most_ids) {
  std::vector<Entry> entries;
  const auto put = [&](std::size_t id, std::string_view text, double score) {
    if (id >= entries.size()) entries.resize(id + 1);
    if (entries[id].is_there) fail_id(model, id, entries[id].text, text);
    entries[id] = {text, score, true, false};
  };
  if (type == "Unigram") {
    for (const JsonValue& each : model.array("vocab")) {
      const auto* pair = std::get_if<JsonArray>(&each);
      const bool is_pair = pair != nullptr && pair->size() == 2;
      const auto* text = is_pair ? std::get_if<std::string>(&(*pair)[0]) : nullptr;
      const auto* score = is_pair ? std::get_if<double>(&(*pair)[1]) : nullptr;
      const auto* whole = is_pair ? std::get_if<std::int64_t>(&(*pair)[1]) : nullptr;
      if (text == nullptr || (score == nullptr && whole == nullptr)) {
        model.fail("token " + std::to_string(entries.size()) + " is no pair; got " +
                   hearth::quoted(json_text(each)) + ", expected a text with its score");
      }
      put(entries.size(), *text, score != nullptr ? *score : static_cast<double>(*whole));
    }
  } else {
    const JsonObject& ids = model.members("vocab");
    entries.reserve(ids.size());
    for (const auto& [text, id] : ids) put(checked_id(model, id, text, most_ids), text, 0);
  }
  return entries;
}

}  // namespace

JsonTokens read_json_vocabulary(const JsonFields& model, const std::string& type,
                                const AddedTokens& added, std::size_t rows,
                                Vocabulary& vocabulary) {
  const std::int64_t most_ids = most_ids_of(model, added);
  std::vector<Entry> entries = tokens_of_model(model, type, most_ids);
  JsonTokens made;
  made.of_model = entries.size();
  for (std::size_t i = 0; i < added.all.size(); ++i) {
    const JsonFields one(added.all[i], added.name);
    const std::string& text = one.text("content");
    const std::size_t id = checked_id(one, one.at("id"), text, most_ids);
    if (id >= entries.size()) entries.resize(id + 1);
    Entry& entry = entries[id];
    if (entry.is_there && entry.text != text) {
      // tokenizer_config.json may give a token another text, a list that contradicts itself not.
      if (entry.is_added && i < added.listed) fail_id(one, id, entry.text, text);
      made.renamed.emplace(entry.text);
    }
    entry.text = text;
    entry.is_there = true;
    entry.is_added = i < added.listed;
  }
  if (entries.size() < rows) entries.resize(rows);
  for (const Entry& entry : entries) made.text_bytes += entry.text.size();
  vocabulary.texts.reserve(entries.size(), made.text_bytes);
  made.scores.reserve(entries.size());
  for (const Entry& entry : entries) {
    if (entry.is_there) {
      vocabulary.add(entry.text, TokenType::normal);
    } else {
      vocabulary.texts.append("");
      vocabulary.types.push_back(TokenType::unused);
    }
    made.scores.push_back(entry.score);
  }
  vocabulary.find_byte_tokens();
  return made;
}

}  // namespace hearth::models::tokens
