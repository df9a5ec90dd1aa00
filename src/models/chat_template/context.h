// What bounds the rendering of a template that nobody vouches for, and says where it stands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace hearth::models::chat_template {

struct Limits {
  // Nodes run; long texts and lists count more. About half a second of one core.
  std::int64_t steps = 5'000'000;
  int depth = 400;                 // calls of macros, blocks and expressions within one another
  std::size_t bytes = 512u << 20;  // texts and lists made by one rendering, kept or not
  std::size_t output_bytes = 64u << 20;
  std::int64_t range = 100'000;  // elements of range()
  int nesting = 100;             // lists and dicts within one another
};

// Counts of one rendering. Not for two threads at once.
class Context {
 public:
  explicit Context(const Limits& limits) : limits_(limits) {}

  const Limits& limits() const noexcept { return limits_; }
  // Where messages say that the template stands.
  void set_line(int line) noexcept { line_ = line; }
  int line() const noexcept { return line_; }

  // Throw Error{invalid_argument}, which names the limit and the line, where that passes it.
  void charge_steps(std::size_t count);
  void charge_bytes(std::size_t count);
  // Counts nothing: throws where charge_bytes(count) would.
  void expect_bytes(std::size_t count) const;
  // Steps of looking for a text in another one, all places of which may begin like it.
  void charge_search(std::size_t size, std::size_t sought) {
    charge_steps(size / 256 + size / 32 * (sought / 32));
  }
  void check_output(std::size_t size);

  // Throws Error{invalid_argument}: "chat template: what, at line N".
  [[noreturn]] void fail(const std::string& what) const;

  // Stands for one level of depth while it lives.
  class Level {
   public:
    explicit Level(Context& context);
    ~Level() { --context_.depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    Context& context_;
  };

 private:
  [[noreturn]] void fail_limit(const char* what, std::int64_t limit) const;

  Limits limits_;
  int line_ = 1, depth_ = 0;
  std::size_t steps_ = 0, bytes_ = 0;
};

// The same for what has no Context: the lexer and the parser.
[[noreturn]] void fail_at(int line, const std::string& what);

}  // namespace hearth::models::chat_template
