#include "models/grammar/automaton.h"

#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hearth/error.h"

namespace hearth::models::grammar {
namespace {

constexpr std::size_t kMaxStates = std::size_t{1} << 20;
constexpr std::size_t kMaxSteps = std::size_t{1} << 22;  // of building, states or not

[[noreturn]] void fail_size() {
  throw GrammarTooLarge("grammar: too large; got more than " + std::to_string(kMaxStates) +
                        " states with all repetitions written out, expected less");
}

}  // namespace

// Builds from the end: an expression is given the state behind it and gives its first.
class AutomatonBuilder {
 public:
  AutomatonBuilder(const Syntax& syntax, Automaton& out) : syntax_(syntax), out_(out) {}

  void build() {
    out_.states_.emplace_back();  // Automaton::kEnd
    // Calls name the states of rules before these are built.
    for (std::size_t i = 0; i < syntax_.rules.size(); ++i) split({Automaton::kEnd});
    for (std::size_t i = 0; i < syntax_.rules.size(); ++i) {
      const std::uint32_t body = expression(syntax_.rules[i].body, Automaton::kEnd);
      out_.targets_[out_.states_[entry(i)].first] = body;
    }
    out_.start_ = entry(syntax_.root);
    refuse_left_recursion();
  }

 private:
  static std::uint32_t entry(std::size_t rule) { return static_cast<std::uint32_t>(rule) + 1; }

  std::uint32_t add(const State& state) {
    if (out_.states_.size() >= kMaxStates) fail_size();
    out_.states_.push_back(state);
    return static_cast<std::uint32_t>(out_.states_.size() - 1);
  }

  std::uint32_t split(const std::vector<std::uint32_t>& targets) {
    State state;
    state.kind = State::Kind::split;
    state.first = static_cast<std::uint32_t>(out_.targets_.size());
    state.count = static_cast<std::uint32_t>(targets.size());
    out_.targets_.insert(out_.targets_.end(), targets.begin(), targets.end());
    if (out_.targets_.size() > kMaxSteps) fail_size();
    return add(state);
  }

  std::uint32_t bytes(const std::vector<ByteEdge>& edges) {
    State state;
    state.kind = State::Kind::bytes;
    state.first = static_cast<std::uint32_t>(out_.edges_.size());
    state.count = static_cast<std::uint32_t>(edges.size());
    out_.edges_.insert(out_.edges_.end(), edges.begin(), edges.end());
    if (out_.edges_.size() > kMaxSteps) fail_size();
    return add(state);
  }

  std::uint32_t one_of(const CodeRanges& ranges, std::uint32_t to) {
    // Sequences that end alike share the states of their ends.
    std::map<std::vector<std::uint32_t>, std::uint32_t> ends;
    std::vector<ByteEdge> edges;
    for (const ByteSequence& sequence : utf8_sequences(ranges)) {
      std::uint32_t next = to;
      std::vector<std::uint32_t> key;
      for (std::uint32_t i = sequence.size; i-- > 1;) {
        const ByteRange range = sequence.bytes[i];
        key.push_back(static_cast<std::uint32_t>(range.low) << 8 | range.high);
        const auto [found, is_new] = ends.try_emplace(key, 0);
        if (is_new) found->second = bytes({{range, next}});
        next = found->second;
      }
      edges.push_back({sequence.bytes[0], next});
    }
    return bytes(edges);
  }

  std::uint32_t repeat(const Expression& e, std::uint32_t to) {
    std::uint32_t next = to;
    if (e.most == Expression::kUnlimited) {
      next = split({to, to});
      const std::uint32_t body = expression(e.parts[0], next);
      out_.targets_[out_.states_[next].first] = body;
    } else {
      for (std::uint32_t i = e.least; i < e.most; ++i) {
        step();
        next = split({expression(e.parts[0], next), to});
      }
    }
    for (std::uint32_t i = 0; i < e.least; ++i) {
      step();
      next = expression(e.parts[0], next);
    }
    return next;
  }

  // Whether all parts are texts, which are then sorted in `texts` without doubles.
  static bool are_literals(const std::vector<Expression>& parts, std::vector<std::string>* texts) {
    for (const Expression& part : parts) {
      std::string text;
      if (!add_literal(part, &text)) return false;
      texts->push_back(std::move(text));
    }
    std::sort(texts->begin(), texts->end());
    texts->erase(std::unique(texts->begin(), texts->end()), texts->end());
    return true;
  }

  static bool add_literal(const Expression& e, std::string* text) {
    if (e.kind == Expression::Kind::literal) {
      *text += e.text;
      return true;
    }
    if (e.kind != Expression::Kind::sequence) return false;
    return std::all_of(e.parts.begin(), e.parts.end(),
                       [&](const Expression& part) { return add_literal(part, text); });
  }

  // Sorted texts, which are alike before `at`, as a tree: however many they are, reading one stands
  // at a single place.
  std::uint32_t tree(std::span<const std::string> texts, std::size_t at, std::uint32_t to) {
    step();
    const std::string &first = texts.front(), &last = texts.back();
    std::size_t fork = at;
    while (fork < first.size() && fork < last.size() && first[fork] == last[fork]) ++fork;
    std::uint32_t next = to;
    if (texts.size() > 1) {
      const bool may_end = first.size() == fork;
      std::vector<ByteEdge> edges;
      for (std::size_t begin = may_end ? 1 : 0, end = begin; begin < texts.size(); begin = end) {
        const char c = texts[begin][fork];
        while (end < texts.size() && texts[end][fork] == c) ++end;
        const auto byte = static_cast<std::uint8_t>(c);
        edges.push_back({{byte, byte}, tree(texts.subspan(begin, end - begin), fork + 1, to)});
      }
      next = bytes(edges);
      if (may_end) next = split({next, to});
    }
    for (std::size_t i = fork; i-- > at;) {
      const auto byte = static_cast<std::uint8_t>(first[i]);
      next = bytes({{{byte, byte}, next}});
    }
    return next;
  }

  std::uint32_t expression(const Expression& e, std::uint32_t to) {
    step();
    switch (e.kind) {
      case Expression::Kind::literal:
        for (std::size_t i = e.text.size(); i-- > 0;) {
          const auto byte = static_cast<std::uint8_t>(e.text[i]);
          to = bytes({{{byte, byte}, to}});
        }
        return to;
      case Expression::Kind::one_of:
        return one_of(e.ranges, to);
      case Expression::Kind::token: {
        State state;
        state.kind = State::Kind::token;
        state.token = e.token;
        state.is_negated = e.is_negated;
        state.to = to;
        return add(state);
      }
      case Expression::Kind::rule: {
        State state;
        state.kind = State::Kind::call;
        state.target = entry(e.rule);
        state.to = to;
        return add(state);
      }
      case Expression::Kind::sequence:
        for (std::size_t i = e.parts.size(); i-- > 0;) to = expression(e.parts[i], to);
        return to;
      case Expression::Kind::alternative: {
        if (std::vector<std::string> texts; are_literals(e.parts, &texts)) {
          return tree(texts, 0, to);
        }
        std::vector<std::uint32_t> targets;
        for (const Expression& part : e.parts) targets.push_back(expression(part, to));
        return split(targets);
      }
      case Expression::Kind::repeat:
        return repeat(e, to);
    }
    return to;
  }

  void step() {
    if (++steps_ > kMaxSteps) fail_size();
  }

  // Whether a rule may be the empty text, for all rules: grows until nothing changes.
  std::vector<bool> empty_rules() const {
    std::vector<bool> empty(syntax_.rules.size());
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t i = 0; i < empty.size(); ++i) {
        if (!empty[i] && may_be_empty(syntax_.rules[i].body, empty)) empty[i] = changed = true;
      }
    }
    return empty;
  }

  static bool may_be_empty(const Expression& e, const std::vector<bool>& empty) {
    switch (e.kind) {
      case Expression::Kind::literal:
        return e.text.empty();
      case Expression::Kind::one_of:
      case Expression::Kind::token:
        return false;
      case Expression::Kind::rule:
        return empty[e.rule];
      case Expression::Kind::sequence:
        for (const Expression& part : e.parts) {
          if (!may_be_empty(part, empty)) return false;
        }
        return true;
      case Expression::Kind::alternative:
        for (const Expression& part : e.parts) {
          if (may_be_empty(part, empty)) return true;
        }
        return false;
      case Expression::Kind::repeat:
        return e.least == 0 || may_be_empty(e.parts[0], empty);
    }
    return false;
  }

  // The rules that the expression may begin with.
  static void first_rules(const Expression& e, const std::vector<bool>& empty,
                          std::vector<std::uint32_t>& out) {
    if (e.kind == Expression::Kind::rule) out.push_back(e.rule);
    for (const Expression& part : e.parts) {
      first_rules(part, empty, out);
      if (e.kind == Expression::Kind::sequence && !may_be_empty(part, empty)) return;
    }
  }

  void refuse_left_recursion() const {
    const std::size_t count = syntax_.rules.size();
    const std::vector<bool> empty = empty_rules();
    std::vector<std::vector<std::uint32_t>> begins(count);
    for (std::size_t i = 0; i < count; ++i) {
      first_rules(syntax_.rules[i].body, empty, begins[i]);
    }
    enum class Mark : std::uint8_t { fresh, open, done };
    std::vector<Mark> marks(count, Mark::fresh);
    std::vector<std::pair<std::uint32_t, std::size_t>> path;
    for (std::uint32_t rule = 0; rule < count; ++rule) {
      if (marks[rule] != Mark::fresh) continue;
      marks[rule] = Mark::open;
      path.emplace_back(rule, 0);
      while (!path.empty()) {
        auto& [at, next] = path.back();
        if (next == begins[at].size()) {
          marks[at] = Mark::done;
          path.pop_back();
          continue;
        }
        const std::uint32_t called = begins[at][next++];
        if (marks[called] == Mark::open) fail_recursion(syntax_.rules[called]);
        if (marks[called] == Mark::fresh) {
          marks[called] = Mark::open;
          path.emplace_back(called, 0);
        }
      }
    }
  }

  [[noreturn]] static void fail_recursion(const Rule& rule) {
    throw LeftRecursion("grammar: a rule may begin with itself; got `" + rule.name + "` at byte " +
                        std::to_string(rule.offset) + ", expected no left recursion");
  }

  const Syntax& syntax_;
  Automaton& out_;
  std::size_t steps_ = 0;
};

Automaton::Automaton(const Syntax& syntax) {
  AutomatonBuilder(syntax, *this).build();
  find_classes();
}

void Automaton::find_classes() {
  std::array<bool, 257> begins{};
  begins[0] = true;
  for (const ByteEdge& edge : edges_) {
    begins[edge.bytes.low] = true;
    begins[edge.bytes.high + 1u] = true;
  }
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    if (begins[byte]) byte_of_class_[classes_++] = static_cast<std::uint8_t>(byte);
    class_of_[byte] = static_cast<std::uint8_t>(classes_ - 1);
  }
}

}  // namespace hearth::models::grammar
