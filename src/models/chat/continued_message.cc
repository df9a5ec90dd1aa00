#include "models/chat/continued_message.h"

#include <algorithm>
#include <string>

#include "hearth/error.h"

namespace hearth::models {
namespace {

constexpr std::string_view kContentSpaces = " \t\r\n\f\v";

[[noreturn]] void refuse_to_continue(const std::string& got) {
  throw Error(ErrorCode::invalid_argument,
              "chat: a last message that cannot be gone on with; got " + got +
                  ", expected a text that the chat template writes as it is");
}

}  // namespace

void end_behind(RenderedPrompt& prompt, std::string_view content) {
  const std::size_t first = content.find_first_not_of(kContentSpaces);
  if (first == std::string_view::npos) refuse_to_continue("no text in it");
  const std::string_view begun = content.substr(first);
  const std::string_view bare = begun.substr(0, begun.find_last_not_of(kContentSpaces) + 1);
  const auto last = std::find_if(prompt.parts.rbegin(), prompt.parts.rend(),
                                 [](const RenderedPrompt::Part& part) { return part.is_input; });
  const std::size_t at = last == prompt.parts.rend() ? std::string::npos : last->text.rfind(bare);
  if (at == std::string::npos) refuse_to_continue("a chat template that writes it otherwise");
  const bool is_whole = std::string_view(last->text).substr(at).starts_with(begun);
  last->text.resize(at + (is_whole ? begun : bare).size());
  prompt.parts.erase(last.base(), prompt.parts.end());
}

}  // namespace hearth::models
