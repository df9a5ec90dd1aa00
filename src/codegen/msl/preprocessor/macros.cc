#include "codegen/msl/preprocessor/macros.h"

#include <algorithm>
#include <iterator>

#include "hearth/error.h"

namespace hearth::gpu {
namespace {

constexpr std::int64_t kMaxPieces = std::int64_t{1} << 24;
constexpr std::string_view kVariadic = "__VA_ARGS__";

[[noreturn]] void fail_macro(const std::string& name, const std::string& what) {
  throw Error(ErrorCode::invalid_argument, "kernel text: macro " + name + " " + what);
}

Piece nothing() { return {TokenKind::space, "", false, 0}; }

bool is_mark(const Piece& piece, std::string_view text) {
  return piece.kind == TokenKind::mark && piece.text == text;
}

// In the order in which a stack gives them back.
void push(Pieces& stack, Pieces pieces) {
  stack.insert(stack.end(), std::make_move_iterator(pieces.rbegin()),
               std::make_move_iterator(pieces.rend()));
}

Piece in_quotes(const Pieces& argument) {
  std::string text = "\"";
  for (const Piece& piece : argument) {
    if (piece.blank && text.size() > 1) text += ' ';
    for (const char c : piece.text) {
      if (piece.kind == TokenKind::literal && (c == '"' || c == '\\')) text += '\\';
      text += c;
    }
  }
  return {TokenKind::literal, text + "\"", true, 0};
}

// Both as one token where that is one, else side by side.
void paste(Pieces& pieces, Piece right) {
  Piece& left = pieces.back();
  if (right.text.empty()) return;
  const std::string both = left.text + right.text;
  const Token token = first_token(both);
  if (token.text.size() == both.size()) {
    left.kind = token.kind;
    left.text = both;
    return;
  }
  right.blank = false;
  pieces.push_back(std::move(right));
}

}  // namespace

struct Macros::Call {
  std::vector<Pieces> arguments;
  Pieces newlines;
  int hidden = 0;  // of its closing parenthesis
};

Pieces pieces_of(std::string_view text) {
  Pieces pieces;
  bool blank = false;
  while (!text.empty()) {
    const Token token = first_token(text);
    text.remove_prefix(token.text.size());
    if (token.kind == TokenKind::space || token.kind == TokenKind::comment) {
      blank = true;
      continue;
    }
    pieces.push_back({token.kind, std::string(token.text), blank, 0});
    blank = false;
  }
  return pieces;
}

void Macros::define(std::string_view definition) {
  const Pieces all = pieces_of(definition);
  if (all.empty() || all[0].kind != TokenKind::word) {
    throw Error(ErrorCode::invalid_argument, "kernel text: #define without a name; got \"" +
                                                 std::string(definition) + "\", expected one");
  }
  Macro macro;
  macro.id = next_id_++;
  const std::string& name = all[0].text;
  std::size_t at = 1;
  if (at < all.size() && is_mark(all[at], "(") && !all[at].blank) {
    macro.takes_arguments = true;
    for (++at; at < all.size() && !is_mark(all[at], ")"); ++at) {
      if (all[at].kind == TokenKind::word) macro.parameters.push_back(all[at].text);
      if (is_mark(all[at], ".") && !macro.variadic) {
        macro.variadic = true;
        if (is_mark(all[at - 1], ",") || is_mark(all[at - 1], "(")) {
          macro.parameters.emplace_back(kVariadic);
        }
      }
    }
    if (at == all.size()) fail_macro(name, "has no end of its parameters; expected \")\"");
    ++at;
  }
  for (; at < all.size(); ++at) {
    if (is_mark(all[at], "#") && at + 1 < all.size() && is_mark(all[at + 1], "#")) {
      macro.body.push_back({TokenKind::mark, "##", false, 0});
      ++at;
    } else {
      macro.body.push_back(all[at]);
    }
  }
  macros_.insert_or_assign(name, std::move(macro));
}

Pieces Macros::expand(Pieces pieces) {
  Pieces rest;
  push(rest, std::move(pieces));
  Pieces made;
  while (!rest.empty()) {
    Piece piece = std::move(rest.back());
    rest.pop_back();
    const auto found = piece.kind == TokenKind::word ? macros_.find(piece.text) : macros_.end();
    if (found == macros_.end() || is_hidden(piece.hidden, found->second.id)) {
      made.push_back(std::move(piece));
      continue;
    }
    const Macro& macro = found->second;
    Call call;
    call.hidden = piece.hidden;
    if (macro.takes_arguments && !read_call(macro, rest, call)) {
      made.push_back(std::move(piece));
      continue;
    }
    Pieces body = substitute(piece.text, macro, call);
    const int hidden = joined(shared(piece.hidden, call.hidden), numbered({macro.id}));
    for (Piece& each : body) each.hidden = joined(each.hidden, hidden);
    if (!body.empty()) body.front().blank |= piece.blank;
    produced_ += static_cast<std::int64_t>(body.size()) + 1;
    if (produced_ > kMaxPieces) {
      fail_macro(piece.text, "makes too much text; got more than " + std::to_string(kMaxPieces) +
                                 " words, expected fewer");
    }
    push(rest, std::move(call.newlines));
    push(rest, std::move(body));
  }
  return made;
}

// Takes the arguments off a stack; false where none follow.
bool Macros::read_call(const Macro& macro, Pieces& rest, Call& call) const {
  std::size_t at = rest.size();
  while (at > 0 && rest[at - 1].is_newline()) --at;
  if (at == 0 || !is_mark(rest[at - 1], "(")) return false;
  call.newlines.assign(rest.begin() + static_cast<std::ptrdiff_t>(at), rest.end());
  rest.resize(at - 1);
  call.arguments.emplace_back();
  int depth = 0;
  while (!rest.empty()) {
    Piece piece = std::move(rest.back());
    rest.pop_back();
    if (piece.is_newline()) {
      call.newlines.push_back(std::move(piece));
      if (!rest.empty()) rest.back().blank = true;
      continue;
    }
    if (is_mark(piece, ")") && depth-- == 0) {
      call.hidden = piece.hidden;
      return true;
    }
    if (is_mark(piece, "(")) ++depth;
    const bool rest_is_one = macro.variadic && call.arguments.size() == macro.parameters.size();
    if (is_mark(piece, ",") && depth == 0 && !rest_is_one) {
      call.arguments.emplace_back();
    } else {
      call.arguments.back().push_back(std::move(piece));
    }
  }
  throw Error(ErrorCode::invalid_argument,
              "kernel text: a macro's call has no end; got no \")\", expected one");
}

Pieces Macros::substitute(const std::string& name, const Macro& macro, const Call& call) {
  const std::size_t wanted = macro.parameters.size();
  std::vector<Pieces> arguments = call.arguments;
  if (macro.takes_arguments) {
    if (wanted == 0 && arguments.size() == 1 && arguments[0].empty()) arguments.clear();
    if (macro.variadic && arguments.size() + 1 == wanted) arguments.emplace_back();
    if (arguments.size() != wanted) {
      fail_macro(name, "has other arguments; got " + std::to_string(arguments.size()) +
                           ", expected " + std::to_string(wanted));
    }
  }
  const auto argument_of = [&](const Piece& piece) -> const Pieces* {
    if (piece.kind != TokenKind::word) return nullptr;
    const auto found = std::find(macro.parameters.begin(), macro.parameters.end(), piece.text);
    if (found == macro.parameters.end()) return nullptr;
    return &arguments[static_cast<std::size_t>(found - macro.parameters.begin())];
  };
  const Pieces& body = macro.body;
  Pieces made;
  for (std::size_t i = 0; i < body.size(); ++i) {
    const bool pasted = i > 0 && body[i - 1].text == "##" && !made.empty();
    const bool before_paste = i + 1 < body.size() && body[i + 1].text == "##";
    if (body[i].text == "##") continue;
    Pieces next;
    const Pieces* argument = argument_of(body[i]);
    if (is_mark(body[i], "#") && i + 1 < body.size() && argument_of(body[i + 1]) != nullptr) {
      next.push_back(in_quotes(*argument_of(body[++i])));
    } else if (argument == nullptr) {
      next.push_back(body[i]);
    } else {
      next = pasted || before_paste ? *argument : expand(*argument);
      const bool rest = macro.variadic && argument == &arguments.back();
      if (pasted && rest && is_mark(made.back(), ",")) {
        // The comma goes where nothing follows; what follows is not glued to it.
        if (next.empty()) made.pop_back();
        made.insert(made.end(), next.begin(), next.end());
        continue;
      }
      if (next.empty()) next.push_back(nothing());
      next.front().blank = body[i].blank;
    }
    if (pasted) {
      paste(made, next.front());
      next.erase(next.begin());
    }
    made.insert(made.end(), next.begin(), next.end());
  }
  std::erase_if(made, [](const Piece& piece) { return piece.text.empty(); });
  return made;
}

bool Macros::is_hidden(int set, int macro) const {
  const std::vector<int>& all = sets_[static_cast<std::size_t>(set)];
  return std::binary_search(all.begin(), all.end(), macro);
}

int Macros::numbered(std::vector<int> set) {
  const auto [entry, is_new] = numbers_.try_emplace(set, static_cast<int>(sets_.size()));
  if (is_new) sets_.push_back(std::move(set));
  return entry->second;
}

int Macros::joined(int set, int other) {
  if (set == other || other == 0) return set;
  if (set == 0) return other;
  const auto [entry, is_new] = joined_.try_emplace({set, other});
  if (is_new) {
    const std::vector<int>& a = sets_[static_cast<std::size_t>(set)];
    const std::vector<int>& b = sets_[static_cast<std::size_t>(other)];
    std::vector<int> both;
    std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
    entry->second = numbered(std::move(both));
  }
  return entry->second;
}

int Macros::shared(int set, int other) {
  if (set == other) return set;
  if (set == 0 || other == 0) return 0;
  const std::vector<int>& a = sets_[static_cast<std::size_t>(set)];
  const std::vector<int>& b = sets_[static_cast<std::size_t>(other)];
  std::vector<int> both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return numbered(std::move(both));
}

}  // namespace hearth::gpu
