#include "models/grammar/text_states.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "models/grammar/schema_merge.h"
#include "models/tokenizer/unicode.h"

namespace hearth::models::grammar {
namespace {

using TextEdge = TextAutomaton::Edge;
using TextState = TextAutomaton::State;

constexpr std::size_t kMaxLooseStates = std::size_t{1} << 17;

// States with several edges for one code point, and with edges for none; built from the end.
class LooseAutomaton {
 public:
  explicit LooseAutomaton(AutomatonSteps& steps) : steps_(steps) {}

  struct Loose {
    std::vector<TextEdge> edges;
    std::vector<std::uint32_t> targets;  // of edges for no code point
  };

  std::uint32_t add(Loose state) {
    steps_.take(1 + state.edges.size() + state.targets.size());
    if (states_.size() >= kMaxLooseStates) fail_text_states();
    states_.push_back(std::move(state));
    return static_cast<std::uint32_t>(states_.size() - 1);
  }

  std::uint32_t expression(const Expression& e, std::uint32_t to) {
    switch (e.kind) {
      case Expression::Kind::literal: {
        std::vector<std::uint32_t> codes;
        for (std::size_t i = 0; i < e.text.size();) {
          const tokens::Decoded one = tokens::decode_one(e.text, i);
          codes.push_back(one.code);
          i += one.size;
        }
        for (std::size_t i = codes.size(); i-- > 0;) to = add({{{{codes[i], codes[i]}, to}}, {}});
        return to;
      }
      case Expression::Kind::one_of: {
        Loose state;
        for (const CodeRange& codes : e.ranges) state.edges.push_back({codes, to});
        return add(std::move(state));
      }
      case Expression::Kind::sequence:
        for (std::size_t i = e.parts.size(); i-- > 0;) to = expression(e.parts[i], to);
        return to;
      case Expression::Kind::alternative: {
        Loose state;
        for (const Expression& part : e.parts) state.targets.push_back(expression(part, to));
        return add(std::move(state));
      }
      case Expression::Kind::repeat:
        return repeat(e, to);
      case Expression::Kind::rule:
      case Expression::Kind::token:
        break;
    }
    fail_unsupported("rule or token within a text; got one, expected characters only");
  }

  const Loose& operator[](std::uint32_t state) const { return states_[state]; }

 private:
  std::uint32_t repeat(const Expression& e, std::uint32_t to) {
    std::uint32_t next = to;
    if (e.most == Expression::kUnlimited) {
      next = add({{}, {to}});
      const std::uint32_t body = expression(e.parts[0], next);
      states_[next].targets.push_back(body);
    } else {
      for (std::uint32_t i = e.least; i < e.most; ++i) {
        const std::uint32_t body = expression(e.parts[0], next);
        next = add({{}, {body, to}});
      }
    }
    for (std::uint32_t i = 0; i < e.least; ++i) {
      steps_.take(1);
      next = expression(e.parts[0], next);
    }
    return next;
  }

  AutomatonSteps& steps_;
  std::vector<Loose> states_;
};

// Sets of loose states, each of which is one state.
class SubsetBuilder {
 public:
  SubsetBuilder(const LooseAutomaton& loose, std::uint32_t end, AutomatonSteps& steps)
      : loose_(loose), end_(end), steps_(steps) {}

  std::vector<TextState> build(std::uint32_t start) {
    state_of({start});
    for (std::size_t i = 0; i < sets_.size(); ++i) add_edges(i);
    return std::move(out_);
  }

 private:
  using Set = std::vector<std::uint32_t>;

  std::uint32_t state_of(Set set) {
    std::vector<std::uint32_t> work = set;
    std::map<std::uint32_t, bool> seen;
    set.clear();
    while (!work.empty()) {
      const std::uint32_t at = work.back();
      work.pop_back();
      if (!seen.try_emplace(at, true).second) continue;
      steps_.take(1 + loose_[at].targets.size());
      work.insert(work.end(), loose_[at].targets.begin(), loose_[at].targets.end());
    }
    // A state with neither edges nor an end says nothing but through its targets.
    for (const auto& [at, is_seen] : seen) {
      if (at == end_ || !loose_[at].edges.empty()) set.push_back(at);
    }
    const auto [found, is_new] = by_set_.try_emplace(set, static_cast<std::uint32_t>(out_.size()));
    if (is_new) {
      if (out_.size() >= kMaxTextStates) fail_text_states();
      out_.push_back({std::binary_search(set.begin(), set.end(), end_), {}});
      sets_.push_back(std::move(set));
    }
    return found->second;
  }

  // Sweeps over the code points where the edges of the set begin and end.
  void add_edges(std::size_t index) {
    std::map<std::uint32_t, std::vector<std::pair<std::uint32_t, int>>> changes;
    for (const std::uint32_t at : sets_[index]) {
      for (const TextEdge& edge : loose_[at].edges) {
        steps_.take(2);
        changes[edge.codes.first].emplace_back(edge.to, 1);
        changes[edge.codes.second + 1].emplace_back(edge.to, -1);
      }
    }
    std::map<std::uint32_t, int> active;
    for (auto it = changes.begin(); it != changes.end(); ++it) {
      for (const auto& [to, change] : it->second) {
        if ((active[to] += change) == 0) active.erase(to);
      }
      if (active.empty()) continue;
      Set targets;
      for (const auto& [to, count] : active) targets.push_back(to);
      steps_.take(targets.size());
      const std::uint32_t last = std::next(it)->first - 1;
      const std::uint32_t to = state_of(std::move(targets));
      std::vector<TextEdge>& edges = out_[index].edges;
      if (!edges.empty() && edges.back().to == to && edges.back().codes.second + 1 == it->first) {
        edges.back().codes.second = last;
      } else {
        edges.push_back({{it->first, last}, to});
      }
    }
  }

  const LooseAutomaton& loose_;
  std::uint32_t end_;
  AutomatonSteps& steps_;
  std::map<Set, std::uint32_t> by_set_;
  std::vector<Set> sets_;
  std::vector<TextState> out_;
};

}  // namespace

void fail_text_states() {
  fail_unsupported("too large together; got a pattern, length, multiple or names of more than " +
                   std::to_string(kMaxTextStates) + " states, expected less");
}

std::vector<TextAutomaton::State> states_of_texts(const Expression& texts, AutomatonSteps& steps) {
  LooseAutomaton loose(steps);
  const std::uint32_t end = loose.add({});
  const std::uint32_t start = loose.expression(texts, end);
  return SubsetBuilder(loose, end, steps).build(start);
}

}  // namespace hearth::models::grammar
