// What `hearth bench` measures on a GPU, on the simulator and on whatever HEARTH_TEST_DEVICES
// names.
#include "tools/bench/bench.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <string>

#include "devices_under_test.h"
#include "source_dir.h"
#include "tools/bench/functions/functions.h"
#include "tools/bench/gpu/gpu.h"
#include "tools/bench/report.h"

namespace hearth::tools {
namespace {

std::string gpu() { return testing::kernel_device_under_test().name(); }

TEST(Bench, GpuRowsAreTheirOwn) {
  const Bench cpu = run_bench({.device = "cpu", .list = true});
  const Bench other = run_bench({.device = gpu(), .list = true});
  const auto is_gpu = [](const std::string& name) { return name.starts_with("gpu/"); };
  EXPECT_TRUE(std::none_of(cpu.names().begin(), cpu.names().end(), is_gpu));
  EXPECT_TRUE(std::all_of(other.names().begin(), other.names().end(), is_gpu));
  EXPECT_GT(other.names().size(), 30u);
}

TEST(Bench, GpuRowsSayHowTheyAreTimed) {
  const Bench bench = run_bench({.device = gpu(), .rows = "add4_sync", .seconds = 0.001});
  const auto row = nlohmann::json::parse(bench_json(bench)).at("rows").at(0);
  EXPECT_EQ(row.at("row"), "gpu/latency/add4_sync");
  EXPECT_EQ(row.at("timing"), "sync");
  EXPECT_EQ(row.at("target"), "<= 8.00 us");
  EXPECT_GT(row.at("median"), 0.0);
  EXPECT_LE(row.at("p10"), row.at("p90"));
}

TEST(Bench, MemoryLimitsScaleWithTraffic) {
  constexpr std::int64_t kSize = 64 * 1024;
  MemoryLimits limits(Device::named(gpu()), kSize);
  EXPECT_GT(limits.copy(2.0 * kSize).sample(), 0);
  EXPECT_GT(limits.read(kSize).sample(), 0);
  EXPECT_EQ(limits.read(0).sample(), 0);
}

TEST(Bench, FamiliesHaveTheFunctionsOfPyTorchsProgram) {
  // By name, whether PyTorch has one.
  std::map<std::string, bool> here;
  for (const BenchFunction& function : all_functions()) {
    here.emplace(function.name, function.has_peer);
  }
  std::ostringstream text;
  text << std::ifstream(check::source_dir() / "bench" / "torch_families.py").rdbuf();
  const std::string program = text.str();
  const std::regex entry("\n    \"([a-z]+/[a-z0-9_]+)\": (None,)?");
  std::map<std::string, bool> there;
  for (std::sregex_iterator at(program.begin(), program.end(), entry), end; at != end; ++at) {
    there.emplace((*at)[1], !(*at)[2].matched);
  }
  EXPECT_EQ(here, there);
  EXPECT_EQ(here.size(), all_functions().size()) << "a name stands twice";
}

TEST(Bench, FamiliesRun) {
  for (const BenchFunction& function : all_functions()) {
    const Array result = function.prepare({Device::cpu(), DType::f32, false})();
    EXPECT_NO_THROW(result.eval()) << function.name;
  }
}

}  // namespace
}  // namespace hearth::tools
