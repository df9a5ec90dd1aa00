// Where HEARTH_METAL_PATH names the Metal double, it gets what runs its kernels before anybody
// looks for devices, and what it finds wrong fails the test that did it, or the program at its end.
// It stands for the macOS that HEARTH_METAL_SYSTEM says, if that is set: 13.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "machines/metal_host/simulated_gpu.h"

namespace hearth::metal {
namespace {

class FaultListener final : public testing::EmptyTestEventListener {
 public:
  explicit FaultListener(fake::MetalDouble& found) : double_(found) {}
  void OnTestEnd(const testing::TestInfo&) override {
    for (const std::string& fault : double_.faults) ADD_FAILURE() << "metal double: " << fault;
    double_.faults.clear();
  }

 private:
  fake::MetalDouble& double_;
};

fake::MetalDouble* attached = nullptr;

void fail_for_faults() {
  for (const std::string& fault : attached->faults) {
    std::fprintf(stderr, "metal double: %s\n", fault.c_str());
  }
  if (!attached->faults.empty()) std::_Exit(1);
}

// Before other initialisers, some of which look for devices.
__attribute__((constructor(200))) void attach() {
  const char* const path = std::getenv("HEARTH_METAL_PATH");  // NOLINT(concurrency-mt-unsafe)
  if (path == nullptr || *path == '\0') return;
  const char* const check = std::getenv("HEARTH_SIM_CHECK");  // NOLINT(concurrency-mt-unsafe)
  fake::MetalDouble* const found =
      open_double(path, check != nullptr && std::string_view(check) == "1");
  if (found == nullptr) return;
  const char* const system = std::getenv("HEARTH_METAL_SYSTEM");  // NOLINT(concurrency-mt-unsafe)
  if (system != nullptr) found->system = {std::atoi(system), 0, 0};
  attached = found;
  std::atexit(fail_for_faults);
  testing::UnitTest::GetInstance()->listeners().Append(new FaultListener(*found));
}

}  // namespace
}  // namespace hearth::metal
