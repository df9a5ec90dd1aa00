#include "tools/serve/answer_reader.h"

#include <utility>

#include "models/chat/tool_calls.h"
#include "tools/serve/answer_objects.h"

namespace hearth::tools::serve {

models::AnswerDelta AnswerReader::push(const models::GenerationPiece& piece) {
  const bool is_last = piece.finish != models::FinishReason::none;
  models::AnswerDelta part = parser_.push(piece.text);
  if (is_last) part.append(parser_.finish());
  if (job_.is_call) {
    call_ += std::exchange(part.content, "");
    if (is_last) part.append(read_call_text());
  }
  if (is_last) finish_ = piece.finish;
  const std::size_t most =
      job_.may_call_several ? part.tool_calls.size() : std::size_t{calls_ == 0 ? 1u : 0u};
  if (part.tool_calls.size() > most) part.tool_calls.resize(most);
  calls_ += part.tool_calls.size();
  return part;
}

models::AnswerDelta AnswerReader::read_call_text() const {
  models::AnswerDelta part;
  part.tool_calls = models::parse_tool_calls(call_);
  for (models::ToolCall& call : part.tool_calls) call.id = fresh_id("call_");
  if (part.tool_calls.empty()) part.content = call_;
  return part;
}

std::vector<AnswerReader> answer_readers(const ChatJob& job, const models::ChatFormat& format) {
  std::vector<AnswerReader> readers;
  for (std::size_t i = 0; i < job.fields.count; ++i) readers.emplace_back(job, format, i);
  return readers;
}

}  // namespace hearth::tools::serve
