// Reads arbitrary bytes as an answer of a model, in each format that answers have: the first byte
// says which, and how long the pieces are in which it comes. Pieces must not matter; calls must
// have names and ids; what is plain text stays what it is.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "models/chat/answer_parser.h"
#include "models/chat/tool_calls.h"
#include "require.h"

namespace {

using hearth::models::AnswerDelta;
using hearth::models::AnswerParser;
using hearth::models::ToolCall;

constexpr std::size_t kMaxAnswer = 1 << 12;
// Texts by which templates ask for a format; none asks for the last.
constexpr const char* kSigns[] = {"<|channel|>",
                                  "<\uff5ctool\u2581calls\u2581begin\uff5c>",
                                  "<tool_call>",
                                  "[TOOL_CALLS] [THINK]",
                                  "dictionary of argument name",
                                  ""};

using hearth::testing::require;

void join(AnswerDelta& all, AnswerDelta part) {
  all.content += part.content;
  all.reasoning += part.reasoning;
  std::move(part.tool_calls.begin(), part.tool_calls.end(), std::back_inserter(all.tool_calls));
}

AnswerDelta read(std::string_view sign, const AnswerParser::Options& options, std::string_view text,
                 std::size_t piece) {
  AnswerParser parser(hearth::models::answer_format_of(sign),
                      hearth::models::reasoning_marks_of(sign), options);
  AnswerDelta all;
  for (std::size_t at = 0; at < text.size(); at += piece) {
    join(all, parser.push(text.substr(at, piece)));
  }
  join(all, parser.finish());
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0 || size > kMaxAnswer) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const char* sign = kSigns[data[0] % std::size(kSigns)];
  const AnswerParser::Options options{.has_tools = (data[0] & 0x80) == 0,
                                      .begins_in_reasoning = (data[0] & 0x40) != 0,
                                      .id_seed = data[0]};
  const AnswerDelta whole = read(sign, options, text, std::max<std::size_t>(text.size(), 1));
  const AnswerDelta pieces = read(sign, options, text, 1 + (data[0] >> 3) % 8);
  require(whole.content == pieces.content && whole.reasoning == pieces.reasoning);
  require(whole.tool_calls.size() == pieces.tool_calls.size());
  for (std::size_t i = 0; i < whole.tool_calls.size(); ++i) {
    const ToolCall &one = whole.tool_calls[i], &other = pieces.tool_calls[i];
    require(!one.name.empty() && !one.id.empty());
    require(one.name == other.name && one.id == other.id && one.arguments == other.arguments);
  }
  for (const ToolCall& call : hearth::models::parse_tool_calls(text)) require(!call.name.empty());
  return 0;
}
