#include "models/serving/stop_texts.h"

#include <algorithm>
#include <utility>

#include "hearth/error.h"

namespace hearth::models {

StopTexts::StopTexts(const std::vector<std::string>& stops) {
  for (const std::string& text : stops) {
    if (text.empty()) {
      throw Error(ErrorCode::invalid_argument,
                  "generate: an empty stop; got no text, expected at least one byte");
    }
    Stop stop{text, std::vector<std::size_t>(text.size(), 0), 0};
    for (std::size_t i = 1, length = 0; i < text.size(); ++i) {
      while (length > 0 && text[i] != text[length]) length = stop.fallback[length - 1];
      if (text[i] == text[length]) ++length;
      stop.fallback[i] = length;
    }
    stops_.push_back(std::move(stop));
  }
}

std::string StopTexts::push(std::string_view text) {
  if (is_stopped()) return "";
  for (const char c : text) {
    held_ += c;
    std::size_t longest = 0;
    for (Stop& stop : stops_) {
      while (stop.matched > 0 && stop.text[stop.matched] != c) {
        stop.matched = stop.fallback[stop.matched - 1];
      }
      if (stop.text[stop.matched] == c) ++stop.matched;
      if (stop.matched == stop.text.size()) longest = std::max(longest, stop.matched);
    }
    if (longest > 0) {
      found_ = held_.substr(held_.size() - longest);
      held_.resize(held_.size() - longest);
      return std::exchange(held_, "");
    }
  }
  std::size_t begun = 0;
  for (const Stop& stop : stops_) begun = std::max(begun, stop.matched);
  std::string known = held_.substr(0, held_.size() - begun);
  held_.erase(0, known.size());
  return known;
}

std::string StopTexts::finish() {
  for (Stop& stop : stops_) stop.matched = 0;
  return std::exchange(held_, "");
}

}  // namespace hearth::models
