#include "models/tokenizer/pattern_syntax.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "models/tokenizer/pattern_sets.h"
#include "models/tokenizer/pattern_text.h"

namespace hearth::models::tokens {
namespace {

constexpr std::uint32_t kMaxRepeats = 1000;
constexpr int kMaxPatternDepth = 50;

PatternNode node_of(PatternNode::Kind kind, CodeRanges set = {}) {
  PatternNode node{kind, {}, {}, 0, 0, false, false};
  node.set = std::move(set);
  return node;
}

bool takes_nothing(PatternNode::Kind kind) {
  using Kind = PatternNode::Kind;
  return kind != Kind::set && kind != Kind::sequence && kind != Kind::choice &&
         kind != Kind::repeat;
}

bool may_be_empty(const PatternNode& node) {
  const auto& all = node.children;
  switch (node.kind) {
    case PatternNode::Kind::set:
      return false;
    case PatternNode::Kind::sequence:
      return std::all_of(all.begin(), all.end(), may_be_empty);
    case PatternNode::Kind::choice:
      return std::any_of(all.begin(), all.end(), may_be_empty);
    case PatternNode::Kind::repeat:
      return node.least == 0 || may_be_empty(all[0]);
    default:
      return true;
  }
}

class PatternParser {
 public:
  PatternParser(std::string_view text, const std::string& source) : text_(text, source) {}

  PatternNode parse() {
    PatternNode all = choice(0, false);
    if (text_.more()) text_.fail("an unmatched )", "\\) for the character itself");
    return all;
  }

 private:
  using Kind = PatternNode::Kind;

  bool at_end_of_sequence() const { return !text_.more() || ends_sequence(text_.peek()); }
  static bool ends_sequence(char c) { return c == '|' || c == ')'; }

  PatternNode choice(int depth, bool any_case) {
    if (depth > kMaxPatternDepth) {
      text_.fail("deeply nested groups", "at most " + std::to_string(kMaxPatternDepth) + " levels");
    }
    PatternNode node = node_of(Kind::choice);
    do {
      node.children.push_back(sequence(depth, any_case));
    } while (text_.take("|"));
    return node;
  }

  PatternNode sequence(int depth, bool any_case) {
    PatternNode node;
    while (!at_end_of_sequence()) {
      PatternNode atom = quantified(depth, any_case);
      // Greedy is the same as possessive where what follows cannot take what it gave back.
      if (!node.children.empty() && node.children.back().possessive) {
        const CodeRanges& own = node.children.back().children[0].set;
        const PatternNode& first = atom.kind == Kind::repeat ? atom.children[0] : atom;
        const bool apart = first.kind == Kind::set && !overlap(own, first.set);
        if (!apart) {
          text_.fail("a possessive quantifier before what overlaps",
                     "a set apart from its own behind it");
        }
        // What may be absent leaves the same question to what comes next.
        if (atom.kind == Kind::repeat && atom.least == 0 && !at_end_of_sequence()) {
          text_.fail("a possessive quantifier before what may be absent",
                     "what is always there behind it");
        }
      }
      node.children.push_back(std::move(atom));
    }
    return node;
  }

  PatternNode quantified(int depth, bool any_case) {
    PatternNode body = atom(depth, any_case);
    bool is_first = true;
    while (text_.more()) {
      std::uint32_t least = 0, most = kUnlimitedRepeats;
      bool braces = false;
      if (text_.take("?")) {
        most = 1;
      } else if (text_.take("+")) {
        least = 1;
      } else if (text_.peek() == '{') {
        counts(least, most);
        braces = true;
      } else if (!text_.take("*")) {
        break;
      }
      if (!is_first) text_.fail("a quantifier of a quantifier", "one alone");
      is_first = false;
      if (takes_nothing(body.kind)) {
        text_.fail("a quantifier of what takes no characters", "it behind what takes some");
      }
      // Engines differ in how often they take nothing.
      if (most > 1 && may_be_empty(body)) {
        text_.fail("a quantifier of what may be nothing", "it behind what takes some characters");
      }
      PatternNode repeat{Kind::repeat, {}, {}, least, most, false, false};
      repeat.children.push_back(std::move(body));
      if (!braces && text_.take("+")) {
        repeat.possessive = true;
        if (repeat.children[0].kind != Kind::set) {
          text_.fail("a possessive quantifier of a group", "it behind one set");
        }
      } else if (text_.take("?")) {
        repeat.lazy = true;
      }
      body = std::move(repeat);
    }
    return body;
  }

  std::optional<std::uint32_t> number() {
    std::optional<std::uint32_t> value;
    while (text_.more() && text_.peek() >= '0' && text_.peek() <= '9') {
      value = value.value_or(0) * 10 + static_cast<std::uint32_t>(text_.peek() - '0');
      text_.go_to(text_.place() + 1);
      if (*value > kMaxRepeats) {
        text_.fail("a count out of range", "at most " + std::to_string(kMaxRepeats));
      }
    }
    return value;
  }

  // {m}, {m,}, {,n} or {m,n}.
  void counts(std::uint32_t& least, std::uint32_t& most) {
    const std::size_t begin = text_.place();
    text_.take("{");
    const auto low = number();
    auto high = low;
    if (text_.take(",")) high = number();
    if ((!low && !high) || !text_.take("}")) {
      text_.go_to(begin);
      text_.fail("a { that begins no count",
                 "{m}, {m,}, {,n} or {m,n}, or \\{ for the character itself");
    }
    least = low.value_or(0);
    most = high.value_or(kUnlimitedRepeats);
    if (most < least) text_.fail("counts in the wrong order", "the lower one first");
  }

  // Behind (?= or (?!. One set is looked at by the state that stands before it, all else by
  // another pass over the text.
  PatternNode look_ahead(bool negated, int depth, bool any_case) {
    PatternNode inner = group(depth, any_case);
    PatternNode* only = &inner;
    while (only->kind != Kind::set && only->kind != Kind::repeat && only->children.size() == 1) {
      only = &only->children[0];
    }
    if (only->kind == Kind::set) {
      return node_of(negated ? Kind::next_not : Kind::next_is, std::move(only->set));
    }
    PatternNode node = node_of(negated ? Kind::ahead_not : Kind::ahead_is);
    node.children.push_back(std::move(inner));
    return node;
  }

  PatternNode atom(int depth, bool any_case) {
    if (text_.take("(?:")) return group(depth, any_case);
    if (text_.take("(?i:")) return group(depth, true);
    if (text_.take("(?!")) return look_ahead(true, depth, any_case);
    if (text_.take("(?=")) return look_ahead(false, depth, any_case);
    if (text_.begins_with("(?"))
      text_.fail("an unknown kind of group", "one of ( (?: (?i: (?= (?!");
    if (text_.take("(")) return group(depth, any_case);
    if (text_.take("[")) return node_of(Kind::set, read_set(text_, any_case));
    if (text_.take(".")) return node_of(Kind::set, complement({{'\n', '\n'}}));
    if (text_.take("$")) return node_of(Kind::next_not, complement({{'\n', '\n'}}));
    if (const char c = text_.peek(); c == '^' || c == '*' || c == '+' || c == '?') {
      text_.fail(std::string("an unexpected ") + c,
                 std::string("\\") + c + " for the character itself");
    }
    if (text_.take("\\b")) return node_of(Kind::border);
    if (text_.take("\\B")) return node_of(Kind::no_border);
    if (text_.take("\\")) return node_of(Kind::set, read_escape(text_, any_case));
    return node_of(Kind::set, one_code_point(text_.code_point(), any_case, text_));
  }

  // Behind the parenthesis and what follows it.
  PatternNode group(int depth, bool any_case) {
    PatternNode inner = choice(depth + 1, any_case);
    if (!text_.take(")")) text_.fail("an open group", "a ) that ends it");
    return inner;
  }

  PatternText text_;
};

}  // namespace

PatternNode parse_pattern_tree(std::string_view text, const std::string& source) {
  return PatternParser(text, source).parse();
}

}  // namespace hearth::models::tokens
