// Text that knows which of its bytes came from the input of a chat, and which from the template.
#pragma once

#include <cstddef>
#include <span>
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
  std::span<const Run> runs() const noexcept {
    if (!runs_.empty()) return runs_;
    return {&only_, bytes_.empty() ? std::size_t{0} : std::size_t{1}};
  }
  std::size_t size() const noexcept { return bytes_.size(); }
  bool empty() const noexcept { return bytes_.empty(); }
  // The bytes of memory that it takes beside itself.
  std::size_t weight() const noexcept { return bytes_.size() + runs_.size() * sizeof(Run); }
  // Whether the byte at `at` < size() came from the input.
  bool is_input_at(std::size_t at) const noexcept;

  // Makes room for so many bytes in all.
  void reserve(std::size_t size) { bytes_.reserve(size); }
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
  Run only_ = {0, false};  // of text that has one run, as most have
  std::vector<Run> runs_;  // of other text; empty where there is one run or none
};

}  // namespace hearth::models::chat_template
