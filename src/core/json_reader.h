// JSON (RFC 8259), read front to back: the caller asks for what its own grammar wants next, so
// neither stack nor heap grows with the nesting of hostile input.
//
//   JsonReader json(text);
//   for (json.begin_object(); json.next_key(name);) {
//     if (json.peek() == JsonKind::string) use(name, json.string());
//     else json.skip();
//   }
//   json.end();
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

namespace hearth {

enum class JsonKind { null, boolean, number, string, array, object, none };

// What was wrong, free of the text itself, and the byte where it stands.
class JsonError : public std::runtime_error {
 public:
  JsonError(std::size_t position, const std::string& what)
      : std::runtime_error(what), position_(position) {}
  std::size_t position() const { return position_; }

 private:
  std::size_t position_;
};

// The reading functions throw JsonError unless they find what they are named for.
class JsonReader {
 public:
  explicit JsonReader(std::string_view text) : text_(text) {}

  // By its first byte, what comes next; `none` where no value begins.
  JsonKind peek();

  // Where the last key, value, bracket or peek began.
  std::size_t token() const { return token_; }

  void begin_object();
  // The key of the next member, whose value must be read before the next call; false: the object
  // has been closed.
  bool next_key(std::string& key);
  void begin_array();
  // Whether another element must be read; false: the array has been closed.
  bool next_element();

  bool boolean();
  void null();
  std::string string();
  std::string_view number();  // as it is written
  // Any value with all that is in it; returns it as it is written.
  std::string_view skip();
  // Nothing but white space may follow.
  void end();

 private:
  [[noreturn]] void fail(const std::string& what) const;
  char byte() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool take(char expected);
  void next_token();
  void open(char bracket);
  bool next_item(char close);
  void word(std::string_view expected);
  std::string quoted(const char* what);
  char32_t escaped_unit(const char* what);

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t token_ = 0;
  bool is_first_ = false;  // nothing has been read in the innermost open bracket yet
};

}  // namespace hearth
