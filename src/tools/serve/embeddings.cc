// POST /v1/embeddings, and /embedding in llama.cpp's own form.
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "tools/chat_json/field_error.h"
#include "tools/chat_json/fields.h"
#include "tools/serve/api_error.h"
#include "tools/serve/base64.h"
#include "tools/serve/endpoints.h"
#include "tools/serve/request_body.h"
#include "tools/serve/text_limits.h"
#include "tools/serve/token_fields.h"
#include "tools/serve/unsupported_fields.h"

namespace hearth::tools::serve {
namespace {

constexpr std::size_t kMostTexts = 2048;
constexpr std::size_t kMostInputTokens = std::size_t{1} << 20;
constexpr const char* kExpectedTexts = "a string, tokens, or an array of these";

constexpr UnsupportedField kNotOfEmbeddings[] = {
    {"truncate_prompt_tokens", never, "texts that the context holds"},
    {"add_special_tokens", is_true, "true, or tokens in place of texts"},
    {"embd_normalize", [](const JsonValue& value) { return any_number(value) == 2.0; },
     "2; vectors have the length that the model's files say"},
    {"options", is_empty, "none"},
    {"messages", never, "input, with texts"},
};

FieldError bad_length(const std::string& tokens, const std::string& place,
                      const ServedModel& model) {
  return bad_field(place, "a text of so many tokens; got " + tokens + ", expected 1 to " +
                              std::to_string(model.card().context));
}

// `place`: "input", or which of several.
std::vector<std::int32_t> tokens_of(const JsonValue& input, const std::string& place,
                                    const ServedModel& model, const models::EncodeLimits& limits) {
  if (const auto* text = std::get_if<std::string>(&input)) {
    try {
      return model.tokens_to_embed(*text, limits);
    } catch (const models::TooManyTokens& error) {
      throw bad_length("at least " + std::to_string(error.least()), place, model);
    }
  }
  const auto* list = std::get_if<JsonArray>(&input);
  if (list == nullptr) throw bad_type(place, input, "a string or an array of tokens");
  std::vector<std::int32_t> tokens;
  for (const JsonValue& each : *list) tokens.push_back(token_of(each, place, model.tokenizer()));
  return tokens;
}

// One bad text refuses them all, by its name.
void check_length(const std::vector<std::int32_t>& text, const std::string& place,
                  const ServedModel& model) {
  const auto length = static_cast<std::int64_t>(text.size());
  if (length == 0 || length > model.card().context) {
    throw bad_length(std::to_string(length), place, model);
  }
}

// Of the field called `name`.
models::TokenLists read_inputs(const Fields& fields, const std::string& name,
                               const ApiRequest& request, const Service& service) {
  refuse_unsupported(fields, kNotOfEmbeddings);
  const ServedModel& model = *service.model;
  const models::EncodeLimits limits =
      text_limits(request, service, static_cast<std::size_t>(model.card().context));
  const WorkSlots::Slot slot = service.encoders->take(limits.watch);
  const JsonValue* input = fields.find(name);
  if (input == nullptr) throw missing_field(name, kExpectedTexts);
  const auto* list = std::get_if<JsonArray>(input);
  if (list == nullptr || (!list->empty() && whole_number(list->front()))) {
    models::TokenLists one = {tokens_of(*input, name, model, limits)};
    check_length(one.front(), name, model);
    return one;
  }
  if (list->empty()) throw bad_field(name, std::string("is empty; expected ") + kExpectedTexts);
  models::TokenLists texts;
  std::size_t total = 0;
  for (const JsonValue& each : *fields.array(name, kMostTexts)) {
    if (!texts.empty()) limits.watch();
    const std::string place = name + "[" + std::to_string(texts.size()) + "]";
    texts.push_back(tokens_of(each, place, model, limits));
    check_length(texts.back(), place, model);
    total += texts.back().size();
    if (total > kMostInputTokens) {
      throw bad_field(name, "has too many tokens; got at least " + std::to_string(total) +
                                ", expected at most " + std::to_string(kMostInputTokens));
    }
  }
  return texts;
}

void require_vectors(const ServedModel& model) {
  if (model.card().embeds) return;
  throw ApiError(400,
                 "the model writes texts and embeds none; expected /v1/completions, or a server "
                 "that is started with --pooling mean, last or cls",
                 "invalid_request_error", "model");
}

JsonArray numbers_of(const std::vector<float>& vector) {
  JsonArray numbers;
  for (const float number : vector) numbers.emplace_back(double{number});
  return numbers;
}

// The first numbers of a vector, made long 1 again: what models trained for it mean by fewer.
void shorten(std::vector<float>& vector, std::int64_t dimensions) {
  if (dimensions == static_cast<std::int64_t>(vector.size())) return;
  vector.resize(static_cast<std::size_t>(dimensions));
  double squares = 0;
  for (const float number : vector) squares += double{number} * double{number};
  if (squares == 0) return;
  for (float& number : vector) {
    number = static_cast<float>(double{number} / std::sqrt(squares));
  }
}

}  // namespace

ApiResponse answer_embeddings(const ApiRequest& request, const Service& service) {
  ServedModel& model = *service.model;
  require_vectors(model);
  const JsonObject body = parse_body(request.body);
  const Fields fields(body);
  const std::string name = fields.text("model").value_or(model.card().id);
  const std::string format = fields.text("encoding_format").value_or("float");
  if (format != "float" && format != "base64") {
    throw bad_field("encoding_format",
                    "is not known; got " + json_text(format) + ", expected float or base64");
  }
  const auto dimensions = fields.integer("dimensions", 1, model.card().width);
  const models::TokenLists texts = read_inputs(fields, "input", request, service);
  std::int64_t tokens = 0;
  for (const auto& text : texts) tokens += static_cast<std::int64_t>(text.size());
  JsonArray data;
  for (std::vector<float>& vector : model.embed(texts, watch_of(request, service))) {
    if (dimensions) shorten(vector, *dimensions);
    JsonValue embedding;
    if (format == "base64") {
      embedding = base64_of(vector);
    } else {
      embedding = numbers_of(vector);
    }
    data.push_back(JsonObject{{"object", "embedding"},
                              {"index", static_cast<std::int64_t>(data.size())},
                              {"embedding", std::move(embedding)}});
  }
  return {.body = json_text(JsonObject{
              {"object", "list"},
              {"data", std::move(data)},
              {"model", name},
              {"usage", JsonObject{{"prompt_tokens", tokens}, {"total_tokens", tokens}}}})};
}

ApiResponse answer_llama_embedding(const ApiRequest& request, const Service& service) {
  require_vectors(*service.model);
  const JsonObject body = parse_body(request.body);
  const Fields fields(body);
  const std::string name = fields.find("input") == nullptr ? "content" : "input";
  JsonArray all;
  for (const std::vector<float>& vector : service.model->embed(
           read_inputs(fields, name, request, service), watch_of(request, service))) {
    // A list of one: llama.cpp has a vector for each token there where texts have none.
    all.push_back(JsonObject{{"index", static_cast<std::int64_t>(all.size())},
                             {"embedding", JsonArray{numbers_of(vector)}}});
  }
  return {.body = json_text(std::move(all))};
}

}  // namespace hearth::tools::serve
