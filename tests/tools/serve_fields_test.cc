// The fields that requests share, and bodies that are none.
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "models/grammar/grammar.h"
#include "models/grammar_texts.h"
#include "models/sampling/sampling_fields.h"
#include "tools/serve_api.h"

namespace hearth::tools::serve {
namespace {

using check::member;
using check::text;
using hearth::testing::accept_text;

class ServeFields : public ServeApi {};

TEST_F(ServeFields, EmptyStopsAreNone) {
  document("/v1/chat/completions", chat(R"("stop": "")"));
  document("/v1/chat/completions", chat(R"("stop": ["", "x", ""])"));
  document("/v1/chat/completions", chat(R"("stop": null)"));
  EXPECT_TRUE(model_->requests().at(0).stops.empty());
  EXPECT_EQ(model_->requests().at(1).stops, std::vector<std::string>{"x"});
  EXPECT_TRUE(model_->requests().at(2).stops.empty());
}

TEST_F(ServeFields, OptionsReachTheModel) {
  document("/v1/chat/completions",
           chat(R"("temperature": 0.5, "top_p": 0.9, "top_k": 7, "min_p": 0.1, "typical_p": 0.8,
                   "presence_penalty": 1, "frequency_penalty": -1.5, "repeat_penalty": 1.2,
                   "logit_bias": {"5": 2, "6": -100, "7": false}, "stop": ["x", "yz"],
                   "max_completion_tokens": 4, "max_tokens": 9, "min_tokens": 3,
                   "ignore_eos": true)"));
  const models::GenerationRequest request = model_->requests().at(0);
  EXPECT_EQ(request.most_tokens, 4);
  EXPECT_EQ(request.least_tokens, 3);
  EXPECT_EQ(request.stops, (std::vector<std::string>{"x", "yz"}));
  EXPECT_TRUE(request.ignores_end);
  EXPECT_EQ(request.sampling.temperature, 0.5);
  EXPECT_EQ(request.sampling.top_p, 0.9);
  EXPECT_EQ(request.sampling.top_k, 7);
  EXPECT_EQ(request.sampling.min_p, 0.1);
  EXPECT_EQ(request.sampling.typical_p, 0.8);
  EXPECT_EQ(request.sampling.presence_penalty, 1);
  EXPECT_EQ(request.sampling.frequency_penalty, -1.5);
  EXPECT_EQ(request.sampling.repetition_penalty, 1.2);
  ASSERT_EQ(request.sampling.logit_bias.size(), 3u);
  EXPECT_EQ(request.sampling.logit_bias[0].value, 2);
  EXPECT_EQ(request.sampling.logit_bias[1].value, -std::numeric_limits<float>::infinity());
  EXPECT_EQ(request.sampling.logit_bias[2].value, -std::numeric_limits<float>::infinity());
}

TEST_F(ServeFields, BiasesMayBePairs) {
  document("/v1/chat/completions",
           chat(R"("logit_bias": [[5, 2], [6, false], [7.0, -100], ["ab", -1.5]])"));
  const auto biases = model_->requests().at(0).sampling.logit_bias;
  constexpr float kNever = -std::numeric_limits<float>::infinity();
  const struct {
    std::int32_t token;
    float value;
  } expected[] = {{5, 2}, {6, kNever}, {7, kNever}, {5 + 'a', -1.5f}, {5 + 'b', -1.5f}};
  ASSERT_EQ(biases.size(), std::size(expected));
  for (std::size_t i = 0; i < biases.size(); ++i) {
    EXPECT_EQ(biases[i].token, expected[i].token) << i;
    EXPECT_EQ(biases[i].value, expected[i].value) << i;
  }
}

TEST_F(ServeFields, StepsMayBePutInOrder) {
  using enum models::SamplingStep;
  const auto steps = [&](const std::string& samplers) {
    document("/v1/chat/completions", chat("\"samplers\": " + samplers));
    return model_->requests().back().sampling.steps;
  };
  EXPECT_EQ(steps(R"(["penalties", "typ_p", "top-k", "temp"])"),
            (std::vector{penalties, typical_p, top_k, temperature}));
  EXPECT_EQ(steps(R"("tk")"), (std::vector{temperature, top_k}));
  EXPECT_TRUE(steps("[]").empty());
  EXPECT_EQ(steps("null"), models::default_sampling_steps());
}

TEST_F(ServeFields, BreakersMayBeOthersOrNone) {
  const auto breakers = [&](const std::string& fields) {
    document("/v1/chat/completions", chat(fields));
    return model_->requests().back().sampling.dry_breakers;
  };
  using Breakers = std::vector<std::vector<std::int32_t>>;
  EXPECT_EQ(breakers(R"("dry_sequence_breakers": ["a"])"), Breakers());
  EXPECT_EQ(breakers(R"("dry_multiplier": 1, "dry_sequence_breakers": ["ab", ";"])"),
            (Breakers{{5 + 'a', 5 + 'b'}, {5 + ';'}}));
  EXPECT_EQ(breakers(R"("dry_multiplier": 1, "dry_sequence_breakers": [])"), Breakers());
  EXPECT_EQ(breakers(R"("dry_multiplier": 1)"),
            (Breakers{{5 + '\n'}, {5 + ':'}, {5 + '"'}, {5 + '*'}}));
}

TEST_F(ServeFields, EveryFieldOfSamplingIsAFieldOfRequests) {
  for (const models::SamplingField& field : models::sampling_fields()) {
    const double value = field.high - field.low > 2 ? field.low + 2 : 0.75;
    const std::string member(field.request);
    document("/v1/chat/completions", chat(json_text(member) + ": " + json_text(JsonValue(value))));
    const models::SamplingOptions sampling = model_->requests().back().sampling;
    std::visit([&](auto at) { EXPECT_EQ(static_cast<double>(sampling.*at), value) << member; },
               field.member);
    const JsonValue refused =
        refusal("/v1/chat/completions", chat(json_text(member) + ": " + json_text(field.high + 1)));
    EXPECT_EQ(text(refused, "param"), member);
  }
}

// As flags do: SamplingArguments.TheEndsOfRangesAreThoseOfTheFields.
TEST_F(ServeFields, TheEndsOfRangesAreThoseOfTheFields) {
  for (const models::SamplingField& field : models::sampling_fields()) {
    const std::string member(field.request);
    for (const double value : {field.low, field.high}) {
      const std::string body = chat(json_text(member) + ": " + json_text(JsonValue(value)));
      if (!models::allows(field, value)) {
        refusal("/v1/chat/completions", body);
        continue;
      }
      document("/v1/chat/completions", body);
      const models::SamplingOptions sampling = model_->requests().back().sampling;
      std::visit([&](auto at) { EXPECT_EQ(static_cast<double>(sampling.*at), value) << member; },
                 field.member);
    }
  }
}

// What an answer says of its seed gives the same draws again.
TEST_F(ServeFields, SeedsAreOfSixtyFourBitsAndComeBack) {
  const auto seed_of = [&](const std::string& given, std::uint64_t expected) {
    const JsonValue answer = document("/completion", R"({"prompt": "a", "seed": )" + given + "}");
    EXPECT_EQ(model_->requests().back().sampling.seed, expected) << given;
    const JsonValue* settings = check::member(answer, "generation_settings");
    return settings == nullptr ? "" : json_text(*check::member(*settings, "seed"));
  };
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  for (const auto& [given, seed] : std::vector<std::pair<std::string, std::uint64_t>>{
           {"0", 0},
           {"-2", kMost - 1},
           {"18446744073709551614", kMost - 1},
           {"18446744073709551615", kMost},
           {"9223372036854775807", kMost / 2},
           {"9223372036854775808", kMost / 2 + 1},
           {"-9223372036854775808", kMost / 2 + 1}}) {
    const std::string told = seed_of(given, seed);
    EXPECT_EQ(told, std::to_string(seed));
    EXPECT_EQ(seed_of(told, seed), told);
  }
  for (const char* given : {"18446744073709551616", "-9223372036854775809", "1.5", "true", "[1]"}) {
    const JsonValue error =
        refusal("/completion", R"({"prompt": "a", "seed": )" + std::string(given) + "}");
    EXPECT_EQ(text(error, "param"), "seed") << given;
  }
}

TEST_F(ServeFields, RepetitionsHaveTwoNames) {
  const auto penalty_of = [&](const std::string& fields) {
    document("/v1/chat/completions", chat(fields));
    return model_->requests().back().sampling.repetition_penalty;
  };
  EXPECT_EQ(penalty_of(R"("repetition_penalty": 1.5)"), 1.5);
  EXPECT_EQ(penalty_of(R"("repetition_penalty": 1.5, "repeat_penalty": 1.25)"), 1.25);
  EXPECT_EQ(text(refusal("/v1/chat/completions", chat(R"("repetition_penalty": "x")")), "param"),
            "repetition_penalty");
}

TEST_F(ServeFields, WrongFieldsAreNamed) {
  const struct {
    const char* fields;
    const char* param;
  } cases[] = {
      {R"("temperature": "hot")", "temperature"},
      {R"("temperature": -1)", "temperature"},
      {R"("n": 17)", "n"},
      {R"("n": 1.5)", "n"},
      {R"("max_tokens": 0)", "max_tokens"},
      {R"("max_tokens": 18446744073709551615)", "max_tokens"},
      {R"("min_tokens": -1)", "min_tokens"},
      {R"("min_tokens": 5, "max_tokens": 4)", "min_tokens"},
      {R"("min_tokens": 5, "grammar": "root ::= [a]*")", "min_tokens"},
      {R"("stop": 5)", "stop"},
      {R"("stop": ["x", 5])", "stop"},
      {R"("stop": ["1","2","3","4","5","6","7","8","9","a","b","c","d","e","f","g","h"])", "stop"},
      {R"("logit_bias": {"x": 1})", "logit_bias"},
      {R"("logit_bias": {"262": 1})", "logit_bias"},
      {R"("logit_bias": {"1": 101})", "logit_bias"},
      {R"("logit_bias": {"1": true})", "logit_bias"},
      {R"("logit_bias": 5)", "logit_bias"},
      {R"("logit_bias": [5, 1])", "logit_bias"},
      {R"("logit_bias": [[5]])", "logit_bias"},
      {R"("logit_bias": [[262, 1]])", "logit_bias"},
      {R"("logit_bias": [[-1, 1]])", "logit_bias"},
      {R"("logit_bias": [[5, true]])", "logit_bias"},
      {R"("logit_bias": [[5, 101]])", "logit_bias"},
      {R"("logit_bias": [[null, 1]])", "logit_bias"},
      {R"("samplers": 5)", "samplers"},
      {R"("samplers": [5])", "samplers"},
      {R"("samplers": ["heat"])", "samplers"},
      {R"("samplers": ["top_k;top_p"])", "samplers"},
      {R"("samplers": [""])", "samplers"},
      {R"("samplers": "kz")", "samplers"},
      {R"("dry_sequence_breakers": "a")", "dry_sequence_breakers"},
      {R"("dry_sequence_breakers": [5])", "dry_sequence_breakers"},
      {R"("dry_sequence_breakers": [""])", "dry_sequence_breakers"},
      {R"("top_logprobs": 2)", "top_logprobs"},
      {R"("logprobs": true, "top_logprobs": 21)", "top_logprobs"},
      {R"("stream": 1)", "stream"},
      {R"("stream_options": {"include_usage": "no"})", "stream_options.include_usage"},
      {R"("lora": [{"id": 0, "scale": 0.5}])", "lora"},
      {R"("response_format": {"type": "xml"})", "response_format.type"},
      {R"("response_format": {"type": "json_schema"})", "response_format.json_schema"},
      {R"("response_format": {"type": "json_schema", "json_schema": {"schema": {"type": "no"}}})",
       "response_format"},
      {R"("grammar": "root ::= nothing")", "grammar"},
      {R"("json_schema": {"type": "no"})", "json_schema"},
      {R"("guided_json": "{")", "guided_json"},
      {R"("json_schema": {}, "guided_json": {})", "guided_json"},
      {R"("json_schema": {}, "grammar": "root ::= [a]")", "json_schema"},
      {R"("guided_regex": "a+")", "guided_regex"},
      {R"("guided_grammar": "root ::= [a]")", "guided_grammar"},
      {R"("guided_choice": ["a", "b"])", "guided_choice"},
      {R"("structured_outputs": "json")", "structured_outputs"},
      {R"("structured_outputs": {})", "structured_outputs"},
      {R"("structured_outputs": {"json": {}, "grammar": "root ::= [a]"})", "structured_outputs"},
      {R"("structured_outputs": {"json": {}}, "json_schema": {})", "structured_outputs"},
      {R"("structured_outputs": {"json": "{"})", "structured_outputs.json"},
      {R"("structured_outputs": {"json": {"type": "no"}})", "structured_outputs.json"},
      {R"("structured_outputs": {"json_object": 1})", "structured_outputs.json_object"},
      {R"("structured_outputs": {"grammar": 1})", "structured_outputs.grammar"},
      {R"("structured_outputs": {"grammar": ""})", "structured_outputs.grammar"},
      {R"("structured_outputs": {"grammar": "root ::= nothing"})", "structured_outputs.grammar"},
      {R"("structured_outputs": {"choice": ["a", "b"]})", "structured_outputs.choice"},
      {R"("structured_outputs": {"regex": "a+"})", "structured_outputs.regex"},
      {R"("structured_outputs": {"structural_tag": "{}"})", "structured_outputs.structural_tag"},
      {R"("stop_token_ids": [5])", "stop_token_ids"},
      {R"("allowed_token_ids": [5])", "allowed_token_ids"},
      {R"("bad_words": ["a"])", "bad_words"},
      {R"("truncate_prompt_tokens": -1)", "truncate_prompt_tokens"},
      {R"("n_probs": 3)", "n_probs"},
      {R"("tools": [{"type": "function", "function": {"name": "a b"}}])", "tools[0].function.name"},
      {R"("tool_choice": "required")", "tool_choice"},
      {R"("tool_choice": "always")", "tool_choice"},
      {R"("chat_template_kwargs": [])", "chat_template_kwargs"},
      {R"("functions": [{"name": "f"}])", "functions"},
      {R"("function_call": "auto")", "function_call"},
      {R"("modalities": ["text", "audio"])", "modalities"},
      {R"("audio": {"voice": "a"})", "audio"},
      {R"("web_search_options": {})", "web_search_options"},
      {R"("messages": [])", "messages"},
      {R"("messages": [{"role": "robot", "content": ""}])", "messages[0].role"},
      {R"("messages": [{"role": "user"}])", "messages[0].content"},
      {R"("messages": [{"role": "user", "content": [{"type": "image_url"}]}])",
       "messages[0].content"},
      {R"("messages": [{"role": "user", "content": 5}])", "messages[0].content"},
      {R"("messages": [{"role": "user", "content": [{"type": "text"}]}])",
       "messages[0].content[0].text"},
      {R"("messages": [{"role": "user", "content": [{"type": "text", "text": "a"},
                                                    {"type": "text", "text": 5}]}])",
       "messages[0].content[1].text"},
      {R"("messages": [{"role": "assistant", "content": [{"type": "refusal", "text": "a"}]}])",
       "messages[0].content[0].refusal"},
  };
  for (const auto& each : cases) {
    SCOPED_TRACE(each.fields);
    // Of members with one name the last counts.
    const JsonValue error = refusal("/v1/chat/completions", chat(each.fields));
    EXPECT_EQ(text(error, "type"), "invalid_request_error");
    EXPECT_EQ(*member(error, "param"), JsonValue(each.param));
    EXPECT_FALSE(text(error, "message").empty());
    EXPECT_NE(member(error, "code"), nullptr);
  }
  EXPECT_TRUE(model_->requests().empty());
  document(
      "/v1/chat/completions",
      chat(
          R"("seed": null, "unknown": {"x": [1]}, "user": 7, "modalities": ["text"], "store": false)"));
  document("/v1/chat/completions",
           chat(R"("stop_token_ids": [], "allowed_token_ids": null, "bad_words": [],
                   "truncate_prompt_tokens": null, "structured_outputs": null)"));
  for (const char* path : {"/v1/embeddings", "/embedding"}) {
    const JsonValue error = refusal(path, R"({"input": "a", "truncate_prompt_tokens": 3})");
    EXPECT_EQ(text(error, "param"), "truncate_prompt_tokens") << path;
  }
}

// What other servers have and this one has not is refused, unless it asks for nothing.
TEST_F(ServeFields, FieldsOfOtherServersAreRefusedWhereTheyAskForSomething) {
  const std::string chats = "/v1/chat/completions", plain = "/v1/completions";
  const auto refused = [&](const std::string& path, const std::string& field,
                           const std::string& value) {
    const std::string fields = json_text(field) + ": " + value;
    const std::string body = path == chats             ? chat(fields)
                             : path == "/v1/responses" ? R"({"input": "a", )" + fields + "}"
                                                       : R"({"prompt": "a", )" + fields + "}";
    const JsonValue error = refusal(path, body);
    EXPECT_EQ(text(error, "param"), field) << path << value;
    EXPECT_NE(text(error, "message").find("expected "), std::string::npos) << field;
  };
  const struct {
    const char* name;
    const char* asks;
    const char* asks_nothing;
  } everywhere[] = {
      {"use_beam_search", "true", "false"},
      {"length_penalty", "2", "1.0"},
      {"best_of", "3", "1"},
      {"include_stop_str_in_output", "true", "false"},
      {"skip_special_tokens", "false", "true"},
      {"stop_token_ids", "[5]", "[]"},
      {"logits_processors", "[\"a\"]", "[]"},
      {"priority", "3", "0"},
      {"include_reasoning", "false", "true"},
      {"thinking_token_budget", "0", "-1"},
      {"return_token_ids", "true", "false"},
      {"lora", R"([{"id": 0, "scale": 1}])", "[]"},
      {"n_cmpl", "2", "1"},
      {"n_indent", "2", "0"},
      {"min_keep", "2", "1"},
      {"t_max_predict_ms", "100", "-1"},
      {"grammar_lazy", "true", "false"},
      {"response_fields", "[\"content\"]", "[]"},
      {"reasoning_format", "\"none\"", "\"auto\""},
      {"format", "\"json\"", "\"\""},
      {"format", R"({"type": "object"})", "null"},
      {"options", R"({"temperature": 0})", "{}"},
      {"think", "false", "null"},
      {"system", "\"Be brief.\"", "\"\""},
      {"images", "[\"a\"]", "[]"},
  };
  std::string nothing;
  for (const auto& each : everywhere) {
    for (const std::string path : {chats.c_str(), plain.c_str(), "/completion", "/v1/responses"}) {
      refused(path, each.name, each.asks);
    }
    nothing += ", " + json_text(each.name) + ": " + each.asks_nothing;
  }
  for (const char* name : {"prompt_logprobs", "echo", "return_tokens", "n_probs"}) {
    refused(chats, name, name == std::string("prompt_logprobs") ? "0" : "true");
  }
  refused(chats, "add_special_tokens", "true");
  refused(chats, "documents", R"([{"text": "a"}])");
  refused(chats, "parse_special", "true");
  refused(plain, "tools", "[{}]");
  refused(plain, "suffix", "\"b\"");
  refused("/completion", "echo", "true");
  refused("/completion", "prompt_logprobs", "1");
  refused("/v1/responses", "max_tokens", "5");
  refused("/v1/responses", "messages", "[]");
  EXPECT_TRUE(model_->requests().empty());
  document(chats, chat(nothing.substr(2)));
  document(plain, R"({"prompt": "a")" + nothing + "}");
  document("/completion", R"({"prompt": "a")" + nothing + "}");
  document("/v1/responses", R"({"input": "a")" + nothing + "}");
  EXPECT_EQ(text(refusal(chats, chat(R"("options": {"num_predict": 5})")), "message"),
            "options: is not supported; got an object, expected its members as fields of the "
            "request");
}

// "field: what is wrong; got ..., expected ...".
TEST_F(ServeFields, RefusalsSayWhatWasGivenAndWhatIsExpected) {
  const auto message_of = [&](const char* path, const std::string& body) {
    return text(refusal(path, body), "message");
  };
  const struct {
    const char* path;
    const char* body;
    const char* message;
  } cases[] = {
      {"/v1/completions", R"({"prompt": [3, 262]})",
       "prompt: is no token of the model; got 262, expected 0 to 261"},
      {"/v1/completions", R"({"prompt": ["a", [5, -1]]})",
       "prompt[1]: is no token of the model; got -1, expected 0 to 261"},
      {"/v1/completions", R"({"prompt": "a", "logit_bias": {"x": 1}})",
       R"(logit_bias: is no token of the model; got "x", expected 0 to 261)"},
      {"/v1/completions", R"({"prompt": "a", "logit_bias": [[300, 1]]})",
       "logit_bias: is no token of the model; got 300, expected 0 to 261"},
      {"/v1/embeddings", R"({"input": [5, 1.5]})",
       "input: is no token of the model; got 1.5, expected 0 to 261"},
      {"/detokenize", R"({"tokens": ["a"]})",
       R"(tokens: is no token of the model; got "a", expected 0 to 261)"},
      {"/detokenize", "{}", "tokens: is missing; expected an array of tokens"},
      {"/tokenize", "{}", "content: is missing; expected a string"},
      {"/tokenize", R"({"content": {"a": 1}})",
       "content: is of the wrong type; got an object, expected a string"},
      {"/v1/embeddings", R"({"input": []})",
       "input: is empty; expected a string, tokens, or an array of these"},
      {"/v1/completions", R"({"prompt": "a", "temperature": "hot"})",
       R"(temperature: is of the wrong type; got "hot", expected a number)"},
      {"/v1/chat/completions", R"({"messages": [7]})",
       "messages[0]: is of the wrong type; got 7, expected an object"},
      {"/v1/chat/completions", R"({"messages": [{"role": "user", "content": [true]}]})",
       "messages[0].content[0]: is of the wrong type; got true, expected an object"},
      {"/v1/responses", R"({"input": [{"role": "user", "content": [{"type": "input_image"}]}]})",
       "input[0].content: a part of a kind that the model does not take; got \"input_image\", "
       "expected \"input_text\", \"output_text\", \"text\", \"reasoning_text\" or "
       "\"summary_text\""},
  };
  for (const auto& each : cases) EXPECT_EQ(message_of(each.path, each.body), each.message);
  const std::string long_text(300, 'x');
  EXPECT_EQ(
      message_of("/v1/completions", R"({"prompt": "a", "top_p": ")" + long_text + "\"}"),
      "top_p: is of the wrong type; got \"" + long_text.substr(0, 99) + "..., expected a number");
}

TEST_F(ServeFields, LimitsHaveSeveralNames) {
  for (const char* fields :
       {R"("max_tokens": -1)", R"("n_predict": -1)", R"("max_tokens": null)"}) {
    document("/v1/completions", R"({"prompt": "a", )" + std::string(fields) + "}");
    EXPECT_EQ(model_->requests().back().most_tokens, 1000) << fields;
  }
  document("/v1/completions", R"({"prompt": "a", "n_predict": 2})");
  EXPECT_EQ(model_->requests().back().most_tokens, 2);
  document("/v1/chat/completions", chat(R"("max_tokens": -1)"));
  EXPECT_EQ(model_->requests().back().most_tokens, 1000);
  for (const char* name : {"max_tokens", "max_completion_tokens", "n_predict"}) {
    const std::string field = "\"" + std::string(name) + "\": ";
    EXPECT_EQ(text(refusal("/v1/chat/completions", chat(field + "0")), "param"), name);
    EXPECT_EQ(text(refusal("/v1/chat/completions", chat(field + "-2")), "param"), name);
  }
}

TEST_F(ServeFields, FormatsAreGrammars) {
  const auto matcher = [&](const std::string& fields) {
    document("/v1/chat/completions", chat(fields));
    return models::grammar::GrammarMatcher(model_->requests().back().constraint);
  };
  auto any = matcher(R"("response_format": {"type": "json_object"})");
  EXPECT_FALSE(accept_text(any, "["));
  EXPECT_TRUE(accept_text(any, R"({"x": [1, null]})"));
  auto schema = matcher(R"("response_format": {"type": "json_schema", "json_schema":
      {"name": "s", "strict": true, "schema": {"enum": ["yes", "no"]}}})");
  EXPECT_TRUE(accept_text(schema, "\"no\""));
  auto gbnf = matcher(R"("grammar": "root ::= [0-9]{2}")");
  EXPECT_FALSE(accept_text(gbnf, "a"));
  EXPECT_TRUE(accept_text(gbnf, "42"));
  for (const char* field :
       {R"("json_schema": {"enum": ["yes", "no"]})", R"("guided_json": {"enum": ["yes", "no"]})",
        R"("guided_json": "{\"enum\": [\"yes\", \"no\"]}")",
        R"("structured_outputs": {"json": {"enum": ["yes", "no"]}, "choice": null})",
        R"("structured_outputs": {"json": "{\"enum\": [\"yes\", \"no\"]}"})",
        R"("structured_outputs": {"grammar": "root ::= \"\\\"no\\\"\""})"}) {
    auto other = matcher(field);
    EXPECT_TRUE(accept_text(other, "\"no\"")) << field;
    auto unquoted = matcher(field);
    EXPECT_FALSE(accept_text(unquoted, "n")) << field;
  }
  auto object =
      matcher(R"("structured_outputs": {"json_object": true, "disable_fallback": false})");
  EXPECT_TRUE(accept_text(object, R"({"x": 1})"));
  for (const char* free : {R"("response_format": {"type": "text"})", R"("grammar": "")"}) {
    document("/v1/chat/completions", chat(free));
    EXPECT_EQ(model_->requests().back().constraint, nullptr) << free;
  }
  auto beside = matcher(R"("json_schema": {"const": 1}, "grammar": "")");
  EXPECT_TRUE(accept_text(beside, "1"));
}

TEST_F(ServeFields, GrammarsThatAllowNoTextAreRefused) {
  for (const char* gbnf : {"root ::= []", "root ::= <[99999999]>", R"(root ::= \"a\" root)",
                           "root ::= <|im_end|>", "root ::= <[2]>"}) {
    const JsonValue error =
        refusal("/v1/chat/completions", chat("\"grammar\": \"" + std::string(gbnf) + "\""));
    EXPECT_EQ(text(error, "param"), "grammar");
    EXPECT_EQ(text(error, "message").find("grammar: "), text(error, "message").rfind("grammar: "));
  }
  const JsonValue error = refusal("/v1/chat/completions",
                                  chat(R"("response_format": {"type": "json_schema", "json_schema":
      {"name": "s", "schema": {"type": "object", "properties": {"a": {"$ref": "#"}},
       "required": ["a"]}}})"));
  EXPECT_EQ(text(error, "param"), "response_format");
}

TEST_F(ServeFields, BiasesLeaveAToken) {
  std::string all;
  for (std::size_t token = 0; token + 1 < model_->tokenizer().size(); ++token) {
    all += "\"" + std::to_string(token) + "\": -100, ";
  }
  const std::string last = "\"" + std::to_string(model_->tokenizer().size() - 1) + "\": ";
  document("/v1/chat/completions", chat("\"logit_bias\": {" + all + last + "-99}"));
  const JsonValue error =
      refusal("/v1/chat/completions", chat("\"logit_bias\": {" + all + last + "-100}"));
  EXPECT_EQ(text(error, "param"), "logit_bias");
}

// What only shows while an answer is written is the request's fault, too, in streams as well.
TEST_F(ServeFields, BansThatLeaveNoTokenLater) {
  model_->failure = "generate: no token can be drawn";
  model_->failure_code = ErrorCode::invalid_argument;
  for (const char* field : {R"("logit_bias": {"7": -100})", R"("grammar": "root ::= \"a\"")"}) {
    const JsonValue error = refusal("/v1/chat/completions", chat(field));
    EXPECT_EQ(text(error, "type"), "invalid_request_error");
    const ApiResponse streamed =
        ask("POST", "/v1/chat/completions", chat(std::string(field) + R"(, "stream": true)"));
    TextSink sink;
    streamed.stream(sink);
    EXPECT_NE(sink.all.find("invalid_request_error"), std::string::npos) << sink.all;
  }
  refusal("/v1/chat/completions", chat(), 500);  // without either it is not
}

TEST_F(ServeFields, BodiesThatNobodyVouchesFor) {
  const std::string deep = std::string(100, '[') + std::string(100, ']');
  std::string many = "[0";
  for (int i = 0; i < 1 << 20; ++i) many += ",0";
  many += "]";
  for (const std::string& body :
       {std::string(), std::string("{"), std::string("[]"), std::string("\xff\xfe"),
        std::string("{\"messages\": \"\xc3\"}"), R"({"messages": )" + deep + "}",
        R"({"messages": )" + many + "}", std::string("{\"a\": \"\\ud800\"}"),
        std::string("{\"messages\": 1e999}")}) {
    for (const char* path : {"/v1/chat/completions", "/v1/completions", "/v1/embeddings",
                             "/tokenize", "/detokenize"}) {
      refusal(path, body);
    }
  }
}

TEST_F(ServeFields, NumbersBeyondADoubleAreNamed) {
  const JsonValue error =
      refusal("/v1/completions", R"({"prompt":"a","max_tokens":1,"temperature":1e400})");
  EXPECT_EQ(text(error, "param"), "temperature");
  EXPECT_EQ(text(error, "message"),
            "temperature: a number is beyond those of a double; got 1e400, expected less than "
            "1.8e308, and more than -1.8e308");
  const JsonValue within = refusal("/v1/completions", R"({"logit_bias": {"1": -2e999}})");
  EXPECT_EQ(text(within, "param"), "logit_bias.1");
}

TEST_F(ServeFields, HalvesOfSurrogatePairsAreNamed) {
  for (const auto& [body, param] : std::vector<std::pair<std::string, std::string>>{
           {R"({"messages": [{"role": "user", "content": "a"}, {"content": "x\ud800y"}]})",
            "messages[1].content"},
           {R"({"messages": [{"role": "user", "content": "a\udc00"}]})", "messages[0].content"},
           {R"({"a": null, "stop": ["b", "\ud83d\ud83d"]})", "stop[1]"},
           {R"({"a": {"b": [[], {}, [1, "\ud800"]]}})", "a.b[2][1]"},
           {R"({"a": {"b": 1, "\udfff": 2}})", "a"}}) {
    const JsonValue error = refusal("/v1/chat/completions", body);
    EXPECT_EQ(text(error, "param"), param) << body;
    EXPECT_NE(text(error, "message").find("half of a surrogate pair"), std::string::npos) << body;
  }
  const JsonValue bytes = refusal("/v1/completions", "{\"prompt\": \"surrogate U+\xff\"}");
  EXPECT_EQ(text(bytes, "message"), "prompt: a string has bytes that are no UTF-8; expected UTF-8");
  EXPECT_EQ(text(refusal("/v1/completions", R"({"prompt": "a",})"), "message"),
            "the body is no JSON, as byte 16 shows; expected an object");
  EXPECT_EQ(json_text(document("/tokenize", R"({"content": "\ud83d\ude42"})")),
            R"({"tokens":[245,164,158,135]})");
}

// Bytes count by --max-body alone; of what they hold, only values do.
TEST_F(ServeFields, LargeBodiesThatAreLegalPass) {
  const std::string spaces(std::size_t{6} << 20, ' ');
  const std::string body = R"({"messages": [{"role": "user",)" + spaces + R"("content": "hi"}],)" +
                           spaces + R"("user": ")" + std::string(std::size_t{2} << 20, ',') + "\"" +
                           spaces + "}\n";
  EXPECT_EQ(text(message(document("/v1/chat/completions", body)), "content"), "Hello!");
  std::string numbers = "[0";
  for (int i = 0; i < 500'000; ++i) numbers += ", 1";
  document("/v1/chat/completions", chat("\"metadata\": {\"x\": " + numbers + "]}"));
}

}  // namespace
}  // namespace hearth::tools::serve
