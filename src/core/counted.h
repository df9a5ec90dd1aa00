// How many there are of something, for messages.
#pragma once

#include <concepts>
#include <string>
#include <string_view>

namespace hearth {

// "1 token", "2 tokens", "0 tokens": `noun` with an s unless there is one, or with es behind s, x,
// ch and sh.
template <std::integral Count>
std::string counted(Count count, std::string_view noun) {
  std::string text = std::to_string(count);
  text += ' ';
  text += noun;
  if (count == 1) return text;
  const bool hisses =
      noun.ends_with('s') || noun.ends_with('x') || noun.ends_with("ch") || noun.ends_with("sh");
  text += hisses ? "es" : "s";
  return text;
}

}  // namespace hearth
