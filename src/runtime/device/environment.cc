#include "runtime/device/environment.h"

#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "core/closest.h"
#include "hearth/error.h"
#include "runtime/device/worker_pool.h"

extern "C" char** environ;  // not every system's headers have it

namespace hearth {
inline namespace v0 {
namespace runtime {
namespace {

class Reader {
 public:
  Reader(const std::function<const char*(const char*)>& lookup, std::string& problem)
      : lookup_(lookup), problem_(problem) {}

  void text(const char* name, std::string& value) {
    if (const char* found = looked_up(name)) value = found;
  }
  void text(const char* name, std::optional<std::string>& value) {
    if (const char* found = looked_up(name)) value = found;
  }
  // An unset or empty variable leaves the value as it is.
  template <class Flag>
  void flag(const char* name, Flag& value) {
    const std::string_view found = given(name);
    if (found == "0" || found == "1") {
      value = found == "1";
    } else if (!found.empty()) {
      refuse(name, found, "0 or 1");
    }
  }
  void number(const char* name, int low, int high, std::optional<int>& value) {
    const std::string_view found = given(name);
    if (found.empty()) return;
    int parsed = 0;
    const auto [end, status] = std::from_chars(found.data(), found.data() + found.size(), parsed);
    if (status != std::errc() || end != found.data() + found.size() || parsed < low ||
        parsed > high) {
      return refuse(name, found, std::to_string(low) + " to " + std::to_string(high));
    }
    value = parsed;
  }

  // Refuses a variable that looks like one of those that were read. Others may belong to programs.
  void refuse_misspelt(std::span<const std::string> variables) const {
    for (const std::string& variable : variables) {
      if (!problem_.empty()) return;
      if (!variable.starts_with(kPrefix)) continue;
      const std::string meant = closest(variable.substr(kPrefix.size()), names_);
      if (meant.empty() || kPrefix + meant == variable) continue;
      problem_ = "environment: unknown variable; got " + variable + ", expected perhaps " +
                 kPrefix + meant;
    }
  }

 private:
  static inline const std::string kPrefix = "HEARTH_";  // of all variables

  const char* looked_up(const char* name) {
    names_.emplace_back(name + kPrefix.size());
    return lookup_(name);
  }
  std::string_view given(const char* name) {
    const char* found = looked_up(name);
    return found == nullptr ? std::string_view() : found;
  }
  void refuse(const char* name, std::string_view got, const std::string& expected) const {
    if (!problem_.empty()) return;
    problem_ = std::string("environment: ") + name + " has no meaning; got '" + std::string(got) +
               "', expected " + expected;
  }

  const std::function<const char*(const char*)>& lookup_;
  std::string& problem_;
  std::vector<std::string> names_;  // that were read, without the prefix
};

std::vector<std::string> process_variables() {
  std::vector<std::string> names;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    names.emplace_back(text.substr(0, text.find('=')));
  }
  return names;
}

}  // namespace

Environment read_environment(const std::function<const char*(const char*)>& lookup,
                             std::span<const std::string> variables) {
  Environment out;
  Reader read(lookup, out.problem);
  read.text("HEARTH_DEVICE", out.device);
  read.number("HEARTH_THREADS", 1, WorkerPool::kMaxThreads, out.threads);
  read.flag("HEARTH_FUSION", out.fusion);
  read.flag("HEARTH_EXACT", out.exact);
  read.flag("HEARTH_TF32", out.tf32);
  read.flag("HEARTH_DETERMINISTIC", out.deterministic);
  read.flag("HEARTH_PRECISE_SUMS", out.precise_sums);
  read.flag("HEARTH_LIBRARY_EPILOGUES", out.library_epilogues);
  read.flag("HEARTH_COMPOSITES", out.composites);
  read.flag("HEARTH_CHECK_INDICES", out.check_indices);
  read.text("HEARTH_CACHE", out.cache);
  read.text("HEARTH_CUDA_PATH", out.cuda_path);
  read.text("HEARTH_METAL_PATH", out.metal_path);
  read.text("HEARTH_METAL_CAPTURE", out.metal_capture);
  read.flag("HEARTH_METAL_MPSGRAPH", out.metal_mpsgraph);
  read.text("HEARTH_HOST_COMPILER", out.host_compiler);
  read.flag("HEARTH_METAL_ANY", out.metal_any);
  read.text("HEARTH_TRACE", out.trace);
  read.flag("HEARTH_CHECK_ORDER", out.check_order);
  read.text("HEARTH_CHOICES", out.choices);
  read.flag("HEARTH_TUNE", out.tune);
  read.refuse_misspelt(variables);
  return out;
}

const Environment& environment() noexcept {
  static const auto* read = new Environment(read_environment(
      [](const char* name) { return std::getenv(name); },  // NOLINT(concurrency-mt-unsafe)
      process_variables()));
  return *read;
}

void check_environment() {
  if (!environment().problem.empty()) {
    throw Error(ErrorCode::invalid_argument, environment().problem);
  }
}

}  // namespace runtime
}  // namespace v0
}  // namespace hearth
