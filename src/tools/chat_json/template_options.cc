#include "tools/chat_json/template_options.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <string>
#include <utility>

#include "tools/chat_json/field_error.h"

namespace hearth::tools {
namespace {

constexpr const char* kGenerationName = "add_generation_prompt";
constexpr const char* kContinueName = "continue_final_message";
constexpr const char* kNowName = "now";
constexpr const char* kArgumentsName = "chat_template_kwargs";
constexpr const char* kEffortName = "reasoning_effort";
constexpr std::int64_t kLastSecond = 253402300799;  // of the year 9999

}  // namespace

bool is_template_option(std::string_view name) {
  constexpr std::string_view kNames[] = {kGenerationName, kContinueName, kNowName, kArgumentsName,
                                         kEffortName};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

models::ChatOptions read_template_options(const Fields& fields) {
  models::ChatOptions options;
  options.continue_final_message = fields.flag(kContinueName, false);
  options.add_generation_prompt = fields.flag(kGenerationName, !options.continue_final_message);
  if (options.continue_final_message && options.add_generation_prompt) {
    throw bad_field(kContinueName,
                    std::string("beside ") + kGenerationName + ": true; expected one of them");
  }
  if (const auto now = fields.integer(kNowName, 0, kLastSecond)) {
    options.now = models::chat_template::LocalTime(std::chrono::seconds(*now));
  }
  if (const JsonObject* given = fields.object(kArgumentsName)) options.arguments = *given;
  if (auto effort = fields.text(kEffortName)) {
    options.arguments.emplace_back(kEffortName, std::move(*effort));
  }
  return options;
}

}  // namespace hearth::tools
