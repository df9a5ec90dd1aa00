#include "graph/switches.h"

#include <cstdlib>
#include <cstring>

namespace hearth {
namespace {

bool is_set(const char* variable, const char* value) {
  const char* text = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe): read once
  return text != nullptr && std::strcmp(text, value) == 0;
}

Switches from_environment() {
  Switches switches;
  if (is_set("HEARTH_FUSION", "0")) {
    switches.fuse_elementwise = false;
    switches.fuse_reductions = false;
  }
  switches.exact = is_set("HEARTH_EXACT", "1");
  switches.tf32 = is_set("HEARTH_TF32", "1");
  switches.composites = is_set("HEARTH_COMPOSITES", "1");
  return switches;
}

}  // namespace

Switches& switches() noexcept {
  static const Switches environment = from_environment();
  thread_local Switches mine = environment;
  return mine;
}

}  // namespace hearth
