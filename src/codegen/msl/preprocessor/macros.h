// Macros of a preprocessor: definitions, and the expansion of text by them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "codegen/msl/preprocessor/macro_sets.h"
#include "codegen/text/tokens.h"

namespace hearth::gpu {

// A token on its way through macros. A blank text of kind space is a newline, or nothing.
struct Piece {
  TokenKind kind = TokenKind::mark;
  std::string text;
  bool blank = false;  // before it
  int hidden = 0;      // the MacroSets of those that do not expand it
  bool is_newline() const { return kind == TokenKind::space && !text.empty(); }
};
using Pieces = std::vector<Piece>;

// The pieces of a text without line breaks.
Pieces pieces_of(std::string_view text);

// As C has them, with # ## __VA_ARGS__ and the comma before an empty ## __VA_ARGS__.
class Macros {
 public:
  // Where the next definition or the next text to expand begins, for errors. Line 0: nowhere.
  void set_place(const std::string& file, int line);

  // `definition` is what stands after #define. Throws Error{invalid_argument}.
  void define(std::string_view definition);
  void remove(const std::string& name) { macros_.erase(name); }
  bool has(const std::string& name) const { return macros_.count(name) > 0; }

  // Newlines between the arguments of a macro come after it. Throws Error{invalid_argument}, which
  // names macro and line, for calls without an end or with a wrong number of arguments, and for
  // text that grows without end. Memory is linear in what is read and made, however calls nest.
  Pieces expand(Pieces pieces);

 private:
  struct Parameter {
    std::string name;
    bool is_expanded = false;   // somewhere in the body
    bool is_taken_raw = false;  // by # or ##
  };
  struct Macro {
    int id = 0;
    bool takes_arguments = false;
    bool variadic = false;  // the last parameter takes all arguments that are left
    std::vector<Parameter> parameters;
    Pieces body;
    std::vector<int> numbers;  // of the parameters that pieces of the body are, or -1
  };
  struct Call;
  struct Frame;

  [[noreturn]] void fail(const std::string& macro, const std::string& what) const;
  [[noreturn]] void fail_size(const std::string& macro, std::size_t got, std::size_t limit) const;
  bool begin_call(Frame& frame, Piece& name, const Macro& macro);
  void read_arguments(Pieces& rest, Call& call) const;
  void end_call(Frame& frame);
  static std::size_t size_of(const Call& call);
  static Pieces substitute(const Call& call);
  void count_work(std::size_t pieces, const std::string& macro);

  std::unordered_map<std::string, Macro> macros_;
  int next_id_ = 0;
  MacroSets sets_;
  std::string file_;
  int line_ = 0;
  std::size_t work_ = 0;
};

}  // namespace hearth::gpu
