#include "hearth/models.h"

#include <algorithm>
#include <utility>

#include "hearth/error.h"
#include "models/language/cache_type.h"
#include "models/language/model/sequences.h"
#include "models/language/model/text_encoder.h"
#include "models/loaded_text_model.h"
#include "models/loading/load_model.h"
#include "models/serving/prompt_limit.h"
#include "models/serving/read_text.h"

namespace hearth {
inline namespace v0 {
namespace {

[[noreturn]] void refuse(ErrorCode code, const std::string& what) {
  throw Error(code, "text model: " + what);
}

}  // namespace

TextModel TextModel::load(const std::string& path, const TextModelOptions& options) {
  if (options.cache_bytes < 0 || options.parallel < 1 || options.prefill < 1 ||
      options.drafts < 0) {
    refuse(ErrorCode::invalid_argument,
           "options out of range; got cache_bytes " + std::to_string(options.cache_bytes) +
               ", parallel " + std::to_string(options.parallel) + ", prefill " +
               std::to_string(options.prefill) + ", drafts " + std::to_string(options.drafts) +
               ", expected at least 0, 1, 1 and 0");
  }
  static_cast<void>(models::cache_types_from_names(options.keys, options.values));
  models::LoadedModel model = models::load_language_model(path, {.device = options.device,
                                                                 .compute = options.compute,
                                                                 .context = options.context,
                                                                 .adapters = options.adapters});
  return TextModel(std::make_shared<Loaded>(std::move(model), options));
}

const std::string& TextModel::family() const noexcept {
  return loaded_->language().config.architecture;
}

std::int64_t TextModel::context() const noexcept { return loaded_->longest_text(); }

std::int64_t TextModel::vocabulary() const noexcept { return loaded_->language().vocabulary(); }

bool TextModel::is_encoder() const noexcept { return !loaded_->language().config.gives_scores(); }

SamplingOptions TextModel::recommended_sampling() const {
  return loaded_->model().recommended.over({});
}

void TextModel::warm_up() const {
  if (is_encoder()) {
    embed(std::vector<std::string>{"a", "a text of a few words"}).eval();
    return;
  }
  constexpr std::int64_t kPrompts[] = {512, 256, 64, 16, 1};
  constexpr std::int64_t kSteps = 2;
  models::Scheduler& scheduler = loaded_->scheduler();
  std::int64_t prompt = 0;
  for (const std::int64_t rows : kPrompts) {
    if (rows + kSteps > scheduler.longest_text()) continue;
    // No two begin alike, so that each is computed from its first row on.
    const auto token = static_cast<std::int32_t>(prompt++ % vocabulary());
    const auto stream = scheduler.submit(
        {.tokens = std::vector<std::int32_t>(static_cast<std::size_t>(rows), token),
         .most_tokens = kSteps,
         .sampling = {.temperature = 0},
         .ignores_end = true});
    static_cast<void>(read_text(*stream, {}));
  }
}

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
  loaded_->require_scores("texts");
  models::Scheduler& scheduler = loaded_->scheduler();
  const auto stream = scheduler.submit(
      {.tokens = models::within_prompt(scheduler.longest_text(), options.tokens,
                                       [&](const models::EncodeLimits& limits) {
                                         return loaded_->tokenizer().encode_prompt(
                                             prompt, {.parse_special = options.parse_special},
                                             limits);
                                       }),
       .most_tokens = options.tokens,
       .sampling = options.sampling,
       .stops = options.stops,
       .constraint = loaded_->constraint(options.grammar, options.json_schema)});
  return read_text(*stream, write);
}

Array TextModel::logits(std::span<const std::int32_t> tokens) const {
  const models::LanguageModel& model = loaded_->language();
  const auto rows = static_cast<std::int64_t>(tokens.size());
  if (rows == 0 || rows > model.config.context) {
    refuse(ErrorCode::invalid_argument, "scores of so many tokens; got " + std::to_string(rows) +
                                            ", expected 1 to " +
                                            std::to_string(model.config.context));
  }
  loaded_->require_scores("scores");
  const WithNumerics own(loaded_->loaded_numerics());
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
  for (const std::string& text : texts) {
    lists.push_back(models::tokens_of_text(loaded_->tokenizer(), loaded_->language(), text));
  }
  const WithNumerics own(loaded_->loaded_numerics());
  return models::embed_texts(loaded_->language(), lists);
}

}  // namespace v0
}  // namespace hearth
