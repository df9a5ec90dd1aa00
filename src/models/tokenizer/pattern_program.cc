#include "models/tokenizer/pattern_program.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "models/tokenizer/pattern_sets.h"
#include "models/tokenizer/pattern_syntax.h"
#include "models/tokenizer/pattern_text.h"

namespace hearth::models::tokens {
namespace {

constexpr std::size_t kMaxSteps = 20000;
constexpr std::size_t kMaxAssertions = 4;  // each doubles the tables

class PatternCompiler {
 public:
  PatternCompiler(std::string_view text, const std::string& source)
      : text_(text), source_(source) {}

  PatternProgram compile(const PatternNode& node) {
    emit(node);
    add(PatternStep::Kind::match);
    return std::move(program_);
  }

 private:
  using Kind = PatternStep::Kind;

  [[noreturn]] void fail_too_many(const char* what, std::size_t most) const {
    fail_pattern(text_, source_, text_.size(), std::string("too many ") + what,
                 "at most " + std::to_string(most));
  }

  std::uint32_t here() const { return static_cast<std::uint32_t>(program_.steps.size()); }

  std::uint32_t add(Kind kind, std::uint32_t a = 0, std::uint32_t b = 0) {
    if (program_.steps.size() >= kMaxSteps) fail_too_many("steps", kMaxSteps);
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

  std::uint32_t assertion(std::vector<PatternStep> steps) {
    auto& all = program_.assertions;
    if (all.size() >= kMaxAssertions) fail_too_many("look aheads", kMaxAssertions);
    all.push_back({std::move(steps)});
    return static_cast<std::uint32_t>(all.size() - 1);
  }

  std::uint32_t border_of_words() {
    if (!border_) {
      program_.word = index_of(word_ranges());
      border_ = assertion({});
    }
    return *border_;
  }

  // An assertion that the node matches behind a place.
  std::uint32_t ahead(const PatternNode& node) {
    std::vector<PatternStep> outer;
    outer.swap(program_.steps);
    emit(node);
    add(Kind::match);
    outer.swap(program_.steps);
    return assertion(std::move(outer));
  }

  // A fork to what comes next, whose other way set_exit() sets.
  std::uint32_t fork() { return add(Kind::fork); }
  void set_ways(std::uint32_t at, std::uint32_t inside, std::uint32_t outside, bool lazy) {
    program_.steps[at].a = lazy ? outside : inside;
    program_.steps[at].b = lazy ? inside : outside;
  }

  void emit(const PatternNode& node) {
    // Of what is empty there could be any number without a step.
    if (++emitted_ > 4 * kMaxSteps) fail_too_many("parts", 4 * kMaxSteps);
    switch (node.kind) {
      case PatternNode::Kind::set:
        add(Kind::code, index_of(node.set));
        return;
      case PatternNode::Kind::next_is:
        add(Kind::next_is, index_of(node.set));
        return;
      case PatternNode::Kind::next_not:
        add(Kind::next_not, index_of(node.set));
        return;
      case PatternNode::Kind::ahead_is:
        add(Kind::holds, ahead(node.children[0]));
        return;
      case PatternNode::Kind::ahead_not:
        add(Kind::fails, ahead(node.children[0]));
        return;
      case PatternNode::Kind::border:
        add(Kind::holds, border_of_words());
        return;
      case PatternNode::Kind::no_border:
        add(Kind::fails, border_of_words());
        return;
      case PatternNode::Kind::sequence:
        for (const PatternNode& child : node.children) emit(child);
        return;
      case PatternNode::Kind::choice: {
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
      case PatternNode::Kind::repeat:
        repeat(node);
        return;
    }
  }

  void repeat(const PatternNode& node) {
    const PatternNode& body = node.children[0];
    for (std::uint32_t i = 0; i < node.least; ++i) emit(body);
    if (node.most == kUnlimitedRepeats) {
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

  std::string_view text_;
  const std::string& source_;
  PatternProgram program_;
  std::optional<std::uint32_t> border_;
  std::size_t emitted_ = 0;
};

}  // namespace

PatternProgram parse_pattern(std::string_view text, const std::string& source) {
  return PatternCompiler(text, source).compile(parse_pattern_tree(text, source));
}

}  // namespace hearth::models::tokens
