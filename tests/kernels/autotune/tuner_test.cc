// What is chosen between implementations, when, and what measuring them leaves alone: on a
// simulator whose clock says what a test wants.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <map>

#include "devices/gpu/gpu_device.h"
#include "devices/kept_device.h"
#include "devices/sim/sim_driver.h"
#include "error_text.h"
#include "hearth/ops.h"
#include "kernels/autotune/candidate_plan.h"
#include "kernels/autotune/size_class.h"
#include "kernels/launch/step_plan.h"
#include "ops/definition/defs.h"
#include "runtime/trace/timeline.h"
#include "runtime/tune/cache.h"

namespace hearth::gpu {
namespace {

using check::error_of;

// Runs what it times, and says what a test wants of it.
class ClockedDriver final : public sim::SimDriver {
 public:
  using SimDriver::SimDriver;
  std::vector<double> time(std::span<const runtime::Command> commands) override {
    SimDriver::time(commands);
    std::vector<double> all;
    for (const runtime::Command& command : commands) {
      const std::string& name = command.function->name();
      timed.push_back(name);
      if (refused == name) throw Error(ErrorCode::unsupported, name + ": too many threads");
      std::vector<double>& script = seconds[name];
      all.push_back(script.empty() ? 1e-3 : script.front());
      if (script.size() > 1) script.erase(script.begin());
    }
    return all;
  }

  // By kernel, one run after the other; the last goes on.
  std::map<std::string, std::vector<double>> seconds;
  std::vector<std::string> timed;
  std::string refused;
};

// y = x + value for all elements of x, which may be y.
constexpr const char* kAddText = R"(
struct AddParams {
  long count;
  long value;
};
void add_value(device const float* x, device float* y, constant AddParams& p, Ctx ctx) {
  for (long i = long(ctx.gid.x); i < p.count; i += 64) y[i] = x[i] + float(p.value);
}
)";

Prepared add_value(const Signature& signature, const std::string& name, std::int64_t value,
                   std::int64_t workspace_bytes = 0) {
  auto plan = std::make_shared<StepPlan>();
  if (workspace_bytes > 0) plan->add_workspace(workspace_bytes);
  runtime::KernelSource source;
  source.name = name;
  source.text = kAddText;
  source.function = "add_value";
  source.parameters = {{Kind::read, "float", "x"},
                       {Kind::read_write, "float", "y"},
                       {Kind::constant, "AddParams", "p"}};
  Step step;
  step.kernel = &plan->add_kernel(std::move(source));
  step.threads = {64};
  const auto output = static_cast<int>(signature.inputs.size());
  step.arguments = {strided_operand(signature.inputs[0], 0).argument,
                    strided_operand(signature.output, output).argument, kConstants};
  step.constants = {element_count(signature.output.shape), value};
  plan->add_step(std::move(step));
  return prepared_steps(std::move(plan));
}

// Implementations of slice_assign, which overwrites its first input, that tell which of them ran.
// As much work as there are elements.
TuningClass class_of(const Signature& signature) {
  const std::int64_t count = element_count(signature.output.shape);
  return {"f32" + sized("n", count), static_cast<double>(count)};
}

constexpr Implementation kAdding[] = {
    {.name = "one",
     .op = &defs::slice_assign_op,
     .layout = LayoutNeed::dense,
     .prepare = [](const Signature& signature) { return add_value(signature, "one", 1); },
     .launch = launch_steps,
     .tuning = Tuning::rivals,
     .tuning_class = class_of},
    {.name = "ten",
     .op = &defs::slice_assign_op,
     .layout = LayoutNeed::dense,
     .launch = launch_steps,
     .variants =
         [](const Signature& signature) {
           return std::vector<Candidate>{{"ten/a", add_value(signature, "ten_a", 10, 4096)},
                                         {"ten/b", add_value(signature, "ten_b", 20)}};
         },
     .variant_names = [] { return std::vector<std::string>{"ten/a", "ten/b"}; },
     .tuning = Tuning::rivals},
};

class Choices : public testing::Test {
 protected:
  // Kernels are compiled once for all tests.
  static std::string folder() {
    return (std::filesystem::temp_directory_path() / ("hearth_choice_" + std::to_string(getpid())))
        .string();
  }
  static void TearDownTestSuite() { std::filesystem::remove_all(folder()); }
  void SetUp() override {
    options_.families = {Family(kAdding)};
    options_.tuner.min_work = 100;
    options_.tuner.system = "tests 1";
    fresh_device();
  }
  void TearDown() override { std::filesystem::remove(device_->tuning_file().path()); }

  // As another process would have it. Devices stay, since plans that they ran are kept.
  void fresh_device(const sim::SimOptions& sim = {}) {
    auto driver = std::make_unique<ClockedDriver>(sim);
    driver_ = driver.get();
    options_.cache_folder = folder();
    device_ = kept_device(new GpuDevice("sim", 7, std::move(driver), options_));
  }
  void says(double one, double ten_a, double ten_b) {
    driver_->seconds = {{"one", {one}}, {"ten_a", {ten_a}}, {"ten_b", {ten_b}}};
  }
  Array numbers(std::int64_t count) const {
    std::vector<float> values(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 7);
    return Array::from_data(values, {count}, Device(device_));
  }
  // What is added, which says what ran: 1, 10 or 20; NaN where it differs from element to element.
  double added(std::int64_t count) const {
    const Array x = numbers(count);
    const std::vector<float> y = slice_assign(x, {{0, 1}}, value()).to_vector<float>();
    const std::vector<float> before = x.to_vector<float>();
    const float first = y[0] - before[0];
    for (std::size_t i = 0; i < y.size(); ++i) {
      if (before[i] != static_cast<float>(i % 7) || y[i] - before[i] != first) {
        return std::numeric_limits<double>::quiet_NaN();
      }
    }
    return first;
  }
  Array value() const { return Array::from_data(std::vector<float>{0}, {1}, Device(device_)); }
  std::vector<runtime::KeptSelection> kept() const { return device_->tuning_file().read(); }

  GpuOptions options_;
  ClockedDriver* driver_ = nullptr;
  GpuDevice* device_ = nullptr;
};

TEST_F(Choices, TheFastestIsMeasuredOnceAndKept) {
  says(3e-3, 2e-3, 1e-3);
  const Statistics before = statistics();
  EXPECT_EQ(added(1000), 20);
  const Statistics after = statistics();
  EXPECT_EQ(after.tuned - before.tuned, 1);
  EXPECT_GT(after.tuning_seconds, before.tuning_seconds);
  ASSERT_EQ(kept().size(), 1u);
  EXPECT_EQ(kept()[0].op, "slice_assign");
  EXPECT_EQ(kept()[0].problem, "f32 n1024");
  EXPECT_EQ(kept()[0].chosen, "ten/b");
  EXPECT_DOUBLE_EQ(*kept()[0].times[0].seconds, 3e-3);
  // In the class nothing is measured again, whatever would come out.
  const std::size_t timed = driver_->timed.size();
  says(1e-3, 2e-3, 3e-3);
  EXPECT_EQ(added(1000), 20);
  EXPECT_EQ(added(900), 20);
  EXPECT_EQ(driver_->timed.size(), timed);
  EXPECT_EQ(added(1025), 1);
  EXPECT_GT(driver_->timed.size(), timed);
  // Nor in another process.
  fresh_device();
  EXPECT_EQ(added(1000), 20);
  EXPECT_EQ(added(1025), 1);
  EXPECT_TRUE(driver_->timed.empty());
}

TEST_F(Choices, AlternativesRunInTurnAndTheMiddleCounts) {
  driver_->seconds = {{"one", {9e-3, 2e-3}},  // the first run does not count
                      {"ten_a", {1e-3, 1e-3, 9e-3, 1e-3, 9e-3, 1.1e-3}},
                      {"ten_b", {9e-3, 1e-3}}};
  EXPECT_EQ(added(1000), 10);
  // ten_b was far behind in its first run, and one too.
  const std::vector<std::string> expected = {"one",   "ten_a", "ten_b", "ten_a",
                                             "ten_a", "ten_a", "ten_a", "ten_a"};
  EXPECT_EQ(driver_->timed, expected);
  EXPECT_DOUBLE_EQ(*kept()[0].times[1].seconds, 1.1e-3);
}

TEST_F(Choices, TheDefaultStaysUnlessAnotherIsClearlyFaster) {
  says(1e-3, 0.97e-3, 0.98e-3);
  EXPECT_EQ(added(1000), 1);
  EXPECT_EQ(driver_->timed.front(), "one");
}

TEST_F(Choices, EachIsMeasuredOnceAtLeast) {
  options_.tuner.limits.seconds = 5e-3;
  fresh_device();
  says(4e-3, 2e-3, 1e-3);
  EXPECT_EQ(added(1000), 20);
  EXPECT_EQ(driver_->timed, (std::vector<std::string>{"one", "ten_a", "ten_b"}));
}

TEST_F(Choices, TimeIsBounded) {
  options_.tuner.limits.first_seconds = options_.tuner.limits.seconds = 5e-3;
  fresh_device();
  says(4e-3, 2e-3, 1e-3);
  EXPECT_EQ(added(1000), 10);  // the third was not reached
  EXPECT_EQ(driver_->timed, (std::vector<std::string>{"one", "ten_a"}));
  EXPECT_FALSE(kept()[0].times[2].seconds);
}

TEST_F(Choices, TheFirstServesWhereNothingIsMeasured) {
  says(3e-3, 2e-3, 1e-3);
  EXPECT_EQ(added(20), 1);  // too little work
  options_.tunes = false;
  fresh_device();
  EXPECT_EQ(added(1000), 1);
  options_.tunes = true;
  options_.tuner.system = "";
  fresh_device();
  EXPECT_EQ(added(1000), 1);
  EXPECT_TRUE(driver_->timed.empty());
  EXPECT_TRUE(kept().empty());
}

TEST_F(Choices, NothingIsMeasuredWhileATimelineIsRecorded) {
  says(3e-3, 2e-3, 1e-3);
  runtime::Timeline::global().start();
  EXPECT_EQ(added(1000), 1);
  runtime::Timeline::global().stop();
  EXPECT_TRUE(kept().empty());
  // What this class is done by stays as it is in this process.
  EXPECT_EQ(added(1000), 1);
  EXPECT_EQ(added(1001), 1);
  EXPECT_EQ(added(2000), 20);
}

TEST_F(Choices, TheUserDecides) {
  says(1e-3, 3e-3, 2e-3);
  options_.rules = "slice_assign=ten/a";
  fresh_device();
  EXPECT_EQ(added(1000), 10);
  EXPECT_TRUE(driver_->timed.empty());
  // Of the variants the fastest; times of all are another question.
  options_.rules = "slice_assign=ten";
  fresh_device();
  says(1e-3, 3e-3, 2e-3);
  EXPECT_EQ(added(1000), 20);
  EXPECT_EQ(driver_->timed.front(), "ten_a");
  EXPECT_EQ(kept()[0].chosen, "ten/b");
  options_.rules = "";
  fresh_device();
  says(1e-3, 3e-3, 2e-3);
  EXPECT_EQ(added(1000), 1);
  EXPECT_EQ(driver_->timed.front(), "one");
}

TEST_F(Choices, RulesThatNameNothingAreErrors) {
  const auto text = [&](const std::string& choices) {
    options_.rules = choices;
    fresh_device();
    return error_of(ErrorCode::invalid_argument, [&] { added(10); });
  };
  const std::string hundred = text("slice_assign=hundred");
  EXPECT_TRUE(
      hundred.starts_with("environment: HEARTH_CHOICES: no implementation of slice_assign; "
                          "got 'hundred', expected one of "))
      << hundred;
  EXPECT_NE(hundred.find(" one, "), std::string::npos) << hundred;
  EXPECT_NE(hundred.find(" ten/a, ten/b"), std::string::npos) << hundred;
  EXPECT_EQ(text("compress=one")
                .find("environment: HEARTH_CHOICES: no op that has a choice; got 'compress'"),
            0u);
  EXPECT_NE(text("/not/there.json").find("the file cannot be read"), std::string::npos);
}

TEST_F(Choices, WhatIsNotSupportedIsLeftOut) {
  says(3e-3, 2e-3, 1e-3);
  driver_->refused = "ten_b";
  EXPECT_EQ(added(1000), 10);
  EXPECT_FALSE(kept()[0].times[2].seconds);
}

TEST_F(Choices, OperandsAreNeitherReadNorWritten) {
  says(3e-3, 2e-3, 1e-3);
  const Array bystander = numbers(1000).eval();
  // In place: were it run on the real memory, the value would be added more than once.
  Array x = numbers(1000);
  x.eval();
  const std::int64_t donations = statistics().donations;
  x = slice_assign(x, {{0, 1}}, value());
  x.eval();
  EXPECT_EQ(statistics().donations - donations, 1);
  EXPECT_GT(driver_->timed.size(), 3u);
  const std::vector<float> y = x.to_vector<float>();
  const std::vector<float> b = bystander.to_vector<float>();
  for (std::size_t i = 0; i < y.size(); ++i) {
    ASSERT_EQ(y[i], static_cast<float>(i % 7) + 20) << i;
    ASSERT_EQ(b[i], static_cast<float>(i % 7)) << i;
  }
}

TEST_F(Choices, ScratchIsGivenBack) {
  options_.recycles_memory = false;
  fresh_device();
  says(3e-3, 2e-3, 1e-3);
  added(10);  // the arena and the block of dynamic values
  const std::int64_t before = driver_->memory_in_use();
  added(1000);
  driver_->wait();
  EXPECT_EQ(driver_->memory_in_use(), before);
}

TEST_F(Choices, WithoutMemoryForATrialTheDefaultServes) {
  options_.tuner.limits.bytes = 3000;
  fresh_device();
  says(3e-3, 2e-3, 1e-3);
  EXPECT_EQ(added(1000), 1);
  EXPECT_TRUE(driver_->timed.empty());
  EXPECT_TRUE(kept().empty());
  // The device's own memory too. The arena is 1 MiB, and results are there before a plan runs.
  options_.tuner.limits.bytes = 1 << 30;
  fresh_device();
  says(3e-3, 2e-3, 1e-3);
  const Array x = numbers(1 << 20).eval();
  const Array result = slice_assign(x, {{0, 1}}, value());
  driver_->set_memory_limit(driver_->memory_in_use() + (11 << 19));
  EXPECT_EQ(result.to_vector<float>()[8], 2);
  EXPECT_TRUE(driver_->timed.empty());
  EXPECT_TRUE(kept().empty());
}

TEST_F(Choices, ReplaysRunWhatWasChosen) {
  says(3e-3, 2e-3, 1e-3);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(added(1000), 20);
  EXPECT_GT(device_->replays().instantiated + device_->replays().replayed, 0);
}

TEST(SizeClasses, ArePowersOfTwoUpToTheLargest) {
  EXPECT_EQ(size_class(0), 1);
  EXPECT_EQ(size_class(1), 1);
  EXPECT_EQ(size_class(3), 4);
  EXPECT_EQ(size_class(4096), 4096);
  EXPECT_EQ(size_class(4097), 8192);
  EXPECT_EQ(size_class(std::int64_t{1} << 40), 8192);
}

}  // namespace
}  // namespace hearth::gpu
