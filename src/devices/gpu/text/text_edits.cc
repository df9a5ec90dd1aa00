#include "devices/gpu/text/text_edits.h"

#include <algorithm>
#include <utility>

namespace hearth::gpu {

void TextEdits::replace(std::string_view part, std::string by) {
  edits_.push_back(
      {static_cast<std::size_t>(part.data() - text_.data()), part.size(), std::move(by)});
}

std::string TextEdits::apply() {
  std::stable_sort(edits_.begin(), edits_.end(), [](const Edit& a, const Edit& b) {
    return a.begin < b.begin || (a.begin == b.begin && a.size > b.size);
  });
  std::string made;
  std::size_t at = 0;
  for (const Edit& edit : edits_) {
    if (edit.begin < at) continue;
    made += text_.substr(at, edit.begin - at);
    made += edit.by;
    at = edit.begin + edit.size;
    const std::string_view gone = text_.substr(edit.begin, edit.size);
    made.append(static_cast<std::size_t>(std::count(gone.begin(), gone.end(), '\n')), '\n');
  }
  return made += text_.substr(at);
}

}  // namespace hearth::gpu
