#include "models/grammar/text_automaton.h"

#include <algorithm>
#include <map>
#include <utility>

#include "models/grammar/schema_merge.h"
#include "models/grammar/text_states.h"
#include "models/tokenizer/unicode.h"

namespace hearth::models::grammar {
namespace {

using Edge = TextAutomaton::Edge;

constexpr int kMaxMergeRounds = 64;

}  // namespace

void AutomatonSteps::take(std::size_t count) {
  if (count > left_) {
    fail_unsupported(
        "too much to combine; got patterns, lengths, multiples and names that cost more together "
        "than a schema may, expected less");
  }
  left_ -= count;
}

CodeRanges all_codes() { return normal_ranges({}, true); }

TextAutomaton::TextAutomaton(std::vector<State> states) : states_(std::move(states)) {
  drop_dead_states();
}

TextAutomaton::TextAutomaton(const Expression& texts, AutomatonSteps& steps) {
  states_ = states_of_texts(texts, steps);
  drop_dead_states();
}

TextAutomaton TextAutomaton::of_lengths(std::int64_t least, std::int64_t most) {
  const std::int64_t last = most < 0 ? least : most;
  if (last >= static_cast<std::int64_t>(kMaxTextStates)) fail_text_states();
  std::vector<State> states;
  for (std::int64_t count = 0; count <= last; ++count) {
    State state;
    state.accepts = count >= least;
    if (count == last && most >= 0) {
      states.push_back(state);
      break;
    }
    const auto to = static_cast<std::uint32_t>(std::min(count + 1, last));
    for (const CodeRange& codes : all_codes()) state.edges.push_back({codes, to});
    states.push_back(state);
  }
  return TextAutomaton(std::move(states));
}

TextAutomaton TextAutomaton::both(const TextAutomaton& other, AutomatonSteps& steps) const {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> known;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
  std::vector<State> out;
  const auto state_of = [&](std::uint32_t a, std::uint32_t b) {
    const auto [found, is_new] =
        known.try_emplace({a, b}, static_cast<std::uint32_t>(pairs.size()));
    if (is_new) {
      if (pairs.size() >= 4 * kMaxTextStates) fail_text_states();
      pairs.emplace_back(a, b);
    }
    return found->second;
  };
  state_of(0, 0);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const State& a = states_[pairs[i].first];
    const State& b = other.states_[pairs[i].second];
    State state{a.accepts && b.accepts, {}};
    steps.take(1 + a.edges.size() + b.edges.size());
    for (auto x = a.edges.begin(), y = b.edges.begin(); x != a.edges.end() && y != b.edges.end();) {
      const std::uint32_t first = std::max(x->codes.first, y->codes.first);
      const std::uint32_t last = std::min(x->codes.second, y->codes.second);
      if (first <= last) state.edges.push_back({{first, last}, state_of(x->to, y->to)});
      (x->codes.second < y->codes.second ? x : y)++;
    }
    out.push_back(std::move(state));
  }
  TextAutomaton found(std::move(out));
  if (found.states_.size() > kMaxTextStates) fail_text_states();
  return found;
}

TextAutomaton TextAutomaton::negated() const {
  std::vector<State> out = states_;
  const auto others = static_cast<std::uint32_t>(out.size());
  out.emplace_back();
  for (State& state : out) {
    state.accepts = !state.accepts;
    std::vector<Edge> edges;
    for (const auto& [first, last] : all_codes()) {
      std::uint32_t next = first;
      for (const Edge& edge : state.edges) {
        if (edge.codes.second < next || edge.codes.first > last) continue;
        if (next < edge.codes.first) edges.push_back({{next, edge.codes.first - 1}, others});
        edges.push_back(
            {{std::max(next, edge.codes.first), std::min(last, edge.codes.second)}, edge.to});
        next = edges.back().codes.second + 1;
      }
      if (next <= last) edges.push_back({{next, last}, others});
    }
    state.edges = std::move(edges);
  }
  return TextAutomaton(std::move(out));
}

TextAutomaton TextAutomaton::merged(AutomatonSteps& steps) const {
  // States stay together while they accept alike and their edges lead to states that do.
  using Key = std::vector<std::uint32_t>;
  std::vector<std::uint32_t> group(states_.size());
  std::size_t count = 0;
  for (int round = 0; round < kMaxMergeRounds; ++round) {
    std::map<Key, std::uint32_t> groups;
    std::vector<std::uint32_t> next;
    for (std::size_t i = 0; i < states_.size(); ++i) {
      Key key{group[i], states_[i].accepts ? 1u : 0u};
      for (const Edge& edge : states_[i].edges) {
        const std::uint32_t to = group[edge.to];
        if (key.size() > 2 && key.back() == to && key[key.size() - 2] + 1 == edge.codes.first) {
          key[key.size() - 2] = edge.codes.second;
        } else {
          key.insert(key.end(), {edge.codes.first, edge.codes.second, to});
        }
      }
      steps.take(key.size());
      next.push_back(groups.try_emplace(std::move(key), static_cast<std::uint32_t>(groups.size()))
                         .first->second);
    }
    group = std::move(next);
    if (groups.size() == count) {
      std::vector<State> out(count);
      for (std::size_t i = states_.size(); i-- > 0;) {
        State& state = out[group[i]] = states_[i];
        for (Edge& edge : state.edges) edge.to = group[edge.to];
      }
      return TextAutomaton(std::move(out));
    }
    count = groups.size();
  }
  return *this;
}

bool TextAutomaton::accepts(std::string_view utf8) const noexcept {
  std::uint32_t at = 0;
  for (std::size_t i = 0; i < utf8.size();) {
    const tokens::Decoded one = tokens::decode_one(utf8, i);
    i += one.size;
    const std::vector<Edge>& edges = states_[at].edges;
    const auto found = std::find_if(edges.begin(), edges.end(), [&](const Edge& edge) {
      return edge.codes.first <= one.code && one.code <= edge.codes.second;
    });
    if (found == edges.end()) return false;
    at = found->to;
  }
  return states_[at].accepts;
}

void TextAutomaton::drop_dead_states() {
  std::vector<std::vector<std::uint32_t>> sources(states_.size());
  std::vector<std::uint32_t> work;
  std::vector<bool> ends(states_.size());
  for (std::uint32_t i = 0; i < states_.size(); ++i) {
    for (const Edge& edge : states_[i].edges) sources[edge.to].push_back(i);
    if (states_[i].accepts) work.push_back(i);
  }
  while (!work.empty()) {
    const std::uint32_t at = work.back();
    work.pop_back();
    if (ends[at]) continue;
    ends[at] = true;
    work.insert(work.end(), sources[at].begin(), sources[at].end());
  }
  std::vector<State> out(1);
  std::vector<std::uint32_t> order{0};
  std::map<std::uint32_t, std::uint32_t> index{{0, 0}};
  for (std::size_t i = 0; i < order.size(); ++i) {
    State state{states_[order[i]].accepts, {}};
    for (const Edge& edge : states_[order[i]].edges) {
      if (!ends[edge.to]) continue;
      const auto [found, is_new] =
          index.try_emplace(edge.to, static_cast<std::uint32_t>(order.size()));
      if (is_new) order.push_back(edge.to);
      state.edges.push_back({edge.codes, found->second});
    }
    out.resize(order.size());
    out[i] = std::move(state);
  }
  states_ = std::move(out);
}

}  // namespace hearth::models::grammar
