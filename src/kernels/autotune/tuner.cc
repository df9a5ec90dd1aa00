#include "kernels/autotune/tuner.h"

#include <algorithm>
#include <chrono>
#include <numeric>

#include "runtime/commands/driver_calls.h"
#include "runtime/trace/timeline.h"

namespace hearth::gpu {
namespace {

// Another alternative than the default has to take less than this share of its time: smaller
// differences are lost, or turned, from one run to the next.
constexpr double kClearly = 0.95;

std::string device_text(const runtime::Properties& properties) {
  return properties.name + ", " + properties.architecture + ", " +
         std::to_string(properties.processors) + " cores";
}

// Of `allowed`, the fastest; `usual`, which is one of them, unless another is clearly faster. An
// alternative without a time is not known to work.
std::size_t fastest(const std::vector<std::optional<double>>& seconds,
                    const std::vector<std::size_t>& allowed, std::size_t usual) {
  std::size_t best = usual;
  std::optional<double> limit = seconds[usual];
  if (limit) *limit *= kClearly;
  for (const std::size_t i : allowed) {
    if (!seconds[i] || (limit && *seconds[i] >= *limit)) continue;
    limit = seconds[i];
    best = i;
  }
  return best;
}

std::vector<std::size_t> all_of(const ChoicePlan& choice) {
  std::vector<std::size_t> all(choice.alternatives().size());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

std::optional<std::size_t> index_of(const ChoicePlan& choice, const std::string& name) {
  for (std::size_t i = 0; i < choice.alternatives().size(); ++i) {
    if (choice.alternatives()[i].name == name) return i;
  }
  return std::nullopt;
}

std::vector<std::optional<double>> seconds_of(const ChoicePlan& choice,
                                              const runtime::KeptChoice& kept) {
  std::vector<std::optional<double>> seconds(choice.alternatives().size());
  for (const runtime::ChoiceTime& time : kept.times) {
    if (const auto at = index_of(choice, time.name)) seconds[*at] = time.seconds;
  }
  return seconds;
}

// "a, b, c", each once.
std::string listed(std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

}  // namespace

Chooser::Chooser(runtime::Driver& driver, runtime::KernelRegistry& registry,
                 const std::string& folder, ChooserOptions options)
    : driver_(driver),
      registry_(registry),
      folder_(folder),
      options_(std::move(options)),
      device_(device_text(driver.properties())) {}

runtime::ChoiceFile& Chooser::made_file() const {
  // Which compiler there is may take long to find out.
  std::call_once(once_, [&] {
    file_.emplace(folder_, device_, options_.system + ", " + driver_.compiler_version());
  });
  return *file_;
}

void Chooser::read_rules() {
  std::vector<runtime::ChoiceRule> rules = runtime::read_choice_rules(options_.choices);
  for (const runtime::ChoiceRule& rule : rules) {
    std::vector<std::string> ops, names;
    bool is_known = false;
    for (const ChoiceName& known : options_.table.names) {
      ops.push_back(known.op);
      if (known.op != rule.op) continue;
      names.push_back(known.name);
      is_known = is_known || runtime::is_wanted(known.name, rule.name);
    }
    if (is_known) continue;
    throw Error(ErrorCode::invalid_argument,
                names.empty() ? "environment: HEARTH_CHOICES: no op that has a choice; got '" +
                                    rule.op + "', expected one of " + listed(ops)
                              : "environment: HEARTH_CHOICES: no implementation of " + rule.op +
                                    "; got '" + rule.name + "', expected one of " + listed(names));
  }
  rules_ = std::move(rules);
}

void Chooser::settle(const ChoicePlan& choice, const Launch& launch, runtime::Argument dynamics) {
  if (choice.is_settled()) return;
  if (!rules_) read_rules();
  Indices offered = all_of(choice);
  std::size_t chosen = choose(choice, offered, launch, dynamics);
  while (offered.size() > 1 && !takes(choice.alternatives()[chosen])) {
    std::erase(offered, chosen);
    chosen = choose(choice, offered, launch, dynamics);
  }
  choice.settle(chosen);
}

bool Chooser::takes(const Alternative& alternative) const {
  const auto& plan = *static_cast<const KernelPlan*>(alternative.prepared.state.get());
  runtime::CommandBatch none;
  const runtime::Encoder encoder(registry_, none, driver_.properties(), nullptr, 0);
  return std::all_of(plan.kernels.begin(), plan.kernels.end(), [&](const auto* kernel) {
    return kernel->source() != nullptr || encoder.takes(*kernel);
  });
}

Chooser::Indices Chooser::allowed_by_user(const ChoicePlan& choice, const Indices& offered) const {
  Indices allowed;
  for (const runtime::ChoiceRule& rule : *rules_) {
    if (rule.op != choice.problem().op ||
        !runtime::fits_pattern(choice.problem().problem, rule.pattern)) {
      continue;
    }
    for (const std::size_t i : offered) {
      if (runtime::is_wanted(choice.alternatives()[i].name, rule.name)) allowed.push_back(i);
    }
    if (!allowed.empty()) return allowed;
  }
  return offered;
}

std::size_t Chooser::default_of(const ChoicePlan& choice, const Indices& allowed) const {
  const runtime::Properties& properties = driver_.properties();
  for (const DefaultRule& rule : options_.table.rules) {
    if (rule.op != choice.problem().op || properties.processors < rule.least_processors ||
        choice.problem().work < rule.least_work || !runtime::fits_pattern(device_, rule.device)) {
      continue;
    }
    for (const std::size_t i : allowed) {
      if (runtime::is_wanted(choice.alternatives()[i].name, rule.name)) return i;
    }
  }
  return allowed.front();
}

std::size_t Chooser::choose(const ChoicePlan& choice, const Indices& offered, const Launch& launch,
                            runtime::Argument dynamics) {
  const Indices allowed = allowed_by_user(choice, offered);
  const std::size_t usual = default_of(choice, allowed);
  if (allowed.size() == 1) return usual;
  const Known& kept = known(choice, launch, dynamics);
  if (!kept) return usual;
  const auto chosen = index_of(choice, kept->chosen);
  if (chosen && std::find(allowed.begin(), allowed.end(), *chosen) != allowed.end()) return *chosen;
  return fastest(seconds_of(choice, *kept), allowed, usual);
}

const Chooser::Known& Chooser::known(const ChoicePlan& choice, const Launch& launch,
                                     runtime::Argument dynamics) {
  const ChoiceClass& problem = choice.problem();
  const std::string key = problem.op + '\n' + problem.problem;
  const auto found = known_.find(key);
  if (found != known_.end()) return found->second;
  Known kept;
  if (options_.tunes) {
    kept = made_file().find(problem.op, problem.problem, choice.names());
    if (!kept) kept = measured(choice, launch, dynamics);
  }
  return known_.emplace(key, std::move(kept)).first->second;
}

Chooser::Known Chooser::measured(const ChoicePlan& choice, const Launch& launch,
                                 runtime::Argument dynamics) {
  const ChoiceClass& problem = choice.problem();
  if (problem.work < options_.least_work || options_.system.empty() || runtime::wants_commands()) {
    return std::nullopt;
  }
  const auto begin = std::chrono::steady_clock::now();
  const Indices all = all_of(choice);
  const std::size_t usual = default_of(choice, all);
  const auto seconds =
      measure(driver_, registry_, choice, launch, dynamics, usual, options_.limits);
  const std::chrono::nanoseconds took = std::chrono::steady_clock::now() - begin;
  runtime::DriverCounters& counters = runtime::driver_counters();
  counters.tuning_nanoseconds.fetch_add(took.count(), std::memory_order_relaxed);
  if (!seconds) return std::nullopt;
  counters.tuned.fetch_add(1, std::memory_order_relaxed);
  runtime::KeptChoice kept{
      problem.op, problem.problem, choice.alternatives()[fastest(*seconds, all, usual)].name, {}};
  for (std::size_t i = 0; i < all.size(); ++i) {
    kept.times.push_back({choice.alternatives()[i].name, (*seconds)[i]});
  }
  return made_file().keep(std::move(kept));
}

}  // namespace hearth::gpu
