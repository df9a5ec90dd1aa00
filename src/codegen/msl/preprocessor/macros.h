// Macros of a preprocessor: definitions, and the expansion of text by them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "codegen/text/tokens.h"

namespace hearth::gpu {

// A token on its way through macros. A blank text of kind space is a newline, or nothing.
struct Piece {
  TokenKind kind = TokenKind::mark;
  std::string text;
  bool blank = false;  // before it
  int hidden = 0;      // the set of macros that do not expand it
  bool is_newline() const { return kind == TokenKind::space && !text.empty(); }
};
using Pieces = std::vector<Piece>;

// The pieces of a text without line breaks.
Pieces pieces_of(std::string_view text);

// As C has them, with # ## __VA_ARGS__ and the comma before an empty ## __VA_ARGS__.
class Macros {
 public:
  // `definition` is what stands behind #define. Throws Error{invalid_argument}.
  void define(std::string_view definition);
  void remove(const std::string& name) { macros_.erase(name); }
  bool has(const std::string& name) const { return macros_.count(name) > 0; }

  // Newlines between the arguments of a macro come behind it. Throws Error{invalid_argument} for
  // calls without an end or with a wrong number of arguments, and for text that grows without end.
  Pieces expand(Pieces pieces);

 private:
  struct Macro {
    int id = 0;
    bool takes_arguments = false;
    bool variadic = false;  // the last parameter takes all arguments that are left
    std::vector<std::string> parameters;
    Pieces body;
  };
  struct Call;

  bool is_hidden(int set, int macro) const;
  int joined(int set, int other);
  int shared(int set, int other);
  int numbered(std::vector<int> set);
  bool read_call(const Macro& macro, Pieces& rest, Call& call) const;
  Pieces substitute(const std::string& name, const Macro& macro, const Call& call);

  std::unordered_map<std::string, Macro> macros_;
  int next_id_ = 0;
  std::vector<std::vector<int>> sets_{{}};
  std::map<std::vector<int>, int> numbers_{{{}, 0}};
  std::map<std::pair<int, int>, int> joined_;
  std::int64_t produced_ = 0;
};

}  // namespace hearth::gpu
