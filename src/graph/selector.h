// Selects the implementation of an op for a signature. One for each device, made of the lists of
// its families.
//
// What decides, in this order: what the device has (needs), what keeps the thread's numerics
// (row_bits), what accepts and fits the signature, the user's rules (HEARTH_CHOICES), the times of
// candidates (kernels/autotune), the order of the list. Lists are data: the first implementation
// that serves is the default.
#pragma once

#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/implementation.h"
#include "runtime/tune/rules.h"

namespace hearth {

struct SelectorOptions {
  runtime::DeviceTraits traits = {};
  std::vector<Family> families = {};  // an op's implementations are in the order in which these are
  RegionImplementation region = {};
  // Implementations get host pointers: of those that come with an op, the host's runs. Else the
  // device's.
  bool host_memory = false;
  std::string rules = {};  // as HEARTH_CHOICES
  // Makes a step that is tuned among several candidates. Null: the first is taken.
  Prepared (*measured)(const OpDef&, TuningClass, std::vector<Candidate>) = nullptr;
};

// Thread-safe. Signatures that are prepared name its traits, so it stays where it is.
class Selector {
 public:
  explicit Selector(SelectorOptions options);

  // Null where nothing serves, and where the op is to be expanded. Throws Error{invalid_argument}
  // where the user's rules make no sense.
  const Implementation* find(const Signature& signature) const;
  bool has(const OpDef* op) const { return by_op_.contains(op); }
  // Prepares `chosen`, which find() gave, or the candidates that tuning decides between.
  Prepared prepare(const Implementation& chosen, const Signature& signature) const;

  // Whether `chosen`, or what a rule for a class names in its place, may take an epilogue.
  bool may_fuse(const Implementation& chosen) const;
  // What applies the signature's epilogue: `chosen`, or what a rule names for the class that the
  // epilogue makes, if that can run what was laid out for `chosen`. Null: nothing.
  const Implementation* fusing(const Implementation& chosen, const Signature& signature) const;

  // Whether this device has an implementation, of any op, that may be faster where channels are
  // innermost: see Implementation::wants_channels_last.
  bool wants_channels_last() const noexcept { return wants_channels_last_; }
  const runtime::DeviceTraits& traits() const noexcept { return options_.traits; }
  const RegionImplementation& region() const noexcept { return options_.region; }
  // The implementations that this device has of an op, best first.
  const std::vector<const Implementation*>& implementations(const OpDef* op) const noexcept;
  // The class of a problem, as the op's implementations tell it.
  TuningClass tuning_class(const Signature& signature) const;

  // Names that rules may use although no device of this process has them. Those of each selector's
  // families are known by themselves.
  static void declare(const std::vector<Family>& families);
  // Throws Error{invalid_argument} for rules, as HEARTH_CHOICES, that make no sense.
  static void check_rules(const std::string& text);

 private:
  using List = std::vector<const Implementation*>;

  bool is_on_request(const Implementation& implementation) const;
  const std::vector<runtime::SelectionRule>& rules() const;
  // The first rule for the signature that one of `all` can follow, or null.
  const runtime::SelectionRule* rule_for(const Signature& signature, const List& all) const;
  // What the rule names instead of `chosen`, if it can run what was laid out for that.
  const Implementation& asked_for(const Implementation& chosen, const Signature& signature,
                                  const runtime::SelectionRule& rule) const;
  // Its candidates, or those of them that the rule names.
  std::vector<Candidate> candidates(const Implementation& implementation,
                                    const Signature& signature,
                                    const runtime::SelectionRule* rule) const;

  const SelectorOptions options_;
  std::unordered_map<const OpDef*, List> by_op_;
  bool wants_channels_last_ = false;
  std::unordered_map<const OpDef*, TuningClass (*)(const Signature&)> classes_;
  mutable std::once_flag read_;
  mutable std::vector<runtime::SelectionRule> rules_;
};

}  // namespace hearth
