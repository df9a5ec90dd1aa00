// Calls of libraries as commands: queued, timed, and as nodes of graphs. The library of these tests
// queues a kernel of the fake card.
#include "devices/cuda/driver/commands/library_function.h"

#include <gtest/gtest.h>

#include <array>

#include "devices/cuda/madd_card.h"
#include "runtime/compile/kernel_registry.h"

namespace hearth::cuda {
namespace {

using runtime::Argument;
using runtime::Command;
using runtime::KernelParameter;
using runtime::LibraryCall;

// y = x * problem[1] + problem[0], by one launch, or by two where problem[2] says so.
class MaddFunction final : public LibraryFunction {
 public:
  MaddFunction(Context& context, const LibraryCall& call, const runtime::Function& kernel)
      : LibraryFunction(context, call), kernel_(kernel) {
    value_ = {static_cast<std::uint32_t>(call.problem[0]),
              static_cast<std::uint32_t>(call.problem[1])};
    launches_ = static_cast<int>(call.problem[2]);
  }
  void make_ready(const Command&) const override { ++made_ready; }
  void enqueue(const Command& command, Stream stream) const override {
    check_arguments(command);
    const std::array arguments{command.arguments[0], command.arguments[1], constant(value_)};
    const Command launch{&kernel_, {1, 1, 1}, {32, 1, 1}, arguments, 0, {}};
    for (int i = 0; i < launches_; ++i) function_of(launch).enqueue(launch, stream);
    if (throws) throw Error(ErrorCode::device, "madd: no algorithm");
  }

  mutable int made_ready = 0;
  bool throws = false;
  int launches_ = 1;

 private:
  const runtime::Function& kernel_;
  Constant value_{};
};

class MaddLibrary final : public VendorLibrary {
 public:
  explicit MaddLibrary(Context& context) : context_(context) {}
  void add_to(runtime::LibraryTraits&) override {}
  std::unique_ptr<LibraryFunction> function(const LibraryCall& call, runtime::Autotuner&) override {
    if (call.function != "madd") return nullptr;
    return std::make_unique<MaddFunction>(context_, call, *kernel);
  }
  const runtime::Function* kernel = nullptr;

 private:
  Context& context_;
};

LibraryCall madd_call(std::int64_t add, std::int64_t times, std::int64_t launches = 1) {
  return {"madd",
          "library_madd",
          {{KernelParameter::Kind::read, "uint", "x", 0},
           {KernelParameter::Kind::write, "uint", "y", 0}},
          {add, times, launches}};
}

class CudaLibraryFunction : public MaddCard {
 protected:
  void SetUp() override {
    MaddCard::SetUp();
    const LibraryMaker make = [this](Context& context) {
      auto made = std::make_unique<MaddLibrary>(context);
      library_ = made.get();
      return made;
    };
    driver_ = std::make_unique<CudaDriver>(api_, 0, nullptr, std::span(&make, 1));
    library_->kernel = &kernel("madd", 2, sizeof(Constant));
    for (Address& address : words_) address = allocate_word(2);
  }
  void TearDown() override {
    for (const Address address : words_) driver_->free(address);
    registry_.reset();
    MaddCard::TearDown();
  }
  const MaddFunction& function(const LibraryCall& call) {
    if (registry_ == nullptr) {
      registry_ = std::make_unique<runtime::KernelRegistry>(*driver_, runtime::KernelCache(""));
    }
    return static_cast<const MaddFunction&>(registry_->get(call));
  }
  // words[from] -> words[from + 1] by the library, then on to words[from + 2] by a kernel.
  std::vector<Command> chain(const runtime::Function& first, std::size_t from = 0) {
    library_arguments_ = {buffer(words_[from]), buffer(words_[from + 1])};
    kernel_arguments_ = {buffer(words_[from + 1]), buffer(words_[from + 2]), constant(then_)};
    return {{&first, {1, 1, 1}, {32, 1, 1}, library_arguments_, 0, {}},
            {library_->kernel, {1, 1, 1}, {32, 1, 1}, kernel_arguments_, 1, zero_}};
  }

  MaddLibrary* library_ = nullptr;
  std::unique_ptr<runtime::KernelRegistry> registry_;
  std::array<Address, 4> words_{};
  std::array<Argument, 2> library_arguments_;
  std::array<Argument, 3> kernel_arguments_;
  Constant then_{100, 1};
  std::vector<int> zero_{0};
};

TEST_F(CudaLibraryFunction, EqualCallsAreOneFunction) {
  EXPECT_EQ(&function(madd_call(1, 2)), &function(madd_call(1, 2)));
  EXPECT_NE(&function(madd_call(1, 2)), &function(madd_call(2, 1)));
  LibraryCall unknown = madd_call(1, 2);
  unknown.function = "other";
  const std::string message = error_of(ErrorCode::unsupported, [&] { function(unknown); });
  EXPECT_TRUE(contains(message, "got other")) << message;
}

TEST_F(CudaLibraryFunction, RunsInOrderWithKernels) {
  driver_->submit(chain(function(madd_call(1, 3))));
  EXPECT_EQ(word(words_[2]), 107u);
  EXPECT_EQ(driver_->time(chain(function(madd_call(1, 3)))).size(), 2u);
  EXPECT_EQ(function(madd_call(1, 3)).made_ready, 1);
}

TEST_F(CudaLibraryFunction, IsAGraphWithinAGraph) {
  const auto& madd = function(madd_call(1, 3, 2));
  const auto executable = driver_->instantiate(chain(madd));
  EXPECT_EQ(madd.made_ready, 1);
  EXPECT_EQ(fake_->queued(), 4);  // the words; recording queues nothing
  EXPECT_TRUE(fake_->runs.empty());
  driver_->launch(*executable);
  EXPECT_EQ(word(words_[2]), 107u);
  EXPECT_EQ(fake_->runs.size(), 3u);
  EXPECT_EQ(fake_->calls["cuGraphAddChildGraphNode"], 1);

  // The same addresses: nothing is recorded again. Others: only what changed.
  EXPECT_TRUE(driver_->update(*executable, chain(madd)));
  EXPECT_EQ(fake_->calls["cuStreamBeginCapture_v2"], 1);
  EXPECT_TRUE(driver_->update(*executable, chain(madd, 1)));
  EXPECT_EQ(fake_->calls["cuGraphExecChildGraphNodeSetParams"], 1);
  driver_->launch(*executable);
  EXPECT_EQ(word(words_[2]), 7u * 3 + 1);
  EXPECT_EQ(word(words_[3]), 122u);
  EXPECT_EQ(fake_->calls["cuStreamCreate"], 2);  // the queue, and one to record
}

TEST_F(CudaLibraryFunction, GraphOfAnotherShapeIsAnotherGraph) {
  auto& madd = const_cast<MaddFunction&>(function(madd_call(1, 3)));
  const auto executable = driver_->instantiate(chain(madd));
  madd.launches_ = 2;  // as a library does that takes another algorithm
  EXPECT_FALSE(driver_->update(*executable, chain(madd, 1)));
}

TEST_F(CudaLibraryFunction, FailuresWhileRecordingGiveAllBack) {
  auto& madd = const_cast<MaddFunction&>(function(madd_call(1, 3)));
  driver_->instantiate(chain(madd));  // the stream to record
  const int live = fake_->live();
  madd.throws = true;
  error_of(ErrorCode::device, [&] { driver_->instantiate(chain(madd)); });
  madd.throws = false;
  EXPECT_EQ(fake_->live(), live);
  for (const char* call : {"cuStreamBeginCapture_v2", "cuGraphAddChildGraphNode"}) {
    fake_->fail[call] = Result::invalid_value;
    error_of(ErrorCode::device, [&] { driver_->instantiate(chain(madd)); });
    EXPECT_EQ(fake_->live(), live) << call;
  }
}

TEST_F(CudaLibraryFunction, IsNamedInFaults) {
  fake_->illegal_at_kernel = 1;
  is_lost_ = true;
  driver_->submit(chain(function(madd_call(1, 3))));
  const std::string message = error_of(ErrorCode::device, [&] { driver_->wait(); });
  EXPECT_TRUE(contains(message, "library_madd")) << message;
}

}  // namespace
}  // namespace hearth::cuda
