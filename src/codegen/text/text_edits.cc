#include "codegen/text/text_edits.h"

#include <algorithm>
#include <utility>

namespace hearth::gpu {

void TextEdits::replace(std::string_view part, std::string by) {
  const auto begin = static_cast<std::size_t>(part.data() - text_.data());
  edits_.emplace(Part{begin, part.size()}, std::move(by));
}

std::string TextEdits::apply() {
  std::string made;
  std::size_t at = 0;
  for (const auto& [part, by] : edits_) {
    if (part.begin < at) continue;
    made += text_.substr(at, part.begin - at);
    made += by;
    at = part.begin + part.size;
    const std::string_view gone = text_.substr(part.begin, part.size);
    made.append(static_cast<std::size_t>(std::count(gone.begin(), gone.end(), '\n')), '\n');
  }
  return made += text_.substr(at);
}

}  // namespace hearth::gpu
