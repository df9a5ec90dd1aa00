// Asks the served API with arbitrary bodies: the first byte says which endpoint, the rest is the
// body. Whatever comes is answered by JSON, or by events that end as they should, and never by a
// fault of the server.

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "core/json.h"
#include "require.h"
#include "tools/scripted_model.h"
#include "tools/serve/api.h"

namespace {

using hearth::tools::serve::Api;
using hearth::tools::serve::ApiRequest;
using hearth::tools::serve::ApiResponse;

constexpr std::size_t kMaxBody = 1 << 14;
constexpr const char* kPaths[] = {
    "/v1/chat/completions", "/v1/completions", "/v1/embeddings", "/tokenize", "/detokenize",
    "/v1/responses",        "/apply-template", "/completion",    "/embedding"};

using hearth::testing::require;

class KeptText final : public hearth::tools::serve::Sink {
 public:
  bool write(std::string_view bytes) override {
    all += bytes;
    return true;
  }
  std::string all;
};

const Api& api() {
  static const auto* made = [] {
    auto model = std::make_shared<hearth::testing::ScriptedModel>();
    model->is_immediate = true;
    model->says = [](const auto&) {
      return std::string(
          "<think>a</think><tool_call>{\"name\": \"f\", \"arguments\": {}}"
          "</tool_call>\xc3\xa9");
    };
    auto* api = new Api({});
    api->set_model(model);
    return api;
  }();
  return *made;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0 || size > kMaxBody) return 0;
  const ApiRequest request = {.method = "POST",
                              .path = kPaths[data[0] % std::size(kPaths)],
                              .body = {reinterpret_cast<const char*>(data) + 1, size - 1},
                              .authorization = {},
                              .origin = {},
                              .is_open = {}};
  const ApiResponse response = api().answer(request);
  require(response.status == 200 || response.status == 400);
  if (!response.stream) {
    require(hearth::parse_json(response.body).has_value());
    return 0;
  }
  KeptText events;
  response.stream(events);
  if (request.path == "/v1/responses") {
    require(events.all.starts_with("event: response.created\n") && events.all.ends_with("}\n\n"));
  } else if (request.path == "/completion") {  // its last event says that it stops
    const std::size_t last = events.all.rfind("data: ");
    require(last != std::string::npos && events.all.ends_with("}\n\n"));
    const auto told = hearth::parse_json(events.all.substr(last + 6));
    const auto* object = told ? std::get_if<hearth::JsonObject>(&*told) : nullptr;
    const auto* stop = object != nullptr ? hearth::find_key(*object, "stop") : nullptr;
    require(stop != nullptr && *stop == hearth::JsonValue(true));
  } else {
    require(events.all.starts_with("data: ") && events.all.ends_with("data: [DONE]\n\n"));
  }
  return 0;
}
