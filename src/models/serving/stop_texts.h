// Texts that end an answer where they come, across the borders of tokens.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::models {

// Not for several threads at once.
class StopTexts {
 public:
  // Throws Error{invalid_argument} for an empty text.
  explicit StopTexts(const std::vector<std::string>& stops);

  // Takes what comes next; gives what is known to lie before any stop. What may begin one is held
  // back. Of stops that end at the same byte the one counts that begins first. Nothing more comes
  // behind a stop.
  std::string push(std::string_view text);
  // What was held back: no stop any more, as the answer ends.
  std::string finish();

  bool is_stopped() const noexcept { return !found_.empty(); }
  // The stop that came; empty until then.
  const std::string& found() const noexcept { return found_; }

 private:
  // How far the text has come in a stop, by the rule of Knuth, Morris and Pratt: work that grows
  // with the text alone.
  struct Stop {
    std::string text;
    std::vector<std::size_t> fallback;  // [i]: the longest proper prefix that ends text[0, i]
    std::size_t matched = 0;
  };

  std::vector<Stop> stops_;
  std::string held_, found_;
};

}  // namespace hearth::models
