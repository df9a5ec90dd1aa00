#include "models/chat_template/marked_text.h"

#include <algorithm>

namespace hearth::models::chat_template {

MarkedText::MarkedText(std::string_view bytes, bool is_input) { append(bytes, is_input); }

bool MarkedText::is_input_at(std::size_t at) const noexcept {
  const auto run = std::upper_bound(runs_.begin(), runs_.end(), at,
                                    [](std::size_t place, const Run& r) { return place < r.end; });
  return run != runs_.end() && run->is_input;
}

void MarkedText::append(std::string_view bytes, bool is_input) {
  if (bytes.empty()) return;
  bytes_ += bytes;
  if (!runs_.empty() && runs_.back().is_input == is_input) {
    runs_.back().end = bytes_.size();
  } else {
    runs_.push_back({bytes_.size(), is_input});
  }
}

void MarkedText::append(const MarkedText& other) { append_part(other, 0, other.size()); }

void MarkedText::append_part(const MarkedText& other, std::size_t begin, std::size_t size) {
  const std::size_t end = begin + size;
  auto run = std::upper_bound(other.runs_.begin(), other.runs_.end(), begin,
                              [](std::size_t place, const Run& r) { return place < r.end; });
  for (; begin < end; ++run) {
    const std::size_t stop = std::min(run->end, end);
    append(other.view().substr(begin, stop - begin), run->is_input);
    begin = stop;
  }
}

MarkedText MarkedText::part(std::size_t begin, std::size_t size) const {
  MarkedText out;
  out.append_part(*this, begin, size);
  out.is_markup = is_markup;
  return out;
}

}  // namespace hearth::models::chat_template
