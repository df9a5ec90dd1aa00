// Replaces parts of a text.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

namespace hearth::gpu {

// Lines stay where they are. Of parts that overlap, the one that begins first is replaced, or the
// longer one.
class TextEdits {
 public:
  explicit TextEdits(std::string_view text) : text_(text) {}
  // `part` is a part of the text.
  void replace(std::string_view part, std::string by);
  std::string apply();

 private:
  struct Part {
    std::size_t begin;
    std::size_t size;
    // In the order of apply().
    friend bool operator<(const Part& a, const Part& b) {
      return a.begin != b.begin ? a.begin < b.begin : a.size > b.size;
    }
  };
  std::string_view text_;
  std::multimap<Part, std::string> edits_;
};

}  // namespace hearth::gpu
