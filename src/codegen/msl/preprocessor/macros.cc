#include "codegen/msl/preprocessor/macros.h"

#include <algorithm>
#include <iterator>

#include "hearth/error.h"

namespace hearth::gpu {
namespace {

// Pieces that are moved while a text is expanded, and that there are at once beyond those given.
constexpr std::size_t kMaxWork = std::size_t{1} << 25;
constexpr std::size_t kMaxAlive = std::size_t{1} << 21;
constexpr std::size_t kBytesOfWord = 16;
constexpr std::size_t kMaxParameters = 1024;
constexpr std::size_t kWorkOfSets = 8;  // what keeping one macro of a set counts as
constexpr std::string_view kVariadic = "__VA_ARGS__";

Piece nothing() { return {TokenKind::space, "", false, 0}; }

bool is_mark(const Piece& piece, std::string_view text) {
  return piece.kind == TokenKind::mark && piece.text == text;
}

// Whether a piece of a macro's body stands beside ##.
bool is_pasted(const Pieces& body, std::size_t at) {
  return (at > 0 && body[at - 1].text == "##") ||
         (at + 1 < body.size() && body[at + 1].text == "##");
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

// A macro with its arguments; an argument is gone once it has been expanded, unless # or ## takes
// it.
struct Macros::Call {
  const Macro* macro = nullptr;
  Piece name;
  std::vector<Pieces> arguments;
  std::vector<Pieces> expanded;
  Pieces newlines;
  int hidden = 0;  // of its closing parenthesis
};

// A text, or an argument of the call that the frame below is at.
struct Macros::Frame {
  explicit Frame(Pieces pieces) : rest(std::move(pieces)) {
    std::reverse(rest.begin(), rest.end());
  }
  Pieces rest;  // a stack
  Pieces made;
  Call call;
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

void Macros::set_place(const std::string& file, int line) {
  file_ = file;
  line_ = line;
}

void Macros::fail(const std::string& macro, const std::string& what) const {
  const std::string line = line_ > 0 ? ", line " + std::to_string(line_) : "";
  throw Error(ErrorCode::invalid_argument,
              "kernel text: " + file_ + line + ": macro " + macro + " " + what);
}

void Macros::fail_size(const std::string& macro, std::size_t got, std::size_t limit) const {
  fail(macro, "makes too much text; got " + std::to_string(got) + " words, expected at most " +
                  std::to_string(limit));
}

void Macros::define(std::string_view definition) {
  const Pieces all = pieces_of(definition);
  if (all.empty() || all[0].kind != TokenKind::word) {
    fail("of #define", "has no name; got \"" + std::string(definition) + "\", expected one");
  }
  Macro macro;
  macro.id = next_id_++;
  const std::string& name = all[0].text;
  std::size_t at = 1;
  if (at < all.size() && is_mark(all[at], "(") && !all[at].blank) {
    macro.takes_arguments = true;
    for (++at; at < all.size() && !is_mark(all[at], ")"); ++at) {
      if (all[at].kind == TokenKind::word) macro.parameters.push_back({all[at].text});
      if (is_mark(all[at], ".") && !macro.variadic) {
        macro.variadic = true;
        if (is_mark(all[at - 1], ",") || is_mark(all[at - 1], "(")) {
          macro.parameters.push_back({std::string(kVariadic)});
        }
      }
    }
    if (at == all.size()) fail(name, "has no end of its parameters; expected \")\"");
    ++at;
  }
  Pieces& body = macro.body;
  for (; at < all.size(); ++at) {
    if (is_mark(all[at], "#") && at + 1 < all.size() && is_mark(all[at + 1], "#")) {
      body.push_back({TokenKind::mark, "##", false, 0});
      ++at;
    } else {
      body.push_back(all[at]);
    }
  }
  if (macro.parameters.size() > kMaxParameters) {
    fail(name, "has too many parameters; got " + std::to_string(macro.parameters.size()) +
                   ", expected at most " + std::to_string(kMaxParameters));
  }
  macro.numbers.assign(body.size(), -1);
  for (std::size_t i = 0; i < body.size(); ++i) {
    const auto found =
        std::find_if(macro.parameters.begin(), macro.parameters.end(), [&](const Parameter& each) {
          return body[i].kind == TokenKind::word && each.name == body[i].text;
        });
    if (found == macro.parameters.end()) continue;
    macro.numbers[i] = static_cast<int>(found - macro.parameters.begin());
    Parameter& parameter = *found;
    const bool is_raw = (i > 0 && is_mark(body[i - 1], "#")) || is_pasted(body, i);
    (is_raw ? parameter.is_taken_raw : parameter.is_expanded) = true;
  }
  macros_.insert_or_assign(name, std::move(macro));
}

void Macros::count_work(std::size_t pieces, const std::string& macro) {
  work_ += pieces;
  if (work_ <= kMaxWork) return;
  fail(macro, "makes too much work; got more than " + std::to_string(kMaxWork) +
                  " words to read, expected fewer");
}

Pieces Macros::expand(Pieces pieces) {
  const std::size_t given = pieces.size();
  std::vector<Frame> frames;
  frames.emplace_back(std::move(pieces));
  std::size_t counted = work_;
  for (;;) {
    Frame& frame = frames.back();
    if (Call& call = frame.call; call.macro != nullptr) {
      const std::size_t next = call.expanded.size();
      if (next == call.arguments.size()) {
        end_call(frame);
        continue;
      }
      const Parameter& parameter = call.macro->parameters[next];
      Pieces& raw = call.arguments[next];
      Pieces argument;
      if (parameter.is_expanded) argument = parameter.is_taken_raw ? raw : std::move(raw);
      frames.emplace_back(std::move(argument));
      continue;
    }
    if (frame.rest.empty()) {
      Pieces made = std::move(frame.made);
      frames.pop_back();
      if (frames.empty()) return made;
      frames.back().call.expanded.push_back(std::move(made));
      continue;
    }
    Piece piece = std::move(frame.rest.back());
    frame.rest.pop_back();
    if (piece.is_newline()) {
      line_ += static_cast<int>(std::count(piece.text.begin(), piece.text.end(), '\n'));
    }
    const auto found = piece.kind == TokenKind::word ? macros_.find(piece.text) : macros_.end();
    if (found == macros_.end() || sets_.has(piece.hidden, found->second.id) ||
        !begin_call(frame, piece, found->second)) {
      frame.made.push_back(std::move(piece));
      continue;
    }
    if (work_ - counted < kMaxAlive / 16) continue;
    counted = work_;
    std::size_t alive = 0;
    for (const Frame& each : frames) alive += each.rest.size() + each.made.size();
    if (alive > given + kMaxAlive) fail_size(found->first, alive, given + kMaxAlive);
  }
}

// Takes a macro with its arguments off the frame's text; false where it is not called.
bool Macros::begin_call(Frame& frame, Piece& name, const Macro& macro) {
  Pieces& rest = frame.rest;
  Call call;
  call.macro = &macro;
  call.hidden = name.hidden;
  if (macro.takes_arguments) {
    std::size_t at = rest.size();
    while (at > 0 && rest[at - 1].is_newline()) --at;
    if (at == 0 || !is_mark(rest[at - 1], "(")) return false;
    call.newlines.assign(rest.begin() + static_cast<std::ptrdiff_t>(at), rest.end());
    const std::size_t before = rest.size();
    rest.resize(at - 1);
    call.name = std::move(name);
    read_arguments(rest, call);
    count_work(before - rest.size(), call.name.text);
    // What calls within these arguments leave of it is little.
    if (rest.capacity() > 2 * rest.size() + 64) rest.shrink_to_fit();
  } else {
    call.name = std::move(name);
  }
  frame.call = std::move(call);
  return true;
}

void Macros::read_arguments(Pieces& rest, Call& call) const {
  const Macro& macro = *call.macro;
  const std::size_t wanted = macro.parameters.size();
  std::vector<Pieces>& arguments = call.arguments;
  arguments.emplace_back();
  for (int depth = 0;;) {
    if (rest.empty()) fail(call.name.text, "is called without an end; got no \")\", expected one");
    Piece piece = std::move(rest.back());
    rest.pop_back();
    if (piece.is_newline()) {
      call.newlines.push_back(std::move(piece));
      if (!rest.empty()) rest.back().blank = true;
      continue;
    }
    if (is_mark(piece, ")") && depth-- == 0) {
      call.hidden = piece.hidden;
      break;
    }
    if (is_mark(piece, "(")) ++depth;
    const bool rest_is_one = macro.variadic && arguments.size() == wanted;
    if (is_mark(piece, ",") && depth == 0 && !rest_is_one) {
      arguments.emplace_back();
    } else {
      arguments.back().push_back(std::move(piece));
    }
  }
  if (wanted == 0 && arguments.size() == 1 && arguments[0].empty()) arguments.clear();
  if (macro.variadic && arguments.size() + 1 == wanted) arguments.emplace_back();
  if (arguments.size() != wanted) {
    fail(call.name.text, "has other arguments; got " + std::to_string(arguments.size()) +
                             ", expected " + std::to_string(wanted));
  }
}

// Puts what the call stands for in front of the frame's text.
void Macros::end_call(Frame& frame) {
  Call call = std::move(frame.call);
  frame.call = Call();
  const std::string& name = call.name.text;
  const std::size_t size = size_of(call);
  if (size > kMaxAlive) fail_size(name, size, kMaxAlive);
  count_work(size, name);
  Pieces body = substitute(call);
  const std::size_t kept = sets_.kept();
  const int both = sets_.shared(call.name.hidden, call.hidden);
  const int hidden = sets_.joined(both, sets_.numbered({call.macro->id}));
  int before = -1, after = 0;
  for (Piece& each : body) {
    if (each.hidden != before) {
      before = each.hidden;
      after = sets_.joined(before, hidden);
    }
    each.hidden = after;
  }
  count_work(kWorkOfSets * (sets_.kept() - kept), name);
  if (!body.empty()) body.front().blank |= call.name.blank;
  push(frame.rest, std::move(call.newlines));
  push(frame.rest, std::move(body));
}

// Of what it makes, at most: long words count as several.
std::size_t Macros::size_of(const Call& call) {
  const auto words = [](const Pieces& pieces) {
    std::size_t bytes = 0;
    for (const Piece& piece : pieces) bytes += piece.text.size();
    return pieces.size() + bytes / kBytesOfWord;
  };
  std::vector<std::size_t> largest;  // of each argument, raw or expanded
  for (std::size_t i = 0; i < call.arguments.size(); ++i) {
    largest.push_back(std::max(words(call.arguments[i]), words(call.expanded[i])));
  }
  std::size_t all = words(call.macro->body) + 1;
  for (const int number : call.macro->numbers) {
    if (number >= 0) all += largest[static_cast<std::size_t>(number)];
  }
  return all;
}

Pieces Macros::substitute(const Call& call) {
  const Macro& macro = *call.macro;
  const Pieces& body = macro.body;
  Pieces made;
  for (std::size_t i = 0; i < body.size(); ++i) {
    if (body[i].text == "##") continue;
    const bool glued = i > 0 && body[i - 1].text == "##" && !made.empty();
    const bool quotes = is_mark(body[i], "#") && i + 1 < body.size();
    const int quoted = quotes ? macro.numbers[i + 1] : -1;
    const int number = macro.numbers[i];
    Pieces next;
    if (quoted >= 0) {
      ++i;
      next.push_back(in_quotes(call.arguments[static_cast<std::size_t>(quoted)]));
    } else if (number < 0) {
      next.push_back(body[i]);
    } else {
      const auto at = static_cast<std::size_t>(number);
      next = is_pasted(body, i) ? call.arguments[at] : call.expanded[at];
      const bool rest = macro.variadic && at + 1 == macro.parameters.size();
      if (glued && rest && is_mark(made.back(), ",")) {
        // The comma goes where nothing follows; what follows is not glued to it.
        if (next.empty()) made.pop_back();
        made.insert(made.end(), next.begin(), next.end());
        continue;
      }
      if (next.empty()) next.push_back(nothing());
      next.front().blank = body[i].blank;
    }
    if (glued) {
      paste(made, next.front());
      next.erase(next.begin());
    }
    made.insert(made.end(), std::make_move_iterator(next.begin()),
                std::make_move_iterator(next.end()));
  }
  std::erase_if(made, [](const Piece& piece) { return piece.text.empty(); });
  return made;
}

}  // namespace hearth::gpu
