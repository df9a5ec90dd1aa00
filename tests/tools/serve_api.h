// What tests of the API ask it with: in their own process, of a scripted model, without sockets.
#pragma once

#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json.h"
#include "tools/json_check.h"
#include "tools/scripted_model.h"
#include "tools/serve/api.h"

namespace hearth::tools::serve {

class TextSink final : public Sink {
 public:
  bool write(std::string_view bytes) override {
    all += bytes;
    return all.size() < most;
  }
  std::string all;
  std::size_t most = std::numeric_limits<std::size_t>::max();
};

class ServeApi : public ::testing::Test {
 protected:
  void begin(ApiOptions options = {}) {
    api_ = std::make_unique<Api>(std::move(options));
    api_->set_model(model_);
  }
  ApiResponse ask(const std::string& method, const std::string& path, const std::string& body = "",
                  const std::string& authorization = "", const std::string& origin = "") {
    if (api_ == nullptr) begin();
    return api_->answer({.method = method,
                         .path = path,
                         .body = body,
                         .authorization = authorization,
                         .origin = origin,
                         .is_open = {}});
  }
  JsonValue document(const std::string& path, const std::string& body, int status = 200) {
    const ApiResponse response = ask("POST", path, body);
    EXPECT_EQ(response.status, status) << response.body;
    EXPECT_FALSE(response.stream);
    return parse_json(response.body).value_or(nullptr);
  }
  // The error object of what is refused.
  JsonValue refusal(const std::string& path, const std::string& body, int status = 400) {
    const JsonValue all = document(path, body, status);
    const JsonValue* error = check::member(all, "error");
    return error == nullptr ? JsonValue(nullptr) : *error;
  }
  // The documents of an event stream, which must end as it should.
  std::vector<JsonValue> chunks(const std::string& path, const std::string& body) {
    const ApiResponse response = ask("POST", path, body);
    EXPECT_EQ(response.status, 200) << response.body;
    EXPECT_EQ(response.content_type, "text/event-stream");
    if (!response.stream) return {};
    TextSink sink;
    response.stream(sink);
    const std::string end = "data: [DONE]\n\n";
    EXPECT_TRUE(sink.all.ends_with(end)) << sink.all;
    std::vector<JsonValue> all;
    for (std::size_t at = 0; at + end.size() < sink.all.size();) {
      const std::size_t next = sink.all.find("\n\n", at);
      EXPECT_EQ(sink.all.compare(at, 6, "data: "), 0);
      all.push_back(parse_json(sink.all.substr(at + 6, next - at - 6)).value_or(nullptr));
      at = next + 2;
    }
    return all;
  }
  static std::string chat(const std::string& fields = "", const std::string& content = "hi") {
    return R"({"messages": [{"role": "user", "content": ")" + content + "\"}]" +
           (fields.empty() ? "" : ", " + fields) + "}";
  }
  static const JsonValue& first_choice(const JsonValue& document) {
    return check::list(document, "choices")[0];
  }
  static const JsonValue& message(const JsonValue& document) {
    return *check::member(first_choice(document), "message");
  }

  std::shared_ptr<testing::ScriptedModel> model_ = std::make_shared<testing::ScriptedModel>();
  std::unique_ptr<Api> api_;
};

}  // namespace hearth::tools::serve
