#include "models/tokenizer/pattern_assertions.h"

#include <map>

namespace hearth::models::tokens {
namespace {

constexpr std::size_t kMaxEntries = std::size_t{1} << 20;
constexpr std::size_t kMaxVisits = std::size_t{1} << 24;  // of steps while building
constexpr std::size_t kMaxBits = std::size_t{1} << 25;    // of all states together

// For each step of an assertion: whether there is a match from it on, at some place of a text.
using Matching = std::vector<bool>;

class AssertionBuilder {
 public:
  AssertionBuilder(const std::vector<PatternStep>& steps,
                   const std::vector<std::vector<bool>>& contents)
      : steps_(steps), contents_(contents) {}

  // What the steps match at a place, given what they match behind the code point there.
  Matching before(const Matching& behind, std::size_t kind, std::size_t bits) {
    const bool at_end = kind == contents_.size();
    const auto in_set = [&](std::uint32_t set) { return !at_end && contents_[kind][set]; };
    Matching here(steps_.size());
    // Steps go on at later ones, but for those that repeat.
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t i = steps_.size(); i-- > 0;) {
        if (here[i]) continue;
        const PatternStep& step = steps_[i];
        switch (step.kind) {
          case PatternStep::Kind::code:
            here[i] = in_set(step.a) && behind[i + 1];
            break;
          case PatternStep::Kind::fork:
            here[i] = here[step.a] || here[step.b];
            break;
          case PatternStep::Kind::jump:
            here[i] = here[step.a];
            break;
          case PatternStep::Kind::next_is:
            here[i] = in_set(step.a) && here[i + 1];
            break;
          case PatternStep::Kind::next_not:
            here[i] = !in_set(step.a) && here[i + 1];
            break;
          case PatternStep::Kind::holds:
            here[i] = (bits >> step.a & 1) != 0 && here[i + 1];
            break;
          case PatternStep::Kind::fails:
            here[i] = (bits >> step.a & 1) == 0 && here[i + 1];
            break;
          case PatternStep::Kind::match:
            here[i] = true;
            break;
        }
        changed = changed || here[i];
      }
      visits_ += steps_.size();
    }
    return here;
  }

  std::size_t visits() const { return visits_; }

 private:
  const std::vector<PatternStep>& steps_;
  const std::vector<std::vector<bool>>& contents_;
  std::size_t visits_ = 0;
};

}  // namespace

std::optional<std::vector<std::uint32_t>> assertion_table(
    const PatternProgram& program, std::size_t index,
    const std::vector<std::vector<bool>>& contents) {
  const std::vector<PatternStep>& steps = program.assertions[index].steps;
  AssertionBuilder builder(steps, contents);
  const std::size_t classes = contents.size() + 1;
  std::map<Matching, std::uint32_t> states;
  std::vector<Matching> pending;
  const auto state_of = [&](const Matching& matching) {
    const auto [found, is_new] =
        states.try_emplace(matching, static_cast<std::uint32_t>(states.size()));
    if (is_new) pending.push_back(matching);
    return found->second;
  };
  state_of(Matching(steps.size()));
  std::vector<std::uint32_t> table;
  for (std::size_t state = 0; state < pending.size(); ++state) {
    for (std::size_t symbol = 0; symbol < classes << index; ++symbol) {
      if (table.size() >= kMaxEntries || builder.visits() > kMaxVisits ||
          states.size() * steps.size() > kMaxBits) {
        return std::nullopt;
      }
      const Matching here =
          builder.before(Matching(pending[state]), symbol % classes, symbol / classes);
      table.push_back(state_of(here) << 1 | (here[0] ? 1u : 0u));
    }
  }
  return table;
}

}  // namespace hearth::models::tokens
