#include "models/tokenizer/from_json.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "core/json_fields.h"
#include "core/json_object.h"
#include "core/python_json.h"
#include "core/quoted.h"
#include "models/tokenizer/json_decoder.h"
#include "models/tokenizer/json_model.h"
#include "models/tokenizer/json_parts.h"
#include "models/tokenizer/json_post_processor.h"
#include "models/tokenizer/json_vocabulary.h"
#include "models/tokenizer/parts.h"

namespace hearth::models {
namespace tokens {
namespace {

constexpr std::size_t kMostGrowth = 64;  // of a token's text as bytes, on average

constexpr const char* kAdded = ".added_tokens";

struct JsonRole {
  std::int32_t SpecialTokens::* role;
  std::string_view key;
};
constexpr JsonRole kJsonRoles[] = {
    {&SpecialTokens::bos, "bos_token"},     {&SpecialTokens::eos, "eos_token"},
    {&SpecialTokens::cls, "cls_token"},     {&SpecialTokens::unknown, "unk_token"},
    {&SpecialTokens::padding, "pad_token"}, {&SpecialTokens::separator, "sep_token"},
    {&SpecialTokens::mask, "mask_token"},
};

class JsonTokenizer {
 public:
  // `config` may be null.
  JsonTokenizer(const JsonValue& document, const JsonValue* config, const std::string& source)
      : file_(document, source), model_(file_.object("model")) {
    if (config != nullptr) config_.emplace(*config, "tokenizer_config.json");
    if (file_.find("added_tokens") != nullptr) added_ = file_.array("added_tokens");
    if (config_) add_tokens_of_config();
  }

  Parts read(std::span<const std::int64_t> ends, std::size_t rows) {
    const std::string type = model_type();
    const std::size_t listed =
        file_.find("added_tokens") == nullptr ? 0 : file_.array("added_tokens").size();
    const std::string added_name = file_.name() + kAdded;
    tokens_ =
        read_json_vocabulary(model_, type, {added_, added_name, listed}, rows, parts_.vocabulary);
    read_added();
    add_normalizer(file_.find("normalizer"), file_.name() + ".normalizer", parts_.normalizer);
    add_pre_tokenizer(file_.find("pre_tokenizer"), file_.name() + ".pre_tokenizer",
                      parts_.pre_tokenizer, by_bytes_);
    find_added();
    read_bytes();
    JsonModel(model_, by_bytes_, tokens_.of_model, tokens_.renamed, parts_)
        .read(type, tokens_.scores);
    if (const JsonValue* post = file_.find("post_processor")) {
      read_post_processor(*post, file_.name() + ".post_processor", parts_);
    }
    if (config_) read_config();
    if (parts_.special.bos < 0 && !parts_.before.empty()) parts_.special.bos = parts_.before[0];
    require_tokens(ends);
    find_roles(parts_, ends);
    return std::move(parts_);
  }

 private:
  // Those whose texts the file has not added.
  void add_tokens_of_config() {
    if (config_->find("added_tokens_decoder") == nullptr) return;
    const JsonFields decoder = config_->object("added_tokens_decoder");
    std::set<std::string, std::less<>> known;
    for (const JsonValue& value : added_) known.insert(added_fields(value).text("content"));
    for (const auto& [number, value] : std::get<JsonObject>(config_->at("added_tokens_decoder"))) {
      const JsonFields token = decoder.object(number);
      if (known.contains(token.text("content"))) continue;
      std::int64_t id = -1;
      const char* end = number.data() + number.size();
      if (std::from_chars(number.data(), end, id).ptr != end || number.empty()) {
        decoder.fail("no id of a token; got " + hearth::quoted(number) + ", expected digits");
      }
      JsonObject added = std::get<JsonObject>(value);
      std::erase_if(added, [](const auto& member) { return member.first == "id"; });
      added.emplace_back("id", id);
      added_.emplace_back(std::move(added));
    }
  }

  void require_tokens(std::span<const std::int64_t> ends) const {
    const auto size = static_cast<std::int64_t>(parts_.vocabulary.size());
    for (const std::int64_t id : ends) {
      if (id >= -1 && id < size) continue;  // writers that have none write -1
      file_.fail("eos_token_id of its configuration is no token; got " + std::to_string(id) +
                 ", expected 0 to " + std::to_string(size) + " - 1");
    }
  }

  JsonFields added_fields(const JsonValue& value) const {
    return JsonFields(value, file_.name() + kAdded);
  }

  std::string model_type() const {
    std::string type = model_.text("type", "");
    // Files of the first versions do not say.
    if (type.empty() && model_.find("merges") != nullptr) type = "BPE";
    if (type != "BPE" && type != "Unigram" && type != "WordPiece") {
      model_.unsupported("the model is not known; got " + hearth::quoted(type) +
                         ", expected BPE, Unigram or WordPiece");
    }
    return type;
  }

  void read_added() {
    is_added_.assign(parts_.vocabulary.size(), false);
    for (const JsonValue& value : added_) {
      const JsonFields added = added_fields(value);
      const auto id = static_cast<std::size_t>(added.integer("id", 0));
      is_added_[id] = true;
      parts_.vocabulary.types[id] =
          added.flag("special", false) ? TokenType::control : TokenType::user_defined;
    }
  }

  std::string normalized_token(const std::string& text) const {
    try {
      return normalize(parts_.normalizer, text, true);
    } catch (const Error& error) {
      file_.fail("added token " + hearth::quoted(text) + ": " + error.what());
    }
  }

  // Needs the normalizer.
  void find_added() {
    for (const JsonValue& value : added_) {
      const JsonFields added = added_fields(value);
      AddedToken token;
      token.id = static_cast<std::int32_t>(added.integer("id", 0));
      token.is_control = added.flag("special", false);
      token.left_strip = added.flag("lstrip", false);
      token.right_strip = added.flag("rstrip", false);
      token.single_word = added.flag("single_word", false);
      const std::string& text = added.text("content");
      if (added.flag("normalized", !token.is_control)) {
        // What stands for it in texts, and what they are decoded to.
        const std::string normal = normalized_token(text);
        parts_.normal_texts.add(normal, token);
        if (normal != text) normal_added_.emplace(token.id, normal);
      } else {
        parts_.raw_texts.add(text, token);
      }
    }
  }

  void read_bytes() {
    const JsonDecoder decoder(file_.find("decoder"), file_.name() + ".decoder");
    parts_.drops_first_space = decoder.drops_first_space();
    Vocabulary& vocabulary = parts_.vocabulary;
    std::size_t left =
        (std::size_t{1} << 20) + kMostGrowth * (tokens_.text_bytes + vocabulary.size());
    vocabulary.fill_bytes([&](std::int32_t id) {
      const auto normal = normal_added_.find(id);
      const std::string_view text =
          normal == normal_added_.end() ? vocabulary.texts[id] : normal->second;
      const auto made = [&](bool is_first) {
        std::string bytes = decoder.bytes(text, is_first, left);
        if (bytes.size() > left) {
          file_.fail("the decoder makes too much of the tokens; got " +
                     std::to_string(bytes.size()) + " bytes of " + hearth::quoted(text) +
                     ", expected at most " + std::to_string(left) + " of it and all behind");
        }
        left -= bytes.size();
        return bytes;
      };
      std::string bytes = made(false);
      std::string first = made(true);
      const bool drops = parts_.drops_first_space && bytes.starts_with(' ');
      if (std::string_view(bytes).substr(drops ? 1 : 0) != first) {
        vocabulary.first_bytes.emplace(id, std::move(first));
      }
      const bool is_byte = decoder.knows_bytes() && byte_of_text(text) >= 0;
      const auto place = static_cast<std::size_t>(id);
      if (is_byte && !is_added_[place]) vocabulary.types[place] = TokenType::byte;
      return bytes;
    });
  }

  void read_config() {
    for (const auto& [role, key] : kJsonRoles) {
      const JsonValue* token = config_->find(key);
      if (token == nullptr) continue;
      const bool is_object = std::holds_alternative<JsonObject>(*token);
      const std::string text =
          is_object ? config_->object(key).text("content") : config_->text(key);
      parts_.special.*role = parts_.vocabulary.texts.find(text);
      // Answers would never end.
      if (role == &SpecialTokens::eos && parts_.special.eos < 0 && !text.empty()) {
        config_->fail("eos_token is no token of the model; got " + hearth::quoted(text) +
                      ", expected one of its vocabulary");
      }
    }
  }

  JsonFields file_, model_;
  std::optional<JsonFields> config_;  // tokenizer_config.json
  JsonArray added_;                   // as tokenizer.json has them
  JsonTokens tokens_;
  Parts parts_;
  std::vector<bool> is_added_;
  std::unordered_map<std::int32_t, std::string> normal_added_;  // added tokens, as texts have them
  bool by_bytes_ = false;
};

}  // namespace
}  // namespace tokens

Tokenizer tokenizer_from_json(const std::string& json, const std::string& source,
                              const std::string& config, std::span<const std::int64_t> ends,
                              std::size_t rows) {
  return tokenizer_from_document(parse_json_object(json, source, "a tokenizer"), source, config,
                                 ends, rows);
}

Tokenizer tokenizer_from_document(const JsonValue& document, const std::string& source,
                                  const std::string& config, std::span<const std::int64_t> ends,
                                  std::size_t rows) {
  const std::optional<JsonValue> settings =
      config.empty() ? std::nullopt : parse_python_json(config);
  if (!config.empty() && !settings) {
    throw Error(ErrorCode::corrupt_file, source + ": its tokenizer_config.json is no JSON; got " +
                                             hearth::quoted(config, 40) + ", expected an object");
  }
  tokens::JsonTokenizer tokenizer(document, settings ? &*settings : nullptr, source);
  return Tokenizer(tokenizer.read(ends, rows));
}

}  // namespace hearth::models
