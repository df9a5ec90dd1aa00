#include "runtime/device/environment.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <sstream>
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

std::vector<std::string> words_of(const std::string& name) {
  std::vector<std::string> words;
  std::istringstream text(name);
  for (std::string word; std::getline(text, word, '_');) words.push_back(word);
  return words;
}

// "METAL_PATH" and "PATH_OF_CUDA" share one, as THREAD and THREADS do.
std::ptrdiff_t shared_words(const std::string& name, const std::string& known) {
  constexpr std::size_t kMinBeginning = 4;
  const std::vector<std::string> words = words_of(name), others = words_of(known);
  return std::count_if(others.begin(), others.end(), [&](const std::string& other) {
    return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
      const bool begins = word.starts_with(other) || other.starts_with(word);
      return word == other || (begins && std::min(word.size(), other.size()) >= kMinBeginning);
    });
  });
}

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

  // Judges variables that were not read.
  void judge(std::span<const std::string> variables, std::span<const char* const> documented,
             std::vector<std::string>& warnings) const {
    std::set<std::string> judged(documented.begin(), documented.end());
    for (const std::string& variable : variables) {
      if (!variable.starts_with(kPrefix) || !judged.insert(variable).second) continue;
      const std::string name = variable.substr(kPrefix.size());
      const std::string meant = closest(name, names_);
      if (meant == name) continue;
      if (meant.empty()) {
        warnings.push_back("environment: unknown variable, which changes nothing; got " + variable +
                           ", expected " + alternatives(name, documented));
      } else if (problem_.empty()) {
        problem_ = "environment: unknown variable; got " + variable + ", expected perhaps " +
                   std::string(kPrefix) + meant;
      }
    }
  }

 private:
  static constexpr std::string_view kPrefix = "HEARTH_";  // of all variables

  // What may have been meant by a name that is far from all: one of tests and builds that is close,
  // or those that share most words with it.
  std::string alternatives(const std::string& name, std::span<const char* const> documented) const {
    std::vector<std::string> others;
    for (const char* other : documented) others.emplace_back(other + kPrefix.size());
    std::string found = closest(name, others);
    if (!found.empty()) return "perhaps " + std::string(kPrefix) + found;
    std::ptrdiff_t most = 1;
    for (const std::string& known : names_) {
      const std::ptrdiff_t shared = shared_words(name, known);
      if (shared < most) continue;
      if (shared > most) found.clear();
      most = shared;
      found += (found.empty() ? "" : " or ") + std::string(kPrefix) + known;
    }
    return found.empty() ? "one of docs/environment.md" : "perhaps " + found;
  }

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
                             std::span<const std::string> variables,
                             std::span<const char* const> documented) {
  Environment out;
  Reader read(lookup, out.problem);
  read.text("HEARTH_DEVICE", out.device);
  read.number("HEARTH_THREADS", 1, WorkerPool::kMaxThreads, out.threads);
  read.flag("HEARTH_FUSION", out.fusion);
  read.flag("HEARTH_EXACT", out.exact);
  read.flag("HEARTH_TF32", out.tf32);
  read.flag("HEARTH_DETERMINISTIC", out.deterministic);
  read.flag("HEARTH_PRECISE_SUMS", out.precise_sums);
  read.flag("HEARTH_BATCH_INVARIANT", out.batch_invariant);
  read.flag("HEARTH_LIBRARY_EPILOGUES", out.library_epilogues);
  read.flag("HEARTH_CHANNELS_LAST", out.channels_last);
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
  read.judge(variables, documented, out.warnings);
  return out;
}

const Environment& environment() noexcept {
  static const auto* read = [] {
    const auto* made = new Environment(read_environment(
        [](const char* name) { return std::getenv(name); },  // NOLINT(concurrency-mt-unsafe)
        process_variables(), documented_variables()));
    for (const std::string& warning : made->warnings) {
      std::fprintf(stderr, "hearth: %s\n", warning.c_str());
    }
    return made;
  }();
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
