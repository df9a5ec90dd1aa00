#include <mutex>
#include <string>

#include "hearth/print.h"

namespace hearth {
namespace {

struct Shared {
  std::mutex mutex;
  PrintOptions options;
};

Shared& shared() {
  static auto* shared = new Shared;
  return *shared;
}

thread_local std::optional<PrintOptions> scoped;

// `caller`: the function that the options were given to.
const PrintOptions& checked(const std::string& caller, const PrintOptions& options) {
  const auto check = [&](const char* name, std::int64_t value, std::int64_t low,
                         std::int64_t high) {
    if (value >= low && value <= high) return;
    throw Error(ErrorCode::invalid_argument,
                caller + ": " + name + " out of range; got " + std::to_string(value) +
                    ", expected " + std::to_string(low) +
                    (high == INT64_MAX ? " or more" : " to " + std::to_string(high)));
  };
  check("precision", options.precision.value_or(0), 0, 100);
  check("threshold", options.threshold, 0, INT64_MAX);
  check("edge_items", options.edge_items, 1, INT64_MAX);
  check("line_width", options.line_width, 1, INT64_MAX);
  return options;
}

}  // namespace

inline namespace v0 {

void set_print_options(const PrintOptions& options) {
  checked("set_print_options", options);
  const std::lock_guard lock(shared().mutex);
  shared().options = options;
}

PrintOptions print_options() {
  if (scoped) return *scoped;
  const std::lock_guard lock(shared().mutex);
  return shared().options;
}

WithPrintOptions::WithPrintOptions(const PrintOptions& options) : before_(scoped) {
  scoped = checked("WithPrintOptions", options);
}

WithPrintOptions::~WithPrintOptions() { scoped = before_; }

}  // namespace v0
}  // namespace hearth
