// One answer of a chat as it comes: content, reasoning and calls.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "models/chat/answer_parser.h"
#include "models/chat/chat_format.h"
#include "tools/serve/chat_job.h"

namespace hearth::tools::serve {

// The job must outlive it.
class AnswerReader {
 public:
  AnswerReader(const ChatJob& job, const models::ChatFormat& format, std::size_t index)
      : job_(job),
        parser_(format.parser(job.prompt, job.fields.generation.sampling.seed + index)) {}

  // What the piece adds; calls that may not be there any more are dropped.
  models::AnswerDelta push(const models::GenerationPiece& piece);

  std::size_t calls() const noexcept { return calls_; }
  models::FinishReason finish() const noexcept { return finish_; }

 private:
  // Cut off by the number of tokens it is no call, but text.
  models::AnswerDelta read_call_text() const;

  const ChatJob& job_;
  models::AnswerParser parser_;
  std::string call_;
  std::size_t calls_ = 0;
  models::FinishReason finish_ = models::FinishReason::none;
};

// One for each answer of the job.
std::vector<AnswerReader> answer_readers(const ChatJob& job, const models::ChatFormat& format);

}  // namespace hearth::tools::serve
