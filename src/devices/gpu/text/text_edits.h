// Replaces parts of a text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

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
  struct Edit {
    std::size_t begin;
    std::size_t size;
    std::string by;
  };
  std::string_view text_;
  std::vector<Edit> edits_;
};

}  // namespace hearth::gpu
