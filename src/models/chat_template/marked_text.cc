#include "models/chat_template/marked_text.h"

#include <algorithm>

namespace hearth::models::chat_template {

MarkedText::MarkedText(std::string_view bytes, bool is_input) { append(bytes, is_input); }

bool MarkedText::is_input_at(std::size_t at) const noexcept {
  const std::span<const Run> all = runs();
  const auto run = std::upper_bound(all.begin(), all.end(), at,
                                    [](std::size_t place, const Run& r) { return place < r.end; });
  return run != all.end() && run->is_input;
}

void MarkedText::append(std::string_view bytes, bool is_input) {
  if (bytes.empty()) return;
  const bool is_first = bytes_.empty();
  bytes_ += bytes;
  if (is_first) only_.is_input = is_input;
  if (runs_.empty() && only_.is_input == is_input) {
    only_.end = bytes_.size();
    return;
  }
  if (runs_.empty()) runs_.push_back(only_);
  if (runs_.back().is_input == is_input) {
    runs_.back().end = bytes_.size();
  } else {
    runs_.push_back({bytes_.size(), is_input});
  }
}

void MarkedText::append(const MarkedText& other) { append_part(other, 0, other.size()); }

void MarkedText::append_part(const MarkedText& other, std::size_t begin, std::size_t size) {
  const std::size_t end = begin + size;
  const std::span<const Run> runs = other.runs();
  auto run = std::upper_bound(runs.begin(), runs.end(), begin,
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
