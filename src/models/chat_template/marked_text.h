// Text that knows which of its bytes came from the input of a chat, and which from the template.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::models::chat_template {

// UTF-8 bytes in runs, each of the input or not. Neighbouring runs differ; empty text has none.
class MarkedText {
 public:
  struct Run {
    std::size_t end;  // the first byte behind it
    bool is_input;
  };

  MarkedText() = default;
  MarkedText(std::string_view bytes, bool is_input);

  std::string_view view() const noexcept { return bytes_; }
  const std::vector<Run>& runs() const noexcept { return runs_; }
  std::size_t size() const noexcept { return bytes_.size(); }
  bool empty() const noexcept { return bytes_.empty(); }
  // What it takes in memory, in bytes.
  std::size_t weight() const noexcept { return bytes_.size() + runs_.size() * sizeof(Run); }
  // Whether the byte at `at` < size() came from the input.
  bool is_input_at(std::size_t at) const noexcept;

  void append(std::string_view bytes, bool is_input);
  void append(const MarkedText& other);
  void append_part(const MarkedText& other, std::size_t begin, std::size_t size);
  // Bytes [begin, begin + size), which must be there.
  MarkedText part(std::size_t begin, std::size_t size) const;

  // Of text that `safe` or `escape` made: what is added to it by + is escaped for HTML, as
  // jinja2's Markup does. No other operation keeps it, but for those of white space.
  bool is_markup = false;

 private:
  std::string bytes_;
  std::vector<Run> runs_;
};

}  // namespace hearth::models::chat_template
