#include "tools/serve/answer_objects.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>
#include <utility>
#include <variant>

#include "models/sampling/sampling_fields.h"
#include "models/tokenizer/unicode.h"

namespace hearth::tools::serve {
namespace {

// JSON has no infinity: the logarithm of the probability 0.
double finite_logprob(float logprob) { return std::isfinite(logprob) ? double{logprob} : -9999.0; }

std::string token_text(const models::Tokenizer& tokenizer, std::int32_t token) {
  const std::string_view bytes = tokenizer.bytes(token);
  return std::string(bytes.empty() ? tokenizer.text(token) : bytes);
}

// As OpenAI's completions have it: pieces of characters would all read the same.
std::string token_name(const models::Tokenizer& tokenizer, std::int32_t token) {
  constexpr char kHexDigits[] = "0123456789abcdef";
  const std::string text = token_text(tokenizer, token);
  if (models::tokens::valid_utf8(text) == text) return text;
  std::string name = "bytes:";
  for (const char each : text) {
    const auto byte = static_cast<unsigned char>(each);
    name += {'\\', 'x', kHexDigits[byte >> 4], kHexDigits[byte & 15]};
  }
  return name;
}

JsonArray token_bytes(const models::Tokenizer& tokenizer, std::int32_t token) {
  JsonArray numbers;
  for (const char byte : token_text(tokenizer, token)) {
    numbers.emplace_back(std::int64_t{static_cast<unsigned char>(byte)});
  }
  return numbers;
}

JsonObject token_object(const models::Tokenizer& tokenizer, std::int32_t token, float logprob) {
  return {{"token", token_text(tokenizer, token)},
          {"logprob", finite_logprob(logprob)},
          {"bytes", token_bytes(tokenizer, token)}};
}

JsonObject llama_token_object(const models::Tokenizer& tokenizer, std::int32_t token,
                              float logprob) {
  return {{"id", std::int64_t{token}},
          {"token", token_text(tokenizer, token)},
          {"bytes", token_bytes(tokenizer, token)},
          {"logprob", finite_logprob(logprob)}};
}

// One of `object_of(tokenizer, token, logprob)` for each token, with those of the best within.
JsonArray objects_of(const models::Tokenizer& tokenizer,
                     std::span<const models::GenerationToken> tokens,
                     JsonObject (*object_of)(const models::Tokenizer&, std::int32_t, float)) {
  JsonArray all;
  for (const models::GenerationToken& token : tokens) {
    JsonObject object = object_of(tokenizer, token.token, token.logprob);
    JsonArray best;
    for (const auto& [other, logprob] : token.best) {
      best.push_back(object_of(tokenizer, other, logprob));
    }
    object.emplace_back("top_logprobs", std::move(best));
    all.push_back(std::move(object));
  }
  return all;
}

}  // namespace

std::string fresh_id(const char* prefix) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::random_device device;
  std::string id = prefix;
  for (int word = 0; word < 3; ++word) {
    auto bits = device();
    for (int digit = 0; digit < 8; ++digit, bits >>= 4) id += kDigits[bits & 15];
  }
  return id;
}

std::int64_t seconds_now() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

JsonValue finish_name(models::FinishReason finish, bool has_calls) {
  switch (finish) {
    case models::FinishReason::none:
      return nullptr;
    case models::FinishReason::length:
      return "length";
    default:
      return has_calls ? "tool_calls" : "stop";
  }
}

JsonValue token_piece(const models::Tokenizer& tokenizer, std::int32_t token) {
  const std::string text = token_text(tokenizer, token);
  if (models::tokens::valid_utf8(text) == text) return text;
  return token_bytes(tokenizer, token);
}

JsonArray chat_logprobs(const models::Tokenizer& tokenizer,
                        std::span<const models::GenerationToken> tokens) {
  return objects_of(tokenizer, tokens, token_object);
}

JsonArray llama_probabilities(const models::Tokenizer& tokenizer,
                              std::span<const models::GenerationToken> tokens) {
  return objects_of(tokenizer, tokens, llama_token_object);
}

JsonObject sampling_object(const models::SamplingOptions& options) {
  JsonObject all = {{"seed", options.seed}};
  for (const models::SamplingField& field : models::sampling_fields()) {
    std::visit([&](auto member) { all.emplace_back(field.request, options.*member); },
               field.member);
  }
  all.emplace_back("mirostat", static_cast<std::int64_t>(options.mirostat));
  JsonArray steps;
  for (const models::SamplingStep step : options.steps) {
    steps.emplace_back(std::string(models::name(step)));
  }
  all.emplace_back("samplers", std::move(steps));
  return all;
}

std::int64_t code_points(std::string_view text) {
  return std::count_if(text.begin(), text.end(),
                       [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; });
}

TextPlace place_behind(const models::Tokenizer& tokenizer, std::span<const std::int32_t> tokens) {
  TextPlace place;
  for (std::size_t i = 0; place.at_start && i < tokens.size(); ++i) {
    tokenizer.shown(tokens[i], {}, place.at_start);
  }
  return place;
}

void CompletionLogprobs::add_token(const models::Tokenizer& tokenizer,
                                   const models::GenerationToken& token, std::int64_t offset) {
  JsonObject others;
  for (const auto& [other, logprob] : token.best) {
    // Of tokens with one text the likeliest stands.
    const std::string name = token_name(tokenizer, other);
    if (find_key(others, name) == nullptr) others.emplace_back(name, finite_logprob(logprob));
  }
  texts_.emplace_back(token_name(tokenizer, token.token));
  logprobs_.emplace_back(finite_logprob(token.logprob));
  best_.emplace_back(std::move(others));
  offsets_.emplace_back(offset);
}

void CompletionLogprobs::add_prompt(const models::Tokenizer& tokenizer, std::int32_t first,
                                    std::span<const models::GenerationToken> scored,
                                    TextPlace& place) {
  models::TokenStream echo(tokenizer);
  const auto show = [&](std::int32_t token) {
    place.offset += code_points(echo.push(token));
    tokenizer.shown(token, {}, place.at_start);
  };
  add_token(tokenizer, {first, 0, {}}, place.offset);
  logprobs_.back() = nullptr;
  best_.back() = nullptr;
  show(first);
  for (const models::GenerationToken& token : scored) {
    add_token(tokenizer, token, place.offset);
    show(token.token);
  }
  place.offset += code_points(echo.finish());
}

void CompletionLogprobs::add(const models::Tokenizer& tokenizer,
                             std::span<const models::GenerationToken> tokens, TextPlace& place) {
  for (const models::GenerationToken& token : tokens) {
    add_token(tokenizer, token, place.offset);
    // Nothing of control tokens, and not the space that begins texts.
    place.offset += code_points(tokenizer.shown(token.token, {}, place.at_start));
  }
}

JsonValue CompletionLogprobs::document() && {
  return JsonObject{{"tokens", std::move(texts_)},
                    {"token_logprobs", std::move(logprobs_)},
                    {"top_logprobs", std::move(best_)},
                    {"text_offset", std::move(offsets_)}};
}

JsonValue prompt_logprobs(const models::Tokenizer& tokenizer,
                          std::span<const models::GenerationToken> scored) {
  JsonArray all = {nullptr};
  for (const models::GenerationToken& token : scored) {
    JsonObject entry;
    const auto add = [&](std::int32_t id, float logprob, std::int64_t rank) {
      entry.emplace_back(std::to_string(id),
                         JsonObject{{"logprob", finite_logprob(logprob)},
                                    {"rank", rank},
                                    {"decoded_token", token_text(tokenizer, id)}});
    };
    std::int64_t rank = 0;
    for (const auto& [other, logprob] : token.best) add(other, logprob, ++rank);
    if (find_key(entry, std::to_string(token.token)) == nullptr) {
      add(token.token, token.logprob, token.rank);
    }
    all.emplace_back(std::move(entry));
  }
  return all;
}

}  // namespace hearth::tools::serve
