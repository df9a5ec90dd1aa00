#include "hearth/models.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>

#include "core/json.h"
#include "hearth/error.h"
#include "models/grammar/grammar.h"
#include "models/language/load_model.h"
#include "models/language/sequences.h"
#include "models/language/text_encoder.h"
#include "models/serving/read_text.h"
#include "models/serving/scheduler.h"

namespace hearth {
inline namespace v0 {
namespace {

constexpr std::int64_t kMostCacheBytes = std::int64_t{1} << 30;  // where nobody says how many

models::SchedulerOptions scheduler_options(const models::LanguageModel& model,
                                           const TextModelOptions& options) {
  models::SchedulerOptions scheduler{.most_running = options.most_texts, .drafts = options.drafts};
  const models::CacheOptions of_one{.pages = models::pages_of(model.config.context) + 1,
                                    .states = options.most_texts,
                                    .keys = model.compute,
                                    .values = model.compute};
  scheduler.memory = options.cache_bytes > 0
                         ? options.cache_bytes
                         : std::min(kMostCacheBytes, models::cache_bytes(model.config, of_one));
  return scheduler;
}

[[noreturn]] void refuse(ErrorCode code, const std::string& what) {
  throw Error(code, "text model: " + what);
}

}  // namespace

class TextModel::Loaded {
 public:
  Loaded(models::LoadedModel model, const TextModelOptions& options)
      : model_(std::move(model)), options_(options) {}

  const models::LanguageModel& language() const noexcept { return model_.model; }
  const models::Tokenizer& tokenizer() const noexcept { return model_.tokenizer; }

  // Made when the first text is asked for.
  models::Scheduler& scheduler() {
    const std::lock_guard lock(mutex_);
    if (!scheduler_) scheduler_.emplace(model_, scheduler_options(model_.model, options_));
    return *scheduler_;
  }

  // Null where the options have no grammar.
  std::shared_ptr<models::grammar::Constraint> constraint(const GenerateOptions& options) {
    if (options.grammar.empty() && options.json_schema.empty()) return nullptr;
    if (!options.grammar.empty() && !options.json_schema.empty()) {
      refuse(ErrorCode::invalid_argument,
             "two grammars; got a grammar and a JSON schema, expected one of both");
    }
    using models::grammar::Grammar;
    auto grammar = std::make_shared<const Grammar>(
        options.grammar.empty()
            ? Grammar::from_schema_text(options.json_schema)
            : Grammar::from_gbnf(options.grammar, "root",
                                 [this](std::string_view text) { return tokenizer().find(text); }));
    return std::make_shared<models::grammar::Constraint>(std::move(grammar), trie());
  }

 private:
  std::shared_ptr<const models::grammar::TokenTrie> trie() {
    const std::lock_guard lock(mutex_);
    if (!trie_) trie_ = std::make_shared<const models::grammar::TokenTrie>(tokenizer());
    return trie_;
  }

  models::LoadedModel model_;
  TextModelOptions options_;
  std::mutex mutex_;
  std::shared_ptr<const models::grammar::TokenTrie> trie_;
  std::optional<models::Scheduler> scheduler_;  // ends before the model goes
};

TextModel TextModel::load(const std::string& path, const TextModelOptions& options) {
  if (options.cache_bytes < 0 || options.most_texts < 1 || options.drafts < 0) {
    refuse(ErrorCode::invalid_argument,
           "options out of range; got cache_bytes " + std::to_string(options.cache_bytes) +
               ", most_texts " + std::to_string(options.most_texts) + ", drafts " +
               std::to_string(options.drafts) + ", expected at least 0, 1 and 0");
  }
  models::LoadedModel model = models::load_language_model(
      path, {.device = options.device, .compute = options.compute, .context = options.context});
  return TextModel(std::make_shared<Loaded>(std::move(model), options));
}

const std::string& TextModel::family() const noexcept {
  return loaded_->language().config.architecture;
}

std::int64_t TextModel::context() const noexcept { return loaded_->language().config.context; }

std::int64_t TextModel::vocabulary() const noexcept { return loaded_->language().vocabulary(); }

bool TextModel::is_encoder() const noexcept { return !loaded_->language().config.is_causal; }

std::vector<std::int32_t> TextModel::tokenize(std::string_view text, bool add_special,
                                              bool parse_special) const {
  return loaded_->tokenizer().encode(text,
                                     {.add_special = add_special, .parse_special = parse_special});
}

std::string TextModel::detokenize(std::span<const std::int32_t> tokens) const {
  return loaded_->tokenizer().decode(tokens);
}

GeneratedText TextModel::generate(std::string_view prompt, const GenerateOptions& options,
                                  const std::function<bool(std::string_view)>& write) const {
  if (is_encoder()) {
    refuse(ErrorCode::unsupported,
           "texts of an encoder; got one of the family " + family() + ", expected a causal model");
  }
  const auto stream =
      loaded_->scheduler().submit({.tokens = tokenize(prompt, true, options.parse_special),
                                   .most_tokens = options.tokens,
                                   .sampling = options.sampling,
                                   .stops = options.stops,
                                   .constraint = loaded_->constraint(options)});
  return read_text(*stream, write);
}

Array TextModel::logits(std::span<const std::int32_t> tokens) const {
  const models::LanguageModel& model = loaded_->language();
  const auto rows = static_cast<std::int64_t>(tokens.size());
  if (rows == 0 || rows > context()) {
    refuse(ErrorCode::invalid_argument, "scores of so many tokens; got " + std::to_string(rows) +
                                            ", expected 1 to " + std::to_string(context()));
  }
  if (is_encoder()) {
    refuse(ErrorCode::unsupported,
           "scores of an encoder; got one of the family " + family() + ", expected a causal model");
  }
  models::Sequences sequences(model, {.pages = models::pages_of(rows),
                                      .states = 1,
                                      .keys = model.compute,
                                      .values = model.compute});
  models::Sequence sequence = sequences.begin();
  const models::SequenceRows all{&sequence, tokens, rows};
  return sequences.step({&all, 1});
}

Array TextModel::embed(std::span<const std::string> texts) const {
  models::TokenLists lists;
  for (const std::string& text : texts) lists.push_back(tokenize(text));
  return models::embed_texts(loaded_->language(), lists);
}

}  // namespace v0
}  // namespace hearth
