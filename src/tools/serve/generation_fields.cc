#include "tools/serve/generation_fields.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "core/counted.h"
#include "tools/chat_json/field_error.h"
#include "tools/serve/read_sampling.h"
#include "tools/serve/text_limits.h"
#include "tools/serve/token_fields.h"
#include "tools/serve/unsupported_fields.h"

namespace hearth::tools::serve {
namespace {

constexpr std::int64_t kMostAnswers = 16;
constexpr std::size_t kMostStops = 16;
constexpr std::size_t kMostStopBytes = 512;

std::string checked_stop(const JsonValue& value) {
  const auto* text = std::get_if<std::string>(&value);
  if (text == nullptr) throw bad_type("stop", value, "strings");
  if (text->size() > kMostStopBytes) {
    throw bad_field("stop", "a string of so many bytes; got " + std::to_string(text->size()) +
                                ", expected at most " + std::to_string(kMostStopBytes));
  }
  return *text;
}

// Empty texts stop nothing, as in llama.cpp.
std::vector<std::string> read_stops(const Fields& fields) {
  const JsonValue* value = fields.find("stop");
  if (value == nullptr) return {};
  std::vector<std::string> stops;
  if (std::holds_alternative<std::string>(*value)) {
    stops.push_back(checked_stop(*value));
  } else if (std::holds_alternative<JsonArray>(*value)) {
    for (const JsonValue& each : *fields.array("stop", kMostStops)) {
      stops.push_back(checked_stop(each));
    }
  } else {
    fields.wrong_type("stop", "a string or an array of strings");
  }
  std::erase_if(stops, [](const std::string& text) { return text.empty(); });
  return stops;
}

// The first name that is there counts: OpenAI's newer one, its older one, llama.cpp's.
std::int64_t read_most_tokens(const Fields& fields, std::int64_t least) {
  std::optional<std::int64_t> most;
  for (const char* name : {"max_completion_tokens", "max_tokens", "n_predict"}) {
    const auto given = fields.integer(name, -1, kMostNewTokens);
    if (given && *given >= 0 && *given < least) {
      throw bad_field(name, "is out of range; got " + std::to_string(*given) +
                                ", expected -1 for all that there is room for, or at least " +
                                std::to_string(least));
    }
    if (!most) most = given;
  }
  return most.value_or(-1) < 0 ? kMostNewTokens : *most;
}

// vLLM's field: no end before, and no stop.
std::int64_t read_least_tokens(const Fields& fields, std::int64_t most) {
  const std::int64_t least = fields.integer("min_tokens", 0, kMostNewTokens).value_or(0);
  if (least <= most) return least;
  throw bad_field("min_tokens", "is more than there may be; got " + std::to_string(least) +
                                    ", expected at most " + std::to_string(most));
}

}  // namespace

GenerationFields read_generation_fields(const Fields& fields, const ServedModel& model,
                                        std::int64_t least_tokens) {
  refuse_unsupported(fields);
  GenerationFields read;
  read.model = fields.text("model").value_or(model.card().id);
  read.count = static_cast<std::size_t>(fields.integer("n", 1, kMostAnswers).value_or(1));
  const auto count = static_cast<std::int64_t>(read.count);
  if (const auto best = fields.integer("best_of", 1, kMostAnswers); best.value_or(count) != count) {
    throw bad_field("best_of", "is not supported; got " + std::to_string(*best) + ", expected n, " +
                                   std::to_string(count));
  }
  read.is_streamed = fields.flag("stream", false);
  if (const JsonObject* options = fields.object("stream_options")) {
    read.includes_usage = Fields(*options, "stream_options.").flag("include_usage", false);
  }
  models::GenerationRequest& generation = read.generation;
  generation.most_tokens = std::min(read_most_tokens(fields, least_tokens), model.card().context);
  generation.least_tokens = read_least_tokens(fields, generation.most_tokens);
  generation.stops = read_stops(fields);
  generation.sampling = read_sampling(fields, model);
  generation.ignores_end = fields.flag("ignore_eos", false);
  return read;
}

void set_constraint(models::GenerationRequest& generation,
                    std::shared_ptr<models::grammar::Constraint> constraint) {
  if (constraint != nullptr && generation.least_tokens > 0) {
    throw bad_field("min_tokens",
                    "beside a schema or grammar, which may leave nothing but an end; "
                    "expected one of both");
  }
  generation.constraint = std::move(constraint);
}

std::vector<models::GenerationRequest> GenerationFields::requests(
    const models::TokenLists& prompts) const {
  std::vector<models::GenerationRequest> all;
  for (const auto& tokens : prompts) {
    for (std::size_t i = 0; i < count; ++i) {
      models::GenerationRequest& each = all.emplace_back(generation);
      each.sampling.seed += all.size() - 1;
      each.tokens = tokens;
    }
  }
  return all;
}

void check_prompt(const std::vector<std::int32_t>& tokens, const ServedModel& model,
                  const std::string& param, bool is_answered) {
  const auto length = static_cast<std::int64_t>(tokens.size());
  if (length == 0) throw bad_field(param, "has no tokens; expected at least one");
  const auto vocabulary = static_cast<std::int32_t>(model.tokenizer().size());
  for (const std::int32_t token : tokens) {
    if (token < 0 || token >= vocabulary) {
      throw no_token(param, std::to_string(token), model.tokenizer());
    }
  }
  if (tokens.size() > most_prompt_tokens(model, is_answered)) {
    throw prompt_too_long(param, counted(length, "token"), model, is_answered);
  }
}

}  // namespace hearth::tools::serve
