// Prompts that are written already: what a template made of a chat is a completion's prompt.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tools/json_check.h"
#include "tools/serve/api.h"
#include "tools/serve/loaded_service.h"
#include "tools/serve_api.h"
#include "tools/signs_model.h"
#include "tools/tool_folder.h"

namespace hearth::tools::serve {
namespace {

using check::list;
using check::member;
using check::text;

using Tokens = std::vector<std::int32_t>;

std::int64_t integer(const JsonValue& object, const std::string& name) {
  return std::get<std::int64_t>(*member(object, name));
}

// Of a scripted model, whose texts begin with no token.
class ServeRawPrompts : public ServeApi {
 protected:
  Tokens asked(const std::string& path, const std::string& prompt, const std::string& fields = "") {
    document(path, R"({"prompt": )" + prompt + fields + "}");
    return model_->requests().back().tokens;
  }
};

TEST_F(ServeRawPrompts, TextsOfControlTokensAreTheseTokens) {
  for (const char* path : {"/v1/completions", "/completion"}) {
    EXPECT_EQ(asked(path, R"("a<|im_end|>")"), (Tokens{102, 4})) << path;
    EXPECT_EQ(asked(path, R"("a<|im_end|>")", R"(, "parse_special": true)"), (Tokens{102, 4}));
    EXPECT_EQ(asked(path, R"(["a<s>", 12, "</s>"])"), (Tokens{102, 1, 12, 2}));
    const Tokens letters = model_->tokenizer().encode("a<|im_end|>");
    EXPECT_EQ(letters.size(), 11u);
    EXPECT_EQ(asked(path, R"("a<|im_end|>")", R"(, "parse_special": false)"), letters);
    EXPECT_EQ(asked(path, R"(["a<|im_end|>", 12])", R"(, "parse_special": false)").size(), 12u);
    EXPECT_EQ(text(refusal(path, R"({"prompt": "a", "parse_special": 1})"), "param"),
              "parse_special");
    EXPECT_EQ(text(refusal(path, R"({"prompt": "a", "add_special_tokens": "no"})"), "param"),
              "add_special_tokens");
  }
}

TEST_F(ServeRawPrompts, MessagesStayLetters) {
  for (const char* path : {"/v1/chat/completions", "/apply-template"}) {
    document(path, chat(R"("parse_special": false)", "<|im_end|>"));
    EXPECT_EQ(text(refusal(path, chat(R"("parse_special": true)", "<|im_end|>")), "param"),
              "parse_special");
  }
}

// Of a model whose texts begin with <s>, which its template writes itself.
class ServeRenderedPrompts : public ToolFolder {
 protected:
  void begin(const std::string& chat_template) {
    write_signs_model(path("m.gguf"), "qwen3", chat_template);
    service_ = std::make_shared<LoadedService>(models::load_language_model(path("m.gguf")), "m",
                                               models::SchedulerOptions{.cache_bytes = 16 << 20});
    api_ = std::make_unique<Api>(ApiOptions{});
    api_->set_model(service_);
  }
  JsonValue document(const std::string& where, const JsonObject& fields) {
    JsonObject body = {{"temperature", std::int64_t{0}}, {"max_tokens", std::int64_t{8}}};
    body.insert(body.end(), fields.begin(), fields.end());
    const ApiResponse response = api_->answer({.method = "POST",
                                               .path = where,
                                               .body = json_text(body),
                                               .authorization = {},
                                               .origin = {},
                                               .is_open = {}});
    EXPECT_EQ(response.status, 200) << response.body;
    return parse_json(response.body).value_or(nullptr);
  }
  static JsonObject message(const char* role, std::int32_t token) {
    return {{"role", role}, {"content", sign(token) + sign(token + 1)}};
  }

  std::shared_ptr<LoadedService> service_;
  std::unique_ptr<Api> api_;
};

TEST_F(ServeRenderedPrompts, AreAnsweredAsTheChatIs) {
  const std::string writes_none =
      std::string(kSignsTemplate).substr(std::string("{{ '<s>' }}").size());
  for (const std::string& chat_template : {std::string(kSignsTemplate), writes_none}) {
    begin(chat_template);
    const JsonObject messages = {
        {"messages", JsonArray{message("user", 5), message("assistant", 20), message("user", 31)}}};
    const std::string prompt = text(document("/apply-template", messages), "prompt");
    EXPECT_EQ(prompt, "<s>" + sign(5) + sign(6) + "\xe4\xb8\x89" + sign(20) + sign(21) + "</s>" +
                          sign(31) + sign(32) + "\xe4\xb8\x89");
    const JsonValue chat = document("/v1/chat/completions", messages);
    const std::string answer = text(*member(list(chat, "choices")[0], "message"), "content");
    EXPECT_FALSE(answer.empty());
    EXPECT_EQ(integer(*member(chat, "usage"), "prompt_tokens"), 10);
    const JsonObject raw = {{"prompt", prompt}};
    const JsonValue own = document("/completion", raw);
    EXPECT_EQ(text(own, "content"), answer);
    EXPECT_EQ(integer(own, "tokens_evaluated"), 10);
    EXPECT_EQ(text(own, "prompt"), prompt);
    const JsonValue plain = document("/v1/completions", raw);
    EXPECT_EQ(text(list(plain, "choices")[0], "text"), answer);
    EXPECT_EQ(integer(*member(plain, "usage"), "prompt_tokens"), 10);
    EXPECT_EQ(text(list(document("/v1/completions", {{"prompt", JsonArray{prompt}}}), "choices")[0],
                   "text"),
              answer);
  }
}

TEST_F(ServeRenderedPrompts, AreBegunOnceUnlessNothingIsAdded) {
  begin(kSignsTemplate);
  const auto count = [&](JsonValue prompt, const JsonObject& fields = {}) {
    JsonObject all = {{"prompt", std::move(prompt)}};
    all.insert(all.end(), fields.begin(), fields.end());
    return integer(document("/completion", all), "tokens_evaluated");
  };
  const std::string bare = sign(5) + sign(6);
  EXPECT_EQ(count(bare), 3);
  EXPECT_EQ(count("<s>" + bare), 3);
  EXPECT_EQ(count("<s><s>" + bare), 4);
  EXPECT_EQ(count(JsonArray{"<s>" + bare, std::int64_t{7}}), 4);
  EXPECT_EQ(count(JsonArray{bare, std::int64_t{7}}), 4);
  EXPECT_EQ(count(""), 1);
  const JsonObject none = {{"add_special_tokens", false}};
  EXPECT_EQ(count(bare, none), 2);
  EXPECT_EQ(count("<s>" + bare, none), 3);
  EXPECT_EQ(count(JsonArray{bare, std::int64_t{7}}, none), 3);
  // Letters that are no signs are a token each.
  EXPECT_EQ(count("<s>" + bare, {{"parse_special", false}}), 6);
}

}  // namespace
}  // namespace hearth::tools::serve
