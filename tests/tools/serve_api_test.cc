// Routes, keys, and what the server says of itself; how answers end that nobody waits for.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "tools/serve_api.h"

namespace hearth::tools::serve {
namespace {

using check::list;
using check::member;
using check::text;

TEST_F(ServeApi, ModelsSlotsAndTemplatesAreTold) {
  const JsonValue model = parse_json(ask("GET", "/v1/models/scripted").body).value_or(nullptr);
  EXPECT_EQ(text(model, "id"), "scripted");
  EXPECT_EQ(text(model, "object"), "model");
  const ApiResponse unknown = ask("GET", "/v1/models/a/b");
  EXPECT_EQ(unknown.status, 404);
  EXPECT_EQ(text(*member(parse_json(unknown.body).value_or(nullptr), "error"), "code"),
            "model_not_found");
  EXPECT_EQ(ask("GET", "/v1/models/").status, 404);
  EXPECT_EQ(ask("POST", "/v1/models/scripted").status, 405);
  EXPECT_EQ(ask("GET", "/slots").body,
            R"([{"id":0,"id_task":7,"n_ctx":1000,"is_processing":true,"n_prompt_tokens":9,)"
            R"("n_prompt_tokens_processed":9,"n_prompt_tokens_cache":4,"next_token":)"
            R"({"has_next_token":true,"n_remain":5,"n_decoded":3}},)"
            R"({"id":1,"n_ctx":1000,"is_processing":false}])");
  const JsonValue props = parse_json(ask("GET", "/props").body).value_or(nullptr);
  EXPECT_EQ(*member(props, "total_slots"), JsonValue(std::int64_t{2}));
  EXPECT_EQ(*member(*member(props, "default_generation_settings"), "n_ctx"),
            JsonValue(std::int64_t{1000}));
  EXPECT_EQ(text(document("/apply-template", chat()), "prompt"),
            "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n");
  EXPECT_EQ(text(document("/apply-template", chat(R"("chat_template_kwargs": {"think": true})")),
                 "prompt"),
            "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n<think>\n");
  EXPECT_EQ(text(document("/apply-template", chat(R"("add_generation_prompt": false)")), "prompt"),
            "<|im_start|>user\nhi<|im_end|>\n");
  EXPECT_EQ(text(refusal("/apply-template", chat(R"("add_generation_prompt": 1)")), "param"),
            "add_generation_prompt");
  EXPECT_EQ(text(refusal("/apply-template", "{}"), "param"), "messages");
  EXPECT_EQ(json_text(*member(
                document("/tokenize", R"({"content": "a\u00e9", "with_pieces": true})"), "tokens")),
            R"([{"id":102,"piece":"a"},{"id":200,"piece":[195]},{"id":174,"piece":[169]}])");
}

TEST_F(ServeApi, TokensThereAndBack) {
  const JsonValue tokens = document("/tokenize", R"({"content": "a<|im_end|>"})");
  EXPECT_EQ(list(tokens, "tokens").size(), 11u);
  EXPECT_EQ(
      list(document("/tokenize", R"({"content": "a<|im_end|>", "parse_special": true})"), "tokens")
          .size(),
      2u);
  EXPECT_EQ(text(document("/detokenize", R"({"tokens": [102, 4]})"), "content"), "a<|im_end|>");
  refusal("/detokenize", R"({"tokens": [99999999999]})");
}

TEST_F(ServeApi, RoutesMethodsAndKeys) {
  EXPECT_EQ(ask("GET", "/v1/nothing").status, 404);
  const ApiResponse wrong = ask("GET", "/v1/completions");
  EXPECT_EQ(wrong.status, 405);
  EXPECT_EQ(ask("DELETE", "/health").status, 405);
  EXPECT_EQ(ask("GET", "/v1/models").status, 200);
  EXPECT_EQ(ask("HEAD", "/models").status, 200);
  const std::string metrics = ask("GET", "/metrics").body;
  for (const char* line :
       {"\nhearth_generated_tokens_total 0\n", "\nhearth_draft_tokens_total 20\n",
        "\nhearth_accepted_tokens_total 13\n"}) {
    EXPECT_NE(metrics.find(line), std::string::npos) << metrics;
  }
  EXPECT_EQ(ask("GET", "/props").status, 200);
  EXPECT_NE(ask("GET", "/").body.find("<title>Hearth</title>"), std::string::npos);
  begin({.keys = {"one", "two"}, .origins = {}});
  EXPECT_EQ(ask("GET", "/v1/models").status, 401);
  for (const char* bad : {"Bearer", "Bearer ", "Bearer on", "Bearer onee", "Basic one", "one"}) {
    EXPECT_EQ(ask("GET", "/v1/models", "", bad).status, 401) << bad;
  }
  EXPECT_EQ(ask("GET", "/v1/models", "", "Bearer one").status, 200);
  for (const char* good : {"Bearer two", "bearer two", "BEARER two", "Bearer  two"}) {
    EXPECT_EQ(ask("GET", "/v1/models", "", good).status, 200) << good;
  }
  EXPECT_EQ(ask("GET", "/health").status, 200);
  EXPECT_EQ(ask("GET", "/").status, 200);
}

TEST_F(ServeApi, PageAndMetricsAreNotThereWhereTurnedOff) {
  const auto fault = [&](const std::string& method, const std::string& path, int status) {
    const ApiResponse response = ask(method, path);
    EXPECT_EQ(response.status, status) << method << " " << path;
    EXPECT_EQ(response.content_type, "application/json");
    const JsonValue all = parse_json(response.body).value_or(nullptr);
    const JsonValue* error = check::member(all, "error");
    return error == nullptr ? std::string() : text(*error, "message");
  };
  begin({.keys = {}, .origins = {}, .has_page = false});
  EXPECT_EQ(fault("GET", "/", 404), "there is no / here; the server was started with --no-page");
  EXPECT_NE(fault("POST", "/", 404), "");
  EXPECT_EQ(ask("GET", "/metrics").status, 200);
  begin({.keys = {}, .origins = {}, .has_metrics = false});
  EXPECT_EQ(fault("GET", "/metrics", 404),
            "there is no /metrics here; the server was started with --no-metrics");
  EXPECT_NE(fault("GET", "/v1/metrics", 404), "");
  EXPECT_EQ(ask("GET", "/").status, 200);
  EXPECT_EQ(ask("GET", "/health").status, 200);
  // What is turned off is told to nobody without the key.
  begin({.keys = {"one"}, .origins = {}, .has_metrics = false});
  EXPECT_EQ(ask("GET", "/metrics").status, 401);
}

TEST_F(ServeApi, OtherOriginsOnlyWhereAllowed) {
  const auto allowed = [&](const std::string& method, const std::string& origin) {
    for (const auto& [name, value] : ask(method, "/v1/models", "", "", origin).headers) {
      if (name == "Access-Control-Allow-Origin") return value;
    }
    return std::string();
  };
  EXPECT_EQ(allowed("GET", "http://a"), "");
  begin({.keys = {}, .origins = {"http://a"}});
  EXPECT_EQ(allowed("GET", "http://a"), "http://a");
  EXPECT_EQ(allowed("OPTIONS", "http://a"), "http://a");
  EXPECT_EQ(allowed("GET", "http://b"), "");
  begin({.keys = {"k"}, .origins = {"*"}});
  EXPECT_EQ(allowed("GET", "http://b"), "*");
  EXPECT_EQ(ask("OPTIONS", "/v1/chat/completions").status, 204);
  // What clients add to requests is allowed by the names that the preflight gives.
  ApiRequest asked;
  asked.method = "OPTIONS";
  asked.path = "/v1/models";
  asked.origin = "http://b";
  asked.asked_headers = "content-type,x-stainless-os";
  const ApiResponse preflight = api_->answer(asked);
  const auto allows = [&](const std::pair<std::string, std::string>& header) {
    return header.first == "Access-Control-Allow-Headers" &&
           header.second == "content-type,x-stainless-os";
  };
  EXPECT_TRUE(std::any_of(preflight.headers.begin(), preflight.headers.end(), allows));
}

TEST_F(ServeApi, LoadingStoppingAndFullQueues) {
  api_ = std::make_unique<Api>(ApiOptions{});
  EXPECT_EQ(ask("GET", "/health").status, 503);
  EXPECT_EQ(ask("POST", "/v1/completions", "{}").status, 503);
  api_->set_model(model_);
  EXPECT_EQ(ask("GET", "/health").status, 200);
  model_->has_full_queue = true;
  const ApiResponse full = ask("POST", "/v1/completions", R"({"prompt": "a", "stream": true})");
  EXPECT_EQ(full.status, 429);
  EXPECT_EQ(full.headers.at(0).first, "Retry-After");
  EXPECT_NE(full.body.find(R"("code":"queue_full")"), std::string::npos) << full.body;
  model_->has_full_queue = false;
  model_->is_failing = true;
  EXPECT_EQ(ask("GET", "/health").status, 503);
  EXPECT_EQ(ask("GET", "/v1/models").status, 200);
  model_->is_failing = false;
  EXPECT_EQ(ask("GET", "/health").status, 200);
  api_->stop();
  EXPECT_EQ(ask("GET", "/health").status, 503);
  EXPECT_EQ(ask("POST", "/v1/completions", R"({"prompt": "a"})").status, 503);
}

// Before a request, while its texts are encoded, and in the midst of an answer of either form.
TEST_F(ServeApi, WhatAStoppingServerEndsIsRefusedAlike) {
  model_->says = [](const auto&) { return std::string(100'000, 'x'); };
  model_->pause = std::chrono::milliseconds(1);
  const std::string large(std::size_t{3} << 20, 'x');
  const auto error_of = [&](const std::string& path, const std::string& body) {
    begin();
    const ApiResponse response = api_->answer({.method = "POST",
                                               .path = path,
                                               .body = body,
                                               .authorization = {},
                                               .origin = {},
                                               .is_open = [&] {
                                                 api_->stop();
                                                 return true;
                                               }});
    if (!response.stream) {
      EXPECT_EQ(response.status, 503) << path;
      return response.body;
    }
    TextSink sink;
    response.stream(sink);
    const std::size_t last = sink.all.rfind("data: ") + 6;
    return sink.all.substr(last, sink.all.find('\n', last) - last);
  };
  const std::string prompt = R"({"prompt": "a", "max_tokens": 900})";
  begin();
  api_->stop();
  const std::string expected = ask("POST", "/v1/completions", prompt).body;
  EXPECT_NE(expected.find("unavailable_error"), std::string::npos) << expected;
  EXPECT_EQ(error_of("/tokenize", R"({"content": ")" + large + "\"}"), expected);
  EXPECT_EQ(error_of("/v1/completions", prompt), expected);
  EXPECT_EQ(error_of("/v1/chat/completions", chat(R"("stream": true)")), expected);
}

TEST_F(ServeApi, FailuresOfAnAnswer) {
  model_->failure = "the device is gone";
  const JsonValue error = refusal("/v1/chat/completions", chat(), 500);
  EXPECT_EQ(text(error, "message"), "the device is gone");
  const ApiResponse response = ask("POST", "/v1/chat/completions", chat(R"("stream": true)"));
  TextSink sink;
  response.stream(sink);
  EXPECT_NE(sink.all.find("data: {\"error\":"), std::string::npos) << sink.all;
  EXPECT_EQ(sink.all.find("[DONE]"), std::string::npos);
}

// Before an answer and within it: nobody's queue is full then.
TEST_F(ServeApi, WhatThereIsNoMemoryForIsNoFullQueue) {
  for (const bool is_refused : {true, false}) {
    model_->has_no_memory = is_refused;
    model_->failure = "no memory for the text";
    model_->failure_code = ErrorCode::out_of_memory;
    const JsonValue error = refusal("/v1/completions", R"({"prompt": "a"})", 503);
    EXPECT_EQ(text(error, "message"), "no memory for the text");
    EXPECT_EQ(text(error, "type"), "server_error");
    EXPECT_EQ(*check::member(error, "code"), JsonValue(nullptr));
  }
}

// What no refusal can be made of is the transport's, which ends the connection.
TEST_F(ServeApi, WhatCannotBeToldIsThrown) {
  begin();
  EXPECT_THROW(api_->answer({.method = "POST",
                             .path = "/embedding",
                             .body = R"({"content": "a"})",
                             .authorization = {},
                             .origin = {},
                             .is_open = []() -> bool { throw 1; }}),
               int);
  EXPECT_EQ(ask("GET", "/health").status, 200);
}

TEST_F(ServeApi, WhoGoesAwayIsAnsweredNoMore) {
  model_->says = [](const auto&) { return std::string(100'000, 'x'); };
  model_->pause = std::chrono::milliseconds(1);
  begin();
  const ApiResponse response = ask("POST", "/v1/chat/completions", chat(R"("stream": true)"));
  TextSink sink;
  sink.most = 1000;
  response.stream(sink);
  int asked = 0;
  const ApiResponse whole = api_->answer({.method = "POST",
                                          .path = "/v1/completions",
                                          .body = R"({"prompt": "a", "max_tokens": 900})",
                                          .authorization = {},
                                          .origin = {},
                                          .is_open = [&] { return ++asked < 2; }});
  EXPECT_EQ(whole.status, 503);
  // A response that nobody reads cancels, too.
  {
    const ApiResponse unread = ask("POST", "/v1/chat/completions", chat(R"("stream": true)"));
  }
  for (int i = 0; i < 500 && model_->cancelled < 3; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(model_->cancelled, 3);
}

TEST_F(ServeApi, AStreamWithoutNewsIsKeptAlive) {
  model_->says = [](const auto&) { return std::string("x"); };
  model_->pause = std::chrono::milliseconds(300);
  begin({.keys = {}, .origins = {}, .ping = std::chrono::milliseconds(20)});
  const ApiResponse response = ask("POST", "/v1/chat/completions", chat(R"("stream": true)"));
  TextSink sink;
  response.stream(sink);
  EXPECT_NE(sink.all.find("\n\n: ping\n\n"), std::string::npos) << sink.all;
  EXPECT_TRUE(sink.all.ends_with("data: [DONE]\n\n"));
}

TEST_F(ServeApi, AStreamAsksOnceWhetherSomebodyReads) {
  model_->says = [](const auto&) { return std::string("x"); };
  model_->pause = std::chrono::milliseconds(300);
  begin({.keys = {}, .origins = {}, .ping = std::chrono::hours(1)});
  const ApiResponse response = api_->answer({.method = "POST",
                                             .path = "/v1/chat/completions",
                                             .body = chat(R"("stream": true)"),
                                             .authorization = {},
                                             .origin = {},
                                             .is_open = {},
                                             .may_be_gone = [] { return true; }});
  TextSink sink;
  response.stream(sink);
  const std::size_t first = sink.all.find(": ping\n\n");
  EXPECT_NE(first, std::string::npos) << sink.all;
  EXPECT_EQ(sink.all.find(": ping\n\n", first + 1), std::string::npos) << sink.all;
}

}  // namespace
}  // namespace hearth::tools::serve
