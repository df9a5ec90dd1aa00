// Calls of MPSGraph between kernels: order, command buffers that it commits, errors, times; and
// which systems have it.
#include "devices/metal/mps_fixture.h"
#include "kernels/matmul/problem.h"
#include "runtime/tune/autotuner.h"

namespace hearth::metal {
namespace {

using gpu::MatmulProblem;
using runtime::Argument;

// y = x I, of 32 numbers.
MatmulProblem identity() {
  MatmulProblem p;
  p.m = 8;
  p.n = p.k = 4;
  p.a = p.c = {0, 4, 0};
  p.b = {0, 4, 0};
  p.dtype = static_cast<std::int64_t>(DType::f32);
  return p;
}

class MpsCommands : public MpsTest {
 protected:
  void SetUp() override {
    MpsTest::SetUp();
    x_ = upload(std::vector<float>(32, 1.0f));
    y_ = upload(std::vector<float>(32, NAN));
    std::vector<float> ones(16, 0.0f);
    for (std::size_t i = 0; i < 4; ++i) ones[i * 5] = 1;
    one_ = upload(ones);
  }
  void TearDown() override {
    batch_.clear();
    for (const Address address : {x_, y_, one_}) driver_->free(address);
    MpsTest::TearDown();
  }
  // y = x, by MPSGraph.
  void copy(Address x, Address y) {
    if (call_ == nullptr) call_ = &function(gpu::matmul_call(identity()));
    const Argument arguments[] = {{x, 128}, {one_, 64}, {y, 128}, {}};
    batch_.add(*call_, {1}, {32}, arguments, driver_->properties());
  }
  // y += x
  void add(Address x, Address y) {
    if (axpy_ == nullptr) axpy_ = &kernel(axpy_source());
    const AxpyParams p{1, 32};
    const Argument arguments[] = {{x, 128}, {y, 128}, {nullptr, sizeof p, &p}};
    batch_.add(*axpy_, {1}, {32}, arguments, driver_->properties());
  }
  void submit() {
    driver_->submit(batch_.commands());
    batch_.clear();
  }

  Address x_ = nullptr, y_ = nullptr, one_ = nullptr;
  const runtime::Function* call_ = nullptr;
  const runtime::Function* axpy_ = nullptr;
  runtime::CommandBatch batch_;
};

TEST_F(MpsCommands, KernelsAndGraphsInOneCommandBuffer) {
  add(x_, x_);   // 2
  copy(x_, y_);  // 2
  add(y_, x_);   // 4
  copy(x_, y_);  // 4
  add(y_, y_);   // 8
  submit();
  EXPECT_EQ(download<float>(y_, 32), std::vector<float>(32, 8.0f));
  EXPECT_EQ(calls("commandBuffer"), 1);
  EXPECT_EQ(calls("computeCommandEncoderWithDispatchType:"), 3);
  EXPECT_EQ(calls("waitUntilCompleted"), 1);
}

TEST_F(MpsCommands, OneWrapperForACommandBuffer) {
  for (const int commits : {0, 1}) {
    double_->graph_commits = commits;
    double_->calls.clear();
    for (int i = 0; i < 5; ++i) copy(x_, y_);
    submit();
    EXPECT_EQ(calls("commandBufferWithCommandBuffer:"), 1);
    driver_->wait();
    copy(x_, y_);
    submit();
    EXPECT_EQ(calls("commandBufferWithCommandBuffer:"), 2);
    driver_->wait();
  }
}

TEST_F(MpsCommands, OneGroupOfKernelsAndGraphs) {
  const Address w = upload(std::vector<float>(32, 1.0f)), z = upload(std::vector<float>(32, 3.0f));
  copy(x_, y_);
  add(w, z);  // beside it
  copy(x_, y_);
  submit();
  EXPECT_EQ(download<float>(y_, 32), std::vector<float>(32, 1.0f));
  EXPECT_EQ(download<float>(z, 32), std::vector<float>(32, 4.0f));
  driver_->free(w);
  driver_->free(z);
}

TEST_F(MpsCommands, MpsGraphMayCommit) {
  for (const int commits : {1, 2}) {
    double_->graph_commits = commits;
    const std::vector<float> ones(32, 1.0f);
    driver_->copy_to_device(x_, ones.data(), 128);
    double_->calls.clear();
    add(x_, x_);
    copy(x_, y_);
    add(y_, x_);
    copy(x_, y_);
    add(y_, y_);
    submit();
    EXPECT_EQ(download<float>(y_, 32), std::vector<float>(32, 8.0f));
    EXPECT_EQ(calls("commandBuffer"), 1);
    EXPECT_EQ(double_->continued, commits * 2);
    EXPECT_EQ(calls("waitUntilCompleted"), 3);
    double_->continued = 0;
  }
}

TEST_F(MpsCommands, NothingIsLeftAfterAGraphAlone) {
  for (const int commits : {0, 1}) {
    double_->graph_commits = commits;
    copy(x_, y_);
    submit();
    EXPECT_EQ(download<float>(y_, 32)[31], 1);
    double_->calls.clear();
    const std::vector<float> zeros(32, 0.0f);
    driver_->copy_to_device(y_, zeros.data(), 128);  // the queue is idle
    EXPECT_EQ(calls("computeCommandEncoderWithDispatchType:"), 0);
  }
}

TEST_F(MpsCommands, ErrorsNameWhatTheirCommandBufferHad) {
  for (const int commits : {0, 1}) {
    double_->graph_commits = commits;
    add(x_, x_);
    batch_.clear();
    copy(x_, y_);
    const Argument arguments[] = {{x_, 128}, {y_, 128}, {nullptr, 4, &commits}};
    batch_.add(*axpy_, {1}, {32}, arguments, driver_->properties());  // too short a constant
    submit();
    const std::string said = error_of(ErrorCode::device, [&] { driver_->wait(); });
    EXPECT_TRUE(contains(said, "library_matmul_f32_nn, axpy")) << said;
  }
  take_faults();
}

TEST_F(MpsCommands, GraphsAreTimedWhole) {
  double_->graph_commits = 1;
  add(x_, x_);
  copy(x_, y_);
  const std::vector<double> seconds = driver_->time(batch_.commands());
  ASSERT_EQ(seconds.size(), 2u);
  EXPECT_GT(seconds[1], 0);
}

TEST_F(MpsCommands, ExecutablesHaveGraphs) {
  copy(x_, y_);
  add(y_, x_);
  const auto executable = driver_->instantiate(batch_.commands());
  batch_.clear();
  driver_->launch(*executable);
  driver_->launch(*executable);
  EXPECT_EQ(download<float>(x_, 32), std::vector<float>(32, 4.0f));
}

TEST_F(MpsCommands, ManyCallsLeaveNothingBehind) {
  const auto run = [&](int times) {
    for (int i = 0; i < times; ++i) {
      double_->graph_commits = i % 3;
      copy(x_, y_);
      add(y_, y_);
      submit();
    }
    driver_->wait();
  };
  run(10);
  const Live before = double_->live();
  run(100);
  EXPECT_EQ(double_->live(), before);
}

class MpsSystems : public MetalDoubleTest {
 protected:
  // What is told of a driver without MPSGraph.
  std::string notes(MpsUse wanted = MpsUse::measured) {
    const gpu::FoundDevices found = find_devices(HEARTH_METAL_DOUBLE, "", wanted);
    EXPECT_EQ(found.drivers.size(), 1u);
    EXPECT_FALSE(found.drivers[0]->libraries().matmul.exists);
    runtime::Autotuner tuner([] { return runtime::TuningFile("", "", ""); }, false);
    error_of(ErrorCode::unsupported,
             [&] { found.drivers[0]->library_function(gpu::matmul_call(identity()), tuner); });
    return joined(found.notes);
  }
};

TEST_F(MpsSystems, NoneUnlessAskedFor) { EXPECT_FALSE(contains(notes(MpsUse::off), "MPSGraph")); }

TEST_F(MpsSystems, NoneBeforeMacos15) {
  double_->system = {14, 0, 0};
  EXPECT_TRUE(contains(notes(), "no MPSGraph: the system is too old; got one before macOS 15"));
}

TEST_F(MpsSystems, NoneWhereMessagesAreMissing) {
  double_->missing["arrayViewWithShape:strides:"] = true;
  const std::string said = notes();
  EXPECT_TRUE(contains(said, "-[MPSNDArray arrayViewWithShape:strides:] is missing")) << said;
  EXPECT_TRUE(contains(said, "no MPSGraph: the system's classes are not those")) << said;
}

TEST_F(MpsSystems, NoneWhereTypesDiffer) {
  double_->other_types
      ["scaledDotProductAttentionWithQueryTensor:keyTensor:valueTensor:maskTensor:scale:name:"] =
      "@64@0:8@16@24@32@40d48@56";
  EXPECT_TRUE(contains(notes(), "has other types; got @@:@@@@d@, expected @@:@@@@f@"));
}

}  // namespace
}  // namespace hearth::metal
