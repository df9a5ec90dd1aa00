// Characters that are typed at a terminal, from the bytes that it sends for them.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::tools {

class TypedCharacters {
 public:
  // Nothing at the end of the input.
  using ReadByte = std::function<std::optional<char>()>;

  // `keys`: the sequences of those that mean something, ESC included, and among them kPasteBegins
  // where pasted text is taken; texts that must outlive this.
  TypedCharacters(ReadByte read_byte, std::vector<std::string_view> keys);

  // Of a key that sends a sequence all of it, or nothing where it has no meaning; U+FFFD in place
  // of bytes that are no UTF-8. Nothing at the end of the input.
  std::optional<wchar_t> next();

  // The text between the marks of the last paste that next() came by; taken once. Without control
  // sequences, its line breaks are \n.
  std::wstring pasted();

 private:
  std::optional<char> read_byte();
  wchar_t decode(char byte);
  std::string read_key();
  std::wstring read_paste();

  ReadByte read_byte_;
  std::vector<std::string_view> keys_;
  std::deque<wchar_t> queue_;
  std::optional<char> held_;  // read, and to be read again
  std::wstring pasted_;
};

}  // namespace hearth::tools
