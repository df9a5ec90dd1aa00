// What the server says of itself: models, properties, slots, metrics; and its tokenizer and
// template.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "graph/plan/plan.h"
#include "hearth/device.h"
#include "hearth/error.h"
#include "hearth/version.h"
#include "tools/chat_json/field_error.h"
#include "tools/chat_json/fields.h"
#include "tools/serve/answer_objects.h"
#include "tools/serve/api_error.h"
#include "tools/serve/chat_job.h"
#include "tools/serve/endpoints.h"
#include "tools/serve/request_body.h"
#include "tools/serve/text_limits.h"
#include "tools/serve/token_fields.h"

namespace hearth::tools::serve {
namespace {

void add_metric(std::string& text, const char* name, const char* kind, const char* help,
                std::int64_t value) {
  text += std::string("# HELP hearth_") + name + " " + help + "\n# TYPE hearth_" + name + " " +
          kind + "\nhearth_" + name + " " + std::to_string(value) + "\n";
}

JsonObject model_object(const Service& service) {
  const ModelCard& card = service.model->card();
  return {{"id", card.id},
          {"object", "model"},
          {"created", card.created},
          {"owned_by", "hearth"},
          {"context_length", card.context}};
}

std::string text_of(const models::Tokenizer& tokenizer, std::int32_t token) {
  return token < 0 ? std::string() : std::string(tokenizer.text(token));
}

// Empty of a model that is not talked to.
std::string chat_template_of(const ServedModel& model) {
  if (!model.card().writes) return "";
  try {
    return model.chat().source();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    return "";
  }
}

}  // namespace

ApiResponse answer_models(const Service& service) {
  return {.body = json_text(
              JsonObject{{"object", "list"}, {"data", JsonArray{model_object(service)}}})};
}

ApiResponse answer_model(const ApiRequest& request, const Service& service) {
  const std::string id = request.path.substr(request.path.find("/models/") + 8);
  if (id != service.model->card().id) {
    throw ApiError(404,
                   "the model " + json_text(id.substr(0, 100)) + " is not there; expected " +
                       json_text(service.model->card().id),
                   "invalid_request_error", "model", "model_not_found");
  }
  return {.body = json_text(model_object(service))};
}

ApiResponse answer_props(const Service& service) {
  const ServedModel& model = *service.model;
  const ModelCard& card = model.card();
  const models::SchedulerStats stats = model.stats();
  const models::SpecialTokens& special = model.tokenizer().special();
  return {.body = json_text(
              JsonObject{{"version", HEARTH_VERSION},
                         {"model", card.id},
                         {"context_length", card.context},
                         {"vocabulary", static_cast<std::int64_t>(model.tokenizer().size())},
                         {"writes", card.writes},
                         {"embeds", card.embeds},
                         {"running", stats.running},
                         {"waiting", stats.waiting},
                         {"pages", stats.pages},
                         {"pages_used", stats.pages_used},
                         {"window_pages", stats.window_pages},
                         {"window_pages_used", stats.window_pages_used},
                         {"total_slots", stats.parallel},
                         {"default_generation_settings",
                          JsonObject{{"n_ctx", card.context},
                                     {"params", sampling_object(model.default_sampling())}}},
                         {"model_alias", card.id},
                         {"chat_template", chat_template_of(model)},
                         {"bos_token", text_of(model.tokenizer(), special.bos)},
                         {"eos_token", text_of(model.tokenizer(), special.eos)},
                         {"modalities", JsonObject{{"vision", false}, {"audio", false}}},
                         {"build_info", "hearth " HEARTH_VERSION}})};
}

ApiResponse answer_slots(const Service& service) {
  const std::int64_t context = service.model->card().context;
  const models::SchedulerStats stats = service.model->stats();
  JsonArray slots;
  for (const models::TextStats& text : stats.texts) {
    slots.push_back(JsonObject{
        {"id", static_cast<std::int64_t>(slots.size())},
        {"id_task", text.number},
        {"n_ctx", context},
        {"is_processing", true},
        {"n_prompt_tokens", text.prompt_tokens},
        {"n_prompt_tokens_processed", std::min(text.computed_tokens, text.prompt_tokens)},
        {"n_prompt_tokens_cache", text.cached_tokens},
        {"next_token", JsonObject{{"has_next_token", text.tokens_left > 0},
                                  {"n_remain", text.tokens_left},
                                  {"n_decoded", text.new_tokens}}}});
  }
  while (static_cast<std::int64_t>(slots.size()) < stats.parallel) {
    slots.push_back(JsonObject{{"id", static_cast<std::int64_t>(slots.size())},
                               {"n_ctx", context},
                               {"is_processing", false}});
  }
  return {.body = json_text(std::move(slots))};
}

ApiResponse answer_apply_template(const ApiRequest& request, const Service& service) {
  const JsonObject body = parse_body(request.body);
  models::ChatPrompt prompt = read_chat_prompt(Fields(body), request, service);
  return {.body = json_text(JsonObject{{"prompt", std::move(prompt.text)}})};
}

ApiResponse answer_metrics(const Service& service) {
  const models::SchedulerStats stats = service.model->stats();
  std::string text;
  add_metric(text, "requests_running", "gauge", "Texts that are being written.", stats.running);
  add_metric(text, "requests_waiting", "gauge", "Texts that wait for their turn.", stats.waiting);
  add_metric(text, "pages", "gauge", "Pages of keys and values.", stats.pages);
  add_metric(text, "pages_used", "gauge", "Pages of texts that run.", stats.pages_used);
  add_metric(text, "pages_kept", "gauge", "Pages kept for prompts that begin the same.",
             stats.pages_kept);
  add_metric(text, "window_pages", "gauge", "Pages of layers with windows.", stats.window_pages);
  add_metric(text, "window_pages_used", "gauge", "Pages of windows of texts that run.",
             stats.window_pages_used);
  add_metric(text, "window_pages_kept", "gauge",
             "Pages of windows kept for prompts that begin the same.", stats.window_pages_kept);
  add_metric(text, "requests_total", "counter", "Texts that were asked for.", stats.requests);
  add_metric(text, "prompt_tokens_total", "counter", "Tokens of prompts.", stats.tokens_in);
  add_metric(text, "cached_tokens_total", "counter", "Tokens of prompts not computed again.",
             stats.tokens_cached);
  add_metric(text, "generated_tokens_total", "counter", "Tokens written.", stats.tokens_out);
  add_metric(text, "cache_hits_total", "counter", "Requests with cached tokens.", stats.hits);
  add_metric(text, "preemptions_total", "counter", "Texts that lost their pages for a while.",
             stats.preemptions);
  add_metric(text, "faults_total", "counter", "Passes that the device or its memory failed.",
             stats.faults);
  add_metric(text, "steps_total", "counter", "Passes of the model.", stats.steps);
  add_metric(text, "rows_total", "counter", "Rows that these computed.", stats.rows);
  add_metric(text, "draft_tokens_total", "counter", "Tokens guessed ahead.", stats.tokens_guessed);
  add_metric(text, "accepted_tokens_total", "counter", "Tokens guessed ahead that were drawn, too.",
             stats.guesses_held);
  const PlanCacheSize plans = plan_cache_size();
  add_metric(text, "plans", "gauge", "Plans that are kept for steps of the same shapes.",
             static_cast<std::int64_t>(plans.plans));
  add_metric(text, "plan_bytes", "gauge", "Memory that they take, about.",
             static_cast<std::int64_t>(plans.bytes));
  add_metric(text, "plans_built_total", "counter", "Plans that were not there yet.",
             statistics().plan_misses);
  return {.content_type = "text/plain; version=0.0.4", .body = std::move(text)};
}

ApiResponse answer_tokenize(const ApiRequest& request, const Service& service) {
  const JsonObject body = parse_body(request.body);
  const Fields fields(body);
  const std::string content = fields.required_text("content");
  const models::EncodeOptions options{.add_special = fields.flag("add_special", false),
                                      .parse_special = fields.flag("parse_special", false)};
  const bool with_pieces = fields.flag("with_pieces", false);
  const models::Tokenizer& tokenizer = service.model->tokenizer();
  std::vector<std::int32_t> ids;
  try {
    const models::EncodeLimits limits = text_limits(request, service, kMostListedTokens);
    const WorkSlots::Slot slot = service.encoders->take(limits.watch);
    ids = tokenizer.encode(content, options, limits);
  } catch (const models::TooManyTokens& error) {
    throw bad_field("content", "is too long; got at least " + std::to_string(error.least()) +
                                   " tokens, expected at most " +
                                   std::to_string(kMostListedTokens));
  }
  JsonArray tokens;
  for (const std::int32_t id : ids) {
    if (with_pieces) {
      tokens.push_back(JsonObject{{"id", std::int64_t{id}}, {"piece", token_piece(tokenizer, id)}});
    } else {
      tokens.emplace_back(std::int64_t{id});
    }
  }
  return {.body = json_text(JsonObject{{"tokens", std::move(tokens)}})};
}

ApiResponse answer_detokenize(const ApiRequest& request, const Service& service) {
  const JsonObject body = parse_body(request.body);
  const Fields fields(body);
  const JsonArray* tokens = fields.array("tokens", kMostListedTokens);
  if (tokens == nullptr) throw missing_field("tokens", "an array of tokens");
  const models::Tokenizer& tokenizer = service.model->tokenizer();
  std::vector<std::int32_t> ids;
  for (const JsonValue& token : *tokens) ids.push_back(token_of(token, "tokens", tokenizer));
  const bool shows = fields.flag("show_special", true);
  return {.body =
              json_text(JsonObject{{"content", tokenizer.decode(ids, {.show_special = shows})}})};
}

}  // namespace hearth::tools::serve
