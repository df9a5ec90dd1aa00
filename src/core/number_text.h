// Numbers in messages and files.
#pragma once

#include <charconv>
#include <iterator>
#include <string>

namespace hearth {

// The shortest text that reads back as the same value.
template <class T>
std::string number_text(T value) {
  char text[64];
  return {text, std::to_chars(text, std::end(text), value).ptr};
}

}  // namespace hearth
