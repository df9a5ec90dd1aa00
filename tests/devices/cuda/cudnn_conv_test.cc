// Which of cuDNN's engines a convolution runs. The library is a stand-in whose engines are kernels
// of the fake card, each of its own time.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <memory>
#include <set>

#include "devices/cuda/cudnn/cudnn.h"
#include "devices/cuda/fake_card.h"
#include "kernels/conv/problem.h"
#include "runtime/compile/kernel_registry.h"

namespace hearth::cuda {
namespace {

using Api = CudnnApi;
using Status = Api::Status;
using runtime::Argument;
using runtime::Command;

constexpr auto kRefused = static_cast<Status>(2000);

struct StandIn {
  struct Descriptor {
    std::size_t engine = 0;  // of a configuration and its plan
    std::array<void*, 3> memory{};
  };
  std::vector<const runtime::Function*> kernels;  // one an engine, in the order of the heuristics
  std::set<std::size_t> refused;                  // engines that have a plan and then do not run
  std::set<Descriptor*> alive;
  Stream stream = nullptr;
};
StandIn* stand_in = nullptr;

StandIn::Descriptor* behind(Api::Descriptor descriptor) {
  return static_cast<StandIn::Descriptor*>(descriptor);
}

Status set_attribute(Api::Descriptor descriptor, Api::Attribute name, Api::AttributeType,
                     std::int64_t count, const void* elements) {
  if (name == Api::Attribute::execution_plan_engine_config) {
    behind(descriptor)->engine = behind(*static_cast<const Api::Descriptor*>(elements))->engine;
  } else if (name == Api::Attribute::variant_pack_data_pointers) {
    std::copy_n(static_cast<void* const*>(elements), count, behind(descriptor)->memory.begin());
  }
  return Status::success;
}

Status get_attribute(const Api::Descriptor, Api::Attribute name, Api::AttributeType,
                     std::int64_t wanted, std::int64_t* count, void* elements) {
  *count = 0;
  if (name == Api::Attribute::execution_plan_workspace_size) {
    constexpr std::int64_t kNone = 0;
    std::memcpy(elements, &kNone, sizeof kNone);
    *count = 1;
  } else if (name == Api::Attribute::enginecfg_engine) {
    *count = 1;
  } else if (name == Api::Attribute::engineheur_results) {
    *count = static_cast<std::int64_t>(stand_in->kernels.size());
    for (std::int64_t i = 0; i < std::min(wanted, *count); ++i) {
      behind(static_cast<Api::Descriptor*>(elements)[i])->engine = static_cast<std::size_t>(i);
    }
  }
  return Status::success;
}

Status execute(Api::Handle, Api::Descriptor plan, Api::Descriptor pack) {
  const std::size_t engine = behind(plan)->engine;
  if (stand_in->refused.contains(engine)) return kRefused;
  const Argument result[] = {{static_cast<Address>(behind(pack)->memory[2]), 4, nullptr}};
  const Command launch{stand_in->kernels[engine], {1}, {32}, result, 0, {}};
  function_of(launch).enqueue(launch, stand_in->stream);
  return Status::success;
}

std::shared_ptr<const Api> stand_in_api() {
  auto api = std::make_shared<Api>();
  api->cudnnGetVersion = [] { return std::size_t{91900}; };
  api->cudnnGetErrorString = [](Status) { return "STAND-IN"; };
  api->cudnnGetLastErrorString = [](char* text, std::size_t) { *text = 0; };
  api->cudnnCreate = [](Api::Handle* handle) {
    *handle = reinterpret_cast<Api::Handle>(stand_in);
    return Status::success;
  };
  api->cudnnDestroy = [](Api::Handle) { return Status::success; };
  api->cudnnSetStream = [](Api::Handle, Stream stream) {
    stand_in->stream = stream;
    return Status::success;
  };
  api->cudnnBackendCreateDescriptor = [](Api::DescriptorType, Api::Descriptor* made) {
    *made = *stand_in->alive.insert(new StandIn::Descriptor).first;
    return Status::success;
  };
  api->cudnnBackendDestroyDescriptor = [](Api::Descriptor descriptor) {
    stand_in->alive.erase(behind(descriptor));
    delete behind(descriptor);
    return Status::success;
  };
  api->cudnnBackendFinalize = [](Api::Descriptor) { return Status::success; };
  api->cudnnBackendSetAttribute = set_attribute;
  api->cudnnBackendGetAttribute = get_attribute;
  api->cudnnBackendExecute = execute;
  return api;
}

class CudaCudnnConv : public FakeCard {
 protected:
  void SetUp() override {
    FakeCard::SetUp();
    stand_in = &stand_in_;
    folder_ = std::filesystem::path(testing::TempDir()) /
              ("hearth_cudnn_conv_" + std::to_string(getpid()));
    std::filesystem::remove_all(folder_);
    start();
  }
  void TearDown() override {
    stop();
    EXPECT_TRUE(stand_in_.alive.empty()) << stand_in_.alive.size() << " descriptors are left";
    stand_in = nullptr;
    std::filesystem::remove_all(folder_);
    FakeCard::TearDown();
  }
  // A process begins; the folder stays.
  void start(bool tunes = true) {
    const LibraryMaker make = [](Context& context) {
      return std::make_unique<Cudnn>(stand_in_api(), context, 90);
    };
    driver_ = std::make_unique<CudaDriver>(api_, 0, nullptr, std::span(&make, 1));
    registry_ = std::make_unique<runtime::KernelRegistry>(
        *driver_, runtime::KernelCache(folder_.string()), tunes);
    for (Address& each : memory_) each = driver_->allocate(1024);
  }
  void stop() {
    for (const Address each : memory_) driver_->free(each);
    registry_.reset();
    kernels_.clear();
    stand_in_.kernels.clear();
    driver_.reset();
  }
  // An engine for each of `milliseconds`, in the order of the heuristics.
  void offer(const std::vector<int>& milliseconds) {
    stand_in_.kernels.clear();
    for (std::size_t i = 0; i < milliseconds.size(); ++i) {
      stand_in_.kernels.push_back(&kernel(std::to_string(i), 1));
    }
    fake_->more_milliseconds = [milliseconds](const fake::KernelRun& run) {
      return milliseconds[std::stoul(run.name)];
    };
  }
  // Runs a convolution of so many channels, and says which engine it was in the end.
  std::string engine_of(std::int64_t channels) {
    gpu::ConvProblem p;
    p.dtype = static_cast<std::int64_t>(DType::bf16);
    p.axes = 2;
    p.batch = 1;
    p.inputs = p.outputs = channels;
    for (int i = 0; i < 2; ++i) {
      p.extent[i] = p.positions[i] = 4;
      p.kernel[i] = p.stride[i] = p.dilation[i] = 1;
    }
    const Argument arguments[] = {{memory_[0], 1024, nullptr},
                                  {memory_[1], 1024, nullptr},
                                  {memory_[2], 1024, nullptr},
                                  {memory_[3], 1024, nullptr}};
    const runtime::Function& function = registry_->get(gpu::conv_call(p));
    const Command command{&function, {1}, {1}, arguments, 0, {}};
    fake_->runs.clear();
    driver_->submit({&command, 1});
    word(memory_[2]);  // waits
    return fake_->runs.empty() ? "none" : fake_->runs.back().name;
  }

  StandIn stand_in_;
  std::filesystem::path folder_;
  std::unique_ptr<runtime::KernelRegistry> registry_;
  std::array<Address, 4> memory_{};
};

TEST_F(CudaCudnnConv, TheFastestEngineRunsAndIsRemembered) {
  offer({3, 0, 2});
  EXPECT_EQ(engine_of(8), "1");
  EXPECT_GT(fake_->runs.size(), 3u);
  EXPECT_EQ(engine_of(8), "1");
  EXPECT_EQ(fake_->runs.size(), 1u);

  stop();
  start();
  offer({3, 0, 2});
  EXPECT_EQ(engine_of(8), "1");
  EXPECT_EQ(fake_->runs.size(), 1u);
  // Another problem is measured for itself.
  offer({3, 2, 0});
  EXPECT_EQ(engine_of(16), "2");
}

TEST_F(CudaCudnnConv, TheFirstRunsUnlessAnotherIsFaster) {
  offer({1, 1, 1});
  EXPECT_EQ(engine_of(8), "0");
  EXPECT_GT(fake_->runs.size(), 3u);
}

TEST_F(CudaCudnnConv, WhereRunsTakeLongTheFastestOfOneRunEachIsTaken) {
  offer({9, 6, 7});
  EXPECT_EQ(engine_of(8), "1");
}

TEST_F(CudaCudnnConv, EnginesThatDoNotRunAreLeftOut) {
  offer({3, 0, 1});
  stand_in_.refused = {1};
  EXPECT_EQ(engine_of(8), "2");
}

TEST_F(CudaCudnnConv, OneEngineIsNotMeasured) {
  offer({2});
  EXPECT_EQ(engine_of(8), "0");
  EXPECT_EQ(fake_->runs.size(), 1u);
}

// HEARTH_TUNE=0.
TEST_F(CudaCudnnConv, UntunedIsTheFirst) {
  stop();
  start(false);
  offer({3, 0, 2});
  EXPECT_EQ(engine_of(8), "0");
  EXPECT_EQ(fake_->runs.size(), 1u);
}

TEST_F(CudaCudnnConv, WithoutEnginesTheErrorSaysWhatHasNone) {
  const std::string message = error_of(ErrorCode::unsupported, [&] { engine_of(8); });
  EXPECT_TRUE(contains(message, "cuDNN has no engine for library_conv_bf16")) << message;
}

}  // namespace
}  // namespace hearth::cuda
