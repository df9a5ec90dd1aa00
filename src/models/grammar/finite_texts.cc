#include "models/grammar/finite_texts.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace hearth::models::grammar {
namespace {

using Ends = std::vector<bool>;  // by rule: whether some text of it was found to end

bool may_end(const Expression& e, const Ends& ends) {
  const auto part_ends = [&](const Expression& part) { return may_end(part, ends); };
  switch (e.kind) {
    case Expression::Kind::literal:
    case Expression::Kind::token:
      return true;
    case Expression::Kind::one_of:
      return !e.ranges.empty();
    case Expression::Kind::rule:
      return ends[e.rule];
    case Expression::Kind::sequence:
      return std::all_of(e.parts.begin(), e.parts.end(), part_ends);
    case Expression::Kind::alternative:
      return std::any_of(e.parts.begin(), e.parts.end(), part_ends);
    case Expression::Kind::repeat:
      return e.least == 0 || part_ends(e.parts[0]);
  }
  return false;
}

void called_rules(const Expression& e, std::vector<std::uint32_t>* out) {
  if (e.kind == Expression::Kind::rule) out->push_back(e.rule);
  for (const Expression& part : e.parts) called_rules(part, out);
}

// Each rule is looked at once, and again when one that it calls was found to end.
Ends rules_that_end(const Syntax& syntax) {
  const std::size_t count = syntax.rules.size();
  std::vector<std::vector<std::uint32_t>> callers(count);
  std::vector<std::uint32_t> calls, waiting;
  for (std::uint32_t rule = 0; rule < count; ++rule) {
    calls.clear();
    called_rules(syntax.rules[rule].body, &calls);
    std::sort(calls.begin(), calls.end());
    calls.erase(std::unique(calls.begin(), calls.end()), calls.end());
    for (const std::uint32_t called : calls) callers[called].push_back(rule);
    waiting.push_back(rule);
  }
  Ends ends(count);
  while (!waiting.empty()) {
    const std::uint32_t rule = waiting.back();
    waiting.pop_back();
    if (ends[rule] || !may_end(syntax.rules[rule].body, ends)) continue;
    ends[rule] = true;
    waiting.insert(waiting.end(), callers[rule].begin(), callers[rule].end());
  }
  return ends;
}

void cut(Expression* e, const Ends& ends) {
  if (e->kind == Expression::Kind::repeat && !may_end(e->parts[0], ends)) {
    *e = {};  // none of it: the empty text
    return;
  }
  if (e->kind == Expression::Kind::alternative) {
    std::erase_if(e->parts, [&](const Expression& part) { return !may_end(part, ends); });
  }
  for (Expression& part : e->parts) cut(&part, ends);
}

}  // namespace

bool keep_finite_texts(Syntax* syntax) {
  const Ends ends = rules_that_end(*syntax);
  if (!ends[syntax->root]) return false;
  // No other is called any more.
  for (std::size_t i = 0; i < ends.size(); ++i) {
    if (ends[i]) cut(&syntax->rules[i].body, ends);
  }
  return true;
}

}  // namespace hearth::models::grammar
