#include "models/grammar/schema_multiples.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "models/grammar/schema_merge.h"

namespace hearth::models::grammar {
namespace {

constexpr std::uint32_t kMaxDivisor = 10'000;
constexpr std::size_t kMaxDivisorFraction = 12;

}  // namespace

TextAutomaton multiples_of(const Decimal& divisor, AutomatonSteps& steps) {
  if (divisor.is_negative || divisor.is_zero()) {
    fail_schema("`multipleOf` out of range; got a number that is not above 0, expected more");
  }
  const std::string text = divisor.digits + divisor.fraction;
  const std::string digits = text.substr(text.find_first_not_of('0'));
  const std::size_t fraction = divisor.fraction.size();
  if (digits.size() > 5 || std::stoul(digits) > kMaxDivisor || fraction > kMaxDivisorFraction) {
    fail_unsupported("`multipleOf` too large; got " + divisor.digits +
                     (fraction == 0 ? "" : "." + divisor.fraction) + ", expected at most " +
                     std::to_string(kMaxDivisor) + " without its point, and " +
                     std::to_string(kMaxDivisorFraction) + " digits behind it");
  }
  const auto by = static_cast<std::uint32_t>(std::stoul(digits));
  // A state is what the digits so far leave of the division, and where they end: before the point
  // (0), right behind it (1) or behind digits there. As many zeros more as the divisor has digits
  // behind the point must leave nothing.
  const auto state_of = [&](std::uint32_t rest, std::size_t place) {
    return 2 + static_cast<std::uint32_t>(place) * by + rest;
  };
  const std::size_t places = fraction == 0 ? 1 : fraction + 2;
  steps.take(state_of(0, places) * std::size_t{11});
  std::vector<TextAutomaton::State> states(state_of(0, places));
  const auto add_digits = [&](TextAutomaton::State& state, std::uint32_t rest, std::size_t place) {
    for (std::uint32_t digit = '0'; digit <= '9'; ++digit) {
      const std::uint32_t next = (rest * 10 + digit - '0') % by;
      state.edges.push_back({{digit, digit}, state_of(next, place)});
    }
  };
  states[0].edges.push_back({{'-', '-'}, 1});
  add_digits(states[0], 0, 0);
  add_digits(states[1], 0, 0);
  for (std::size_t place = 0; place < places; ++place) {
    for (std::uint32_t rest = 0; rest < by; ++rest) {
      TextAutomaton::State& state = states[state_of(rest, place)];
      std::uint32_t last = rest;
      for (std::size_t i = std::max<std::size_t>(place, 1) - 1; i < fraction; ++i) {
        last = last * 10 % by;
      }
      state.accepts = last == 0;
      if (place == 0 && fraction > 0) state.edges.push_back({{'.', '.'}, state_of(rest, 1)});
      if (place <= fraction) add_digits(state, rest, place == 0 ? 0 : place + 1);
    }
  }
  return TextAutomaton(std::move(states)).merged(steps);
}

}  // namespace hearth::models::grammar
