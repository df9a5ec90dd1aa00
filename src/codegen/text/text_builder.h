// Builds kernel text line by line.
#pragma once

#include <concepts>
#include <string>
#include <string_view>

namespace hearth::gpu {

// The parts in a row; integers in decimal.
template <class... Parts>
std::string joined(const Parts&... parts) {
  std::string text;
  const auto append = [&text](const auto& part) {
    if constexpr (std::integral<std::remove_cvref_t<decltype(part)>>) {
      text += std::to_string(part);
    } else {
      text += std::string_view(part);
    }
  };
  (append(parts), ...);
  return text;
}

// Appends a line.
template <class... Parts>
void line(std::string& text, const Parts&... parts) {
  text += joined(parts...);
  text += '\n';
}

}  // namespace hearth::gpu
