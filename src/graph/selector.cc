#include "graph/selector.h"

#include <algorithm>
#include <optional>
#include <set>

#include "graph/channels_last.h"
#include "graph/op_def.h"
#include "graph/record/node.h"
#include "graph/switches.h"
#include "hearth/error.h"

namespace hearth {
namespace {

using runtime::SelectionRule;

// What rules may name: for each op its implementations and their variants.
struct Names {
  std::mutex mutex;
  std::unordered_map<std::string, std::set<std::string>> of_op;
};

Names& known_names() {
  static auto* const names = new Names;  // lives as long as the process
  return *names;
}

std::string listed(const std::set<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

void check(const SelectionRule& rule) {
  Names& known = known_names();
  const std::lock_guard lock(known.mutex);
  const auto at = known.of_op.find(rule.op);
  if (at == known.of_op.end()) {
    std::set<std::string> ops;
    for (const auto& [op, names] : known.of_op) {
      if (names.size() > 1) ops.insert(op);
    }
    throw Error(ErrorCode::invalid_argument,
                "environment: HEARTH_CHOICES: no op that has a choice; got '" + rule.op +
                    "', expected one of " + listed(ops));
  }
  const bool is_known =
      std::any_of(at->second.begin(), at->second.end(),
                  [&](const std::string& name) { return runtime::is_wanted(name, rule.name); });
  if (is_known) return;
  throw Error(ErrorCode::invalid_argument, "environment: HEARTH_CHOICES: no implementation of " +
                                               rule.op + "; got '" + rule.name +
                                               "', expected one of " + listed(at->second));
}

// Whether the rule names the implementation, or one of its variants.
bool names(const SelectionRule& rule, const Implementation& implementation) {
  return runtime::is_wanted(implementation.name, rule.name) ||
         runtime::is_wanted(rule.name, implementation.name);
}

// Whether its sums are those that the thread's numerics ask for.
bool keeps_numerics(const Implementation& implementation) {
  return implementation.row_bits == RowBits::own ||
         (implementation.row_bits == RowBits::chosen) == switches().batch_invariant;
}

bool serves(const Implementation& implementation, const Signature& signature,
            const runtime::DeviceTraits& device) {
  return keeps_numerics(implementation) &&
         (implementation.accepts == nullptr || implementation.accepts(signature)) &&
         (implementation.fits == nullptr || implementation.fits(signature)) &&
         (implementation.opens == nullptr || implementation.opens(device));
}

// Whether it could run what was laid out, and left out, for `chosen`.
bool stands_in(const Implementation& implementation, const Implementation& chosen,
               const Signature& signature, const runtime::DeviceTraits& device) {
  std::uint32_t omitted = 0;
  for (int i = 0; i < signature.output_count(); ++i) {
    if (signature.output_at(i).absent) omitted |= 1u << i;
  }
  const bool lies =
      implementation.layout == LayoutNeed::strided || implementation.layout == chosen.layout;
  const bool writes = is_dense(signature.output.shape, signature.output.strides) ||
                      (is_channels_last(signature.output.shape, signature.output.strides)
                           ? implementation.writes_channels_last
                           : implementation.writes_padded);
  const bool fuses = signature.epilogue.empty() ||
                     (implementation.fuses != nullptr && implementation.fuses(signature));
  return implementation.launch != nullptr && lies && writes && fuses &&
         (omitted & ~implementation.may_omit) == 0 && serves(implementation, signature, device);
}

}  // namespace

Selector::Selector(SelectorOptions options) : options_(std::move(options)) {
  declare(options_.families);
  for (const Family& family : options_.families) {
    for (const Implementation& each : family) {
      // What a class of problems is does not depend on what this device has.
      if (each.tuning_class != nullptr) classes_.emplace(each.op, each.tuning_class);
      if (each.needs != nullptr && !each.needs(options_.traits)) continue;
      by_op_[each.op].push_back(&each);
      wants_channels_last_ = wants_channels_last_ || each.wants_channels_last != nullptr;
    }
  }
}

void Selector::declare(const std::vector<Family>& families) {
  Names& known = known_names();
  const std::lock_guard lock(known.mutex);
  for (const Family& family : families) {
    for (const Implementation& each : family) {
      std::set<std::string>& names = known.of_op[each.op->name.text];
      names.insert(each.name);
      if (each.variant_names == nullptr) continue;
      for (std::string& name : each.variant_names()) names.insert(std::move(name));
    }
  }
}

void Selector::check_rules(const std::string& text) {
  for (const SelectionRule& rule : runtime::read_choice_rules(text)) check(rule);
}

const Selector::List& Selector::implementations(const OpDef* op) const noexcept {
  static const List kNone;
  const auto at = by_op_.find(op);
  return at == by_op_.end() ? kNone : at->second;
}

bool Selector::is_on_request(const Implementation& implementation) const {
  return implementation.on_request != nullptr && implementation.on_request(options_.traits);
}

TuningClass Selector::tuning_class(const Signature& signature) const {
  const auto at = classes_.find(signature.op);
  if (at != classes_.end()) return at->second(signature);
  TuningClass made;
  made.problem = std::string(name(signature.output.dtype));
  for (const TensorSpec& input : signature.inputs) {
    made.problem += " " + (input.absent ? std::string("-") : to_string(input.shape));
  }
  made.work = static_cast<double>(element_count(signature.output.shape));
  return made;
}

const std::vector<SelectionRule>& Selector::rules() const {
  std::call_once(read_, [this] {
    std::vector<SelectionRule> rules = runtime::read_choice_rules(options_.rules);
    for (const SelectionRule& rule : rules) check(rule);
    rules_ = std::move(rules);
  });
  return rules_;
}

const SelectionRule* Selector::rule_for(const Signature& signature, const List& all) const {
  if (options_.rules.empty()) return nullptr;
  std::optional<std::string> problem;
  for (const SelectionRule& rule : rules()) {
    if (rule.op != signature.op->name.text) continue;
    if (rule.pattern != "*") {
      if (!problem) problem = tuning_class(signature).problem;
      if (!runtime::fits_pattern(*problem, rule.pattern)) continue;
    }
    for (const Implementation* each : all) {
      if (names(rule, *each) && serves(*each, signature, options_.traits)) return &rule;
    }
  }
  return nullptr;
}

const Implementation* Selector::find(const Signature& signature) const {
  const auto at = by_op_.find(signature.op);
  if (at == by_op_.end()) {
    return options_.host_memory ? signature.op->host_implementation
                                : signature.op->device_implementation;
  }
  const SelectionRule* const rule = rule_for(signature, at->second);
  for (const Implementation* each : at->second) {
    const bool is_wanted = rule != nullptr ? names(*rule, *each) : !is_on_request(*each);
    if (!is_wanted || !serves(*each, signature, options_.traits)) continue;
    return each->launch == nullptr ? nullptr : each;
  }
  return nullptr;
}

std::vector<Candidate> Selector::candidates(const Implementation& implementation,
                                            const Signature& signature,
                                            const SelectionRule* rule) const {
  std::vector<Candidate> all;
  if (implementation.variants == nullptr) {
    Candidate only{implementation.name, {}};
    if (implementation.prepare != nullptr) only.prepared = implementation.prepare(signature);
    if (only.prepared.launch == nullptr) only.prepared.launch = implementation.launch;
    all.push_back(std::move(only));
    return all;
  }
  all = implementation.variants(signature);
  for (Candidate& each : all) {
    if (each.prepared.launch == nullptr) each.prepared.launch = implementation.launch;
  }
  if (rule == nullptr) return all;
  // Where the signature has no such variant, the rule says nothing.
  const auto is_other = [&](const Candidate& each) {
    return !runtime::is_wanted(each.name, rule->name);
  };
  if (!std::all_of(all.begin(), all.end(), is_other)) std::erase_if(all, is_other);
  return all;
}

const Implementation& Selector::asked_for(const Implementation& chosen, const Signature& signature,
                                          const SelectionRule& rule) const {
  if (names(rule, chosen)) return chosen;
  for (const Implementation* each : implementations(signature.op)) {
    if (names(rule, *each) && stands_in(*each, chosen, signature, options_.traits)) return *each;
  }
  return chosen;
}

bool Selector::may_fuse(const Implementation& chosen) const {
  if (chosen.fuses != nullptr) return true;
  if (options_.rules.empty()) return false;
  return std::any_of(rules().begin(), rules().end(), [&](const SelectionRule& rule) {
    return rule.pattern != "*" && rule.op == chosen.op->name.text;
  });
}

const Implementation* Selector::fusing(const Implementation& chosen,
                                       const Signature& signature) const {
  if (chosen.fuses != nullptr && chosen.fuses(signature)) return &chosen;
  const SelectionRule* const rule = rule_for(signature, implementations(signature.op));
  if (rule == nullptr) return nullptr;
  const Implementation& asked = asked_for(chosen, signature, *rule);
  return &asked == &chosen ? nullptr : &asked;
}

Prepared Selector::prepare(const Implementation& chosen, const Signature& signature) const {
  const List& all = implementations(signature.op);
  const SelectionRule* rule = rule_for(signature, all);
  // The epilogue, which is known by now, may be what a rule is for.
  const Implementation& used = rule == nullptr ? chosen : asked_for(chosen, signature, *rule);
  if (rule != nullptr && !names(*rule, used)) rule = nullptr;
  std::vector<Candidate> offered = candidates(used, signature, rule);
  if (used.tuning == Tuning::rivals && rule == nullptr && tuning_class(signature).work > 0) {
    const auto own = std::find(all.begin(), all.end(), &used);
    for (auto each = own == all.end() ? own : own + 1; each != all.end(); ++each) {
      if (is_on_request(**each) || !stands_in(**each, used, signature, options_.traits)) continue;
      for (Candidate& more : candidates(**each, signature, nullptr)) {
        offered.push_back(std::move(more));
      }
    }
  }
  if (offered.size() == 1 || options_.measured == nullptr) {
    return std::move(offered.front().prepared);
  }
  return options_.measured(*signature.op, tuning_class(signature), std::move(offered));
}

}  // namespace hearth
