#include "tools/lm/paste_marks.h"

#include <algorithm>
#include <cstddef>

namespace hearth::tools {

std::string with_paste_marks(const std::string& line, const std::vector<std::string>& pasted) {
  std::size_t begin = line.size(), end = 0;
  for (const std::string& text : pasted) {
    const std::size_t at = line.find(text);
    if (at == std::string::npos || text.empty()) continue;
    begin = std::min(begin, at);
    end = std::max(end, at + text.size());
  }
  const std::size_t first_break = line.find('\n');
  if (first_break != std::string::npos) {
    const std::size_t behind_last = line.rfind('\n') + 1;
    if (first_break < begin || behind_last > end) begin = 0;
    end = std::max(end, behind_last);
  }
  if (end == 0) return line;
  std::string marked = line.substr(0, begin);
  marked.append(kPasteBegins).append(line, begin, end - begin).append(kPasteEnds);
  return marked.append(line, end);
}

}  // namespace hearth::tools
