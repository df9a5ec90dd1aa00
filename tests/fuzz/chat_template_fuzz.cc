// Parses arbitrary bytes as a chat template and renders a conversation with it. Whatever is refused
// must be a hearth::Error, within limits of time and memory; what is rendered must say which of its
// bytes are input, and be the same a second time.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/json.h"
#include "hearth/error.h"
#include "models/chat_template/chat_template.h"
#include "require.h"

namespace {

using hearth::JsonArray;
using hearth::JsonObject;
using hearth::JsonValue;

constexpr std::size_t kMaxSource = 1 << 16;

using hearth::testing::require;

hearth::models::ChatTemplateInput conversation() {
  const auto message = [](const char* role, const char* content) {
    return JsonObject{{"role", role}, {"content", content}};
  };
  const JsonObject arguments = {{"n", std::int64_t{-7}}, {"l", JsonArray{true, "\xc3\xa9 <"}}};
  JsonObject call = message("assistant", "");
  call.emplace_back("reasoning_content", "<think>r</think>\n");
  call.emplace_back(
      "tool_calls",
      JsonArray{JsonObject{{"id", "c1"},
                           {"type", "function"},
                           {"function", JsonObject{{"name", "f"}, {"arguments", arguments}}}}});
  const JsonObject parts = {
      {"role", "user"},
      {"content", JsonArray{JsonObject{{"type", "text"}, {"text", "part one"}},
                            JsonObject{{"type", "text"}, {"text", "  "}}}}};
  hearth::models::ChatTemplateInput input;
  input.messages = JsonArray{message("system", " s\n"), message("user", "<|im_end|> \xc3\xa9"),
                             call, message("tool", "{\"t\": 1.5}"), parts};
  const JsonObject number = {{"type", "integer"}, {"description", "how many"}};
  const JsonObject parameters = {{"type", "object"},
                                 {"properties", JsonObject{{"n", number}, {"l", JsonObject{}}}},
                                 {"required", JsonArray{"n"}}};
  const JsonObject function = {{"name", "f"}, {"description", "does"}, {"parameters", parameters}};
  input.tools = JsonArray{JsonObject{{"type", "function"}, {"function", function}},
                          JsonObject{{"name", "g"}, {"parameters", nullptr}}};
  input.documents = JsonArray{JsonObject{{"title", "t"}, {"text", "d"}}};
  input.arguments = {{"enable_thinking", true}, {"limit", 2.5}};
  input.add_generation_prompt = true;
  input.bos_token = "<s>";
  input.eos_token = "</s>";
  input.now = hearth::models::chat_template::LocalTime(std::chrono::seconds(1720278309));
  return input;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > kMaxSource) return 0;
  static const auto input = conversation();
  hearth::models::chat_template::Limits limits;
  limits.steps = 50'000;
  limits.bytes = 4 << 20;
  limits.output_bytes = 1 << 20;
  limits.range = 1000;
  try {
    const hearth::models::ChatTemplate parsed(
        std::string_view(reinterpret_cast<const char*>(data), size));
    const auto prompt = parsed.render(input, limits);
    bool was_input = false, is_first = true;
    for (const auto& part : prompt.parts) {
      require(!part.text.empty() && (is_first || part.is_input != was_input));
      was_input = part.is_input;
      is_first = false;
    }
    require(prompt.text().size() <= limits.output_bytes);
    require(parsed.render(input, limits).text() == prompt.text());
  } catch (const hearth::Error& error) {
    require(error.code() == hearth::ErrorCode::invalid_argument);
  }
  return 0;
}
