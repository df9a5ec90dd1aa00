#include "models/tokenizer/pattern_syntax.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "core/quoted.h"
#include "hearth/error.h"

namespace hearth::models::tokens {
namespace {

constexpr std::uint32_t kMaxRepeats = 1000;
constexpr std::size_t kMaxSteps = 20000;
constexpr int kMaxPatternDepth = 50;
constexpr std::uint32_t kUnlimited = ~0u;

struct Node {
  enum class Kind : std::uint8_t { set, sequence, choice, repeat, next_is, next_not };
  Kind kind = Kind::sequence;
  std::vector<Node> children;
  CodeRanges set;
  std::uint32_t least = 0, most = 0;
  bool lazy = false, possessive = false;
};

bool overlap(const CodeRanges& a, const CodeRanges& b) {
  for (const auto& [first, last] : a) {
    for (const auto& [other_first, other_last] : b) {
      if (first <= other_last && other_first <= last) return true;
    }
  }
  return false;
}

CodeRanges word_ranges() {
  CodeRanges all;
  for (const std::string_view name : {"L", "M", "Nd", "Nl", "Pc"}) {
    const CodeRanges some = category_ranges(name);
    all.insert(all.end(), some.begin(), some.end());
  }
  return merged(std::move(all));
}

class PatternParser {
 public:
  PatternParser(std::string_view text, const std::string& source) : text_(text), source_(source) {}

  Node parse() {
    Node all = choice(0, false);
    if (at_ < text_.size()) fail("an unmatched )");
    return all;
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorCode::unsupported, source_ + ": a pattern with " + what + " at byte " +
                                            std::to_string(at_) + "; got " +
                                            hearth::quoted(text_, 300));
  }

 private:
  bool more() const { return at_ < text_.size(); }
  bool take(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  std::uint32_t code_point() {
    if (!more()) fail("an end where a code point is expected");
    const Decoded one = decode_one(text_, at_);
    if (!one.valid) fail("bytes that are no UTF-8");
    at_ += one.size;
    return one.code;
  }

  Node choice(int depth, bool any_case) {
    if (depth > kMaxPatternDepth) fail("deeply nested groups");
    Node node{Node::Kind::choice, {}, {}, 0, 0, false, false};
    do {
      node.children.push_back(sequence(depth, any_case));
    } while (take("|"));
    return node;
  }

  Node sequence(int depth, bool any_case) {
    Node node;
    while (more() && text_[at_] != '|' && text_[at_] != ')') {
      Node atom = quantified(depth, any_case);
      // Greedy is the same as possessive where what follows cannot take what it gave back.
      if (!node.children.empty() && node.children.back().possessive) {
        const CodeRanges& own = node.children.back().children[0].set;
        const Node& first = atom.kind == Node::Kind::repeat ? atom.children[0] : atom;
        const bool apart = first.kind == Node::Kind::set && !overlap(own, first.set);
        if (!apart) fail("a possessive quantifier before what overlaps");
        // What may be absent leaves the same question to what comes next.
        if (atom.kind == Node::Kind::repeat && atom.least == 0 && more() && text_[at_] != '|' &&
            text_[at_] != ')') {
          fail("a possessive quantifier before what may be absent");
        }
      }
      node.children.push_back(std::move(atom));
    }
    return node;
  }

  Node quantified(int depth, bool any_case) {
    Node body = atom(depth, any_case);
    bool is_first = true;
    while (more()) {
      std::uint32_t least = 0, most = kUnlimited;
      bool braces = false;
      if (take("?")) {
        most = 1;
      } else if (take("+")) {
        least = 1;
      } else if (text_[at_] == '{') {
        if (!counts(least, most)) break;
        braces = true;
      } else if (!take("*")) {
        break;
      }
      if (!is_first) fail("a quantifier of a quantifier");
      is_first = false;
      if (body.kind == Node::Kind::next_is || body.kind == Node::Kind::next_not) {
        fail("a quantifier of what looks ahead");
      }
      Node repeat{Node::Kind::repeat, {}, {}, least, most, false, false};
      repeat.children.push_back(std::move(body));
      if (!braces && take("+")) {
        repeat.possessive = true;
        if (repeat.children[0].kind != Node::Kind::set) fail("a possessive quantifier of a group");
      } else if (take("?")) {
        repeat.lazy = true;
      }
      body = std::move(repeat);
    }
    return body;
  }

  std::optional<std::uint32_t> number() {
    std::optional<std::uint32_t> value;
    while (more() && text_[at_] >= '0' && text_[at_] <= '9') {
      value = value.value_or(0) * 10 + static_cast<std::uint32_t>(text_[at_++] - '0');
      if (*value > kMaxRepeats) fail("a count above " + std::to_string(kMaxRepeats));
    }
    return value;
  }

  // {m}, {m,}, {,n} or {m,n}; of anything else nothing is taken.
  bool counts(std::uint32_t& least, std::uint32_t& most) {
    const std::size_t begin = at_++;
    const auto low = number();
    auto high = low;
    const bool comma = take(",");
    if (comma) high = number();
    if ((!low && !high) || !take("}")) {
      at_ = begin;
      fail("a { that begins no count");
    }
    least = low.value_or(0);
    most = high.value_or(kUnlimited);
    if (most < least) fail("counts in the wrong order");
    return true;
  }

  Node of_set(CodeRanges set) {
    Node node{Node::Kind::set, {}, {}, 0, 0, false, false};
    node.set = std::move(set);
    return node;
  }

  // Of one set, which the group ends after.
  Node look_ahead(Node::Kind kind, int depth, bool any_case) {
    Node inner = choice(depth + 1, any_case);
    if (!take(")")) fail("an open group");
    Node* only = &inner;
    while (only->kind != Node::Kind::set && only->children.size() == 1 &&
           only->kind != Node::Kind::repeat) {
      only = &only->children[0];
    }
    if (only->kind != Node::Kind::set) fail("a look ahead at more than one code point");
    Node node{kind, {}, {}, 0, 0, false, false};
    node.set = std::move(only->set);
    return node;
  }

  Node atom(int depth, bool any_case) {
    if (take("(?:")) return group(depth, any_case);
    if (take("(?i:")) return group(depth, true);
    if (take("(?!")) return look_ahead(Node::Kind::next_not, depth, any_case);
    if (take("(?=")) return look_ahead(Node::Kind::next_is, depth, any_case);
    if (text_.substr(at_).starts_with("(?")) fail("an unknown kind of group");
    if (take("(")) return group(depth, any_case);
    if (take("[")) return of_set(set(any_case));
    if (take(".")) return of_set(complement({{'\n', '\n'}}));
    if (take("$")) {
      Node node{Node::Kind::next_not, {}, {}, 0, 0, false, false};
      node.set = complement({{'\n', '\n'}});
      return node;
    }
    if (const char c = text_[at_]; c == '^' || c == '*' || c == '+' || c == '?') {
      fail(std::string("an unexpected ") + c);
    }
    if (take("\\")) return of_set(escape(any_case));
    return of_set(one(code_point(), any_case));
  }

  Node group(int depth, bool any_case) {
    Node inner = choice(depth + 1, any_case);
    if (!take(")")) fail("an open group");
    return inner;
  }

  CodeRanges one(std::uint32_t code, bool any_case) {
    CodeRanges set = {{code, code}};
    if (any_case) add_cases(set);
    return set;
  }

  // What folds to the same as the ASCII letters of the set.
  void add_cases(CodeRanges& set) {
    CodeRanges more;
    for (const auto& [first, last] : set) {
      if (last >= 0x80) fail("(?i:) of more than ASCII");
      for (std::uint32_t code = first; code <= last; ++code) {
        const std::uint32_t lower = code | 0x20;
        if (lower < 'a' || lower > 'z') continue;
        more.emplace_back(lower, lower);
        more.emplace_back(lower - 0x20, lower - 0x20);
        if (lower == 's') more.emplace_back(0x17f, 0x17f);
        if (lower == 'k') more.emplace_back(0x212a, 0x212a);
      }
    }
    set.insert(set.end(), more.begin(), more.end());
    set = merged(std::move(set));
  }

  std::uint32_t hexadecimal(std::size_t least, std::size_t most) {
    std::uint32_t value = 0;
    std::size_t digits = 0;
    for (; digits < most && more(); ++digits, ++at_) {
      const char c = text_[at_];
      const int digit = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (digit < 0) break;
      value = value << 4 | static_cast<std::uint32_t>(digit);
    }
    if (digits < least || value >= kCodePoints) fail("a bad number of a code point");
    return value;
  }

  CodeRanges property(bool negated) {
    if (!take("{")) fail("\\p without {");
    if (take("^")) negated = !negated;
    const std::size_t end = text_.find('}', at_);
    if (end == std::string_view::npos) fail("an open \\p{");
    CodeRanges set = category_ranges(text_.substr(at_, end - at_));
    if (set.empty()) fail("an unknown property");
    at_ = end + 1;
    return negated ? complement(set) : set;
  }

  // Behind the backslash.
  CodeRanges escape(bool any_case) {
    const std::uint32_t code = code_point();
    switch (code) {
      case 's':
        return space_ranges();
      case 'S':
        return complement(space_ranges());
      case 'd':
        return category_ranges("Nd");
      case 'D':
        return complement(category_ranges("Nd"));
      case 'w':
        return word_ranges();
      case 'W':
        return complement(word_ranges());
      case 'p':
        return property(false);
      case 'P':
        return property(true);
      case 'n':
        return {{'\n', '\n'}};
      case 'r':
        return {{'\r', '\r'}};
      case 't':
        return {{'\t', '\t'}};
      case 'f':
        return {{'\f', '\f'}};
      case 'v':
        return {{'\v', '\v'}};
      case 'u':
        return one(hexadecimal(4, 4), any_case);
      case 'x':
        if (take("{")) {
          const std::uint32_t value = hexadecimal(1, 8);
          if (!take("}")) fail("an open \\x{");
          return one(value, any_case);
        }
        return one(hexadecimal(1, 2), any_case);
      default:
        break;
    }
    const bool is_word =
        (code >= '0' && code <= '9') || ((code | 0x20) >= 'a' && (code | 0x20) <= 'z');
    if (is_word || code >= 0x80) fail("an unknown escape");
    return {{code, code}};
  }

  // Behind the bracket.
  CodeRanges set(bool any_case) {
    const bool negated = take("^");
    CodeRanges all;
    bool is_first = true;
    while (!take("]")) {
      if (!more()) fail("an open set");
      if (text_[at_] == '[' || text_.substr(at_).starts_with("&&")) fail("a set of sets");
      if (text_[at_] == ']' && is_first) fail("an empty set");
      CodeRanges some = take("\\") ? escape(false) : one(code_point(), false);
      is_first = false;
      const bool is_code = some.size() == 1 && some[0].first == some[0].second;
      if (is_code && text_.substr(at_).starts_with("-") && !text_.substr(at_).starts_with("-]")) {
        ++at_;
        const CodeRanges end = take("\\") ? escape(false) : one(code_point(), false);
        if (end.size() != 1 || end[0].first != end[0].second || end[0].first < some[0].first) {
          fail("a bad range");
        }
        some[0].second = end[0].first;
      }
      all.insert(all.end(), some.begin(), some.end());
    }
    all = merged(std::move(all));
    if (any_case) add_cases(all);
    return negated ? complement(all) : all;
  }

  std::string_view text_;
  const std::string& source_;
  std::size_t at_ = 0;
};

class PatternCompiler {
 public:
  PatternCompiler(PatternParser& parser) : parser_(parser) {}

  PatternProgram compile(const Node& node) {
    emit(node);
    add(PatternStep::Kind::match);
    return std::move(program_);
  }

 private:
  using Kind = PatternStep::Kind;

  std::uint32_t here() const { return static_cast<std::uint32_t>(program_.steps.size()); }

  std::uint32_t add(Kind kind, std::uint32_t a = 0, std::uint32_t b = 0) {
    if (program_.steps.size() >= kMaxSteps) parser_.fail("too many steps");
    program_.steps.push_back({kind, a, b});
    return here() - 1;
  }

  std::uint32_t index_of(const CodeRanges& set) {
    auto& sets = program_.sets;
    const auto at = std::find(sets.begin(), sets.end(), set);
    if (at != sets.end()) return static_cast<std::uint32_t>(at - sets.begin());
    sets.push_back(set);
    return static_cast<std::uint32_t>(sets.size() - 1);
  }

  // A fork to what comes next, whose other way set_exit() sets.
  std::uint32_t fork() { return add(Kind::fork); }
  void set_ways(std::uint32_t at, std::uint32_t inside, std::uint32_t outside, bool lazy) {
    program_.steps[at].a = lazy ? outside : inside;
    program_.steps[at].b = lazy ? inside : outside;
  }

  void emit(const Node& node) {
    // Of what is empty there could be any number without a step.
    if (++emitted_ > 4 * kMaxSteps) parser_.fail("too many steps");
    switch (node.kind) {
      case Node::Kind::set:
        add(Kind::code, index_of(node.set));
        return;
      case Node::Kind::next_is:
        add(Kind::next_is, index_of(node.set));
        return;
      case Node::Kind::next_not:
        add(Kind::next_not, index_of(node.set));
        return;
      case Node::Kind::sequence:
        for (const Node& child : node.children) emit(child);
        return;
      case Node::Kind::choice: {
        std::vector<std::uint32_t> ends;
        for (std::size_t i = 0; i + 1 < node.children.size(); ++i) {
          const std::uint32_t at = fork();
          emit(node.children[i]);
          ends.push_back(add(Kind::jump));
          set_ways(at, at + 1, here(), false);
        }
        emit(node.children.back());
        for (const std::uint32_t end : ends) program_.steps[end].a = here();
        return;
      }
      case Node::Kind::repeat:
        repeat(node);
        return;
    }
  }

  void repeat(const Node& node) {
    const Node& body = node.children[0];
    for (std::uint32_t i = 0; i < node.least; ++i) emit(body);
    if (node.most == kUnlimited) {
      const std::uint32_t at = fork();
      emit(body);
      add(Kind::jump, at);
      set_ways(at, at + 1, here(), node.lazy);
      return;
    }
    std::vector<std::uint32_t> forks;
    for (std::uint32_t i = node.least; i < node.most; ++i) {
      forks.push_back(fork());
      emit(body);
    }
    for (const std::uint32_t at : forks) set_ways(at, at + 1, here(), node.lazy);
  }

  PatternParser& parser_;
  PatternProgram program_;
  std::size_t emitted_ = 0;
};

}  // namespace

CodeRanges merged(CodeRanges ranges) {
  std::sort(ranges.begin(), ranges.end());
  CodeRanges out;
  for (const auto& [first, last] : ranges) {
    if (!out.empty() && first <= out.back().second + 1) {
      out.back().second = std::max(out.back().second, last);
    } else {
      out.emplace_back(first, last);
    }
  }
  return out;
}

CodeRanges complement(const CodeRanges& ranges) {
  CodeRanges out;
  std::uint32_t next = 0;
  for (const auto& [first, last] : ranges) {
    if (next < first) out.emplace_back(next, first - 1);
    next = last + 1;
  }
  if (next < kCodePoints) out.emplace_back(next, kCodePoints - 1);
  return out;
}

PatternProgram parse_pattern(std::string_view text, const std::string& source) {
  PatternParser parser(text, source);
  const Node tree = parser.parse();
  return PatternCompiler(parser).compile(tree);
}

}  // namespace hearth::models::tokens
