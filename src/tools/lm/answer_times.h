// How long a text takes that a model writes, for those who watch one.
#pragma once

#include <cstdint>
#include <string>

namespace hearth::tools {

// From when this is made to when text() is asked for. The first token comes with the step that ends
// the prompt, so that the time to it is the prompt's, and the answer's speed that of the tokens
// behind it.
class AnswerTimes {
 public:
  AnswerTimes();

  // Some of the text is there.
  void note_text();
  // "prompt: 5 tokens, 3 of them known before, in 0.03 s (66.7 tokens/s); answer: 20 tokens in
  // 0.5 s (38.0 tokens/s)". A speed of nothing is left out.
  std::string text(std::int64_t prompt_tokens, std::int64_t known_tokens,
                   std::int64_t new_tokens) const;

 private:
  double start_, first_ = 0;  // seconds; 0: not yet
};

// "model loaded in 0.4 s".
std::string loading_text(double seconds);

}  // namespace hearth::tools
