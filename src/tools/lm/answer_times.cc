#include "tools/lm/answer_times.h"

#include "core/counted.h"
#include "runtime/trace/timeline.h"
#include "tools/output.h"

namespace hearth::tools {
namespace {

// "5 tokens in 0.03 s (160.0 tokens/s)", of which so many count for the speed.
std::string tokens_in(const std::string& tokens, std::int64_t counting, double seconds) {
  std::string text = tokens + " in " + decimal(seconds, 2) + " s";
  if (counting > 0 && seconds > 0) {
    text += " (" + decimal(static_cast<double>(counting) / seconds, 1) + " tokens/s)";
  }
  return text;
}

}  // namespace

AnswerTimes::AnswerTimes() : start_(runtime::Timeline::now()) {}

void AnswerTimes::note_text() {
  if (first_ == 0) first_ = runtime::Timeline::now();
}

std::string AnswerTimes::text(std::int64_t prompt_tokens, std::int64_t known_tokens,
                              std::int64_t new_tokens) const {
  const double now = runtime::Timeline::now();
  const double first = first_ == 0 ? now : first_;
  std::string prompt = counted(prompt_tokens, "token");
  if (known_tokens > 0) prompt += ", " + std::to_string(known_tokens) + " of them known before,";
  return "prompt: " + tokens_in(prompt, prompt_tokens - known_tokens, first - start_) +
         "; answer: " + tokens_in(counted(new_tokens, "token"), new_tokens - 1, now - first);
}

std::string loading_text(double seconds) { return "model loaded in " + decimal(seconds, 2) + " s"; }

}  // namespace hearth::tools
