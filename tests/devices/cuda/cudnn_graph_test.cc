// Graphs for cuDNN against a strict library of these tests: descriptors are finalized once and
// before they are used, given back, and never touched afterwards; plans pass addresses in the order
// of the tensors.
#include "devices/cuda/cudnn/cudnn_graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <set>

#include "devices/cuda/cudnn/cudnn_attention.h"
#include "devices/cuda/cudnn/cudnn_conv.h"
#include "hearth/error.h"

namespace hearth::cuda {
namespace {

using Api = CudnnApi;
using Status = Api::Status;

constexpr auto kFailure = static_cast<Status>(2000);

struct Fake {
  struct Descriptor {
    Api::DescriptorType type;
    bool finalized = false;
    std::map<Api::Attribute, std::vector<std::byte>> values;
  };
  std::set<Descriptor*> alive;
  std::vector<std::string> faults;
  int configs = 2;  // that the heuristics propose
  int refused = 0;  // of those, the first
  std::int64_t workspace = 0;
  std::vector<std::int64_t> ids;  // of the last run
  std::vector<void*> pointers;
  int runs = 0;
  std::vector<Api::NumericalNote> notes;  // that the engines of the first heuristics have
  std::vector<CudnnShape> memory_shapes, memory_strides;
};
Fake* fake = nullptr;

std::size_t bytes_of(Api::AttributeType type) {
  switch (type) {
    case Api::AttributeType::boolean:
      return 1;
    case Api::AttributeType::handle:
    case Api::AttributeType::int64:
    case Api::AttributeType::void_ptr:
    case Api::AttributeType::backend_descriptor:
      return 8;
    default:
      return 4;
  }
}

Fake::Descriptor* known(Api::Descriptor descriptor, const char* call) {
  auto* const found = static_cast<Fake::Descriptor*>(descriptor);
  if (fake->alive.contains(found)) return found;
  fake->faults.push_back(std::string(call) + " of a descriptor that is gone");
  return nullptr;
}

Status set_attribute(Api::Descriptor descriptor, Api::Attribute name, Api::AttributeType type,
                     std::int64_t count, const void* elements) {
  auto* const target = known(descriptor, "set");
  if (target == nullptr || target->finalized) return kFailure;
  if (type == Api::AttributeType::backend_descriptor) {
    for (std::int64_t i = 0; i < count; ++i) {
      auto* const other = known(static_cast<const Api::Descriptor*>(elements)[i], "use");
      if (other == nullptr || !other->finalized) return kFailure;
    }
  }
  const auto* const from = static_cast<const std::byte*>(elements);
  target->values[name].assign(from, from + bytes_of(type) * static_cast<std::size_t>(count));
  return Status::success;
}

Status get_attribute(const Api::Descriptor descriptor, Api::Attribute name, Api::AttributeType,
                     std::int64_t wanted, std::int64_t* count, void* elements) {
  auto* const from = known(descriptor, "get");
  if (from == nullptr || !from->finalized) return kFailure;
  if (name == Api::Attribute::execution_plan_workspace_size) {
    std::memcpy(elements, &fake->workspace, 8);
    *count = 1;
    return Status::success;
  }
  if (name == Api::Attribute::engine_numerical_note) {
    *count = static_cast<std::int64_t>(fake->notes.size());
    if (*count > wanted) return kFailure;
    std::copy(fake->notes.begin(), fake->notes.end(), static_cast<Api::NumericalNote*>(elements));
    return Status::success;
  }
  *count = name == Api::Attribute::enginecfg_engine ? 1 : fake->configs;
  for (std::int64_t i = 0; i < std::min<std::int64_t>(wanted, *count); ++i) {
    known(static_cast<Api::Descriptor*>(elements)[i], "fill")->finalized = true;
  }
  return Status::success;
}

template <class T>
std::vector<T> values(const Fake::Descriptor& from, Api::Attribute name) {
  const std::vector<std::byte>& bytes = from.values.at(name);
  std::vector<T> all(bytes.size() / sizeof(T));
  std::memcpy(all.data(), bytes.data(), bytes.size());
  return all;
}

void note_memory(const Fake::Descriptor& tensor) {
  if (values<char>(tensor, Api::Attribute::tensor_is_virtual)[0] != 0 ||
      values<char>(tensor, Api::Attribute::tensor_is_by_value)[0] != 0) {
    return;
  }
  const auto shape = values<std::int64_t>(tensor, Api::Attribute::tensor_dimensions);
  fake->memory_shapes.push_back(CudnnShape(std::span(shape)));
  const auto strides = values<std::int64_t>(tensor, Api::Attribute::tensor_strides);
  fake->memory_strides.push_back(CudnnShape(std::span(strides)));
}

Status finalize(Api::Descriptor descriptor) {
  auto* const target = known(descriptor, "finalize");
  if (target == nullptr || target->finalized) return kFailure;
  if (target->type == Api::DescriptorType::execution_plan && fake->refused > 0) {
    --fake->refused;
    return kFailure;
  }
  target->finalized = true;
  if (target->type == Api::DescriptorType::tensor) note_memory(*target);
  return Status::success;
}

Status execute(Api::Handle, Api::Descriptor plan, Api::Descriptor pack) {
  if (!known(plan, "run")->finalized || !known(pack, "run")->finalized) return kFailure;
  const auto* const from = static_cast<Fake::Descriptor*>(pack);
  fake->ids = values<std::int64_t>(*from, Api::Attribute::variant_pack_unique_ids);
  fake->pointers = values<void*>(*from, Api::Attribute::variant_pack_data_pointers);
  ++fake->runs;
  return Status::success;
}

class CudnnGraphs : public testing::Test {
 protected:
  CudnnGraphs() {
    fake = &fake_;
    api_->cudnnGetVersion = [] { return std::size_t{91900}; };
    api_->cudnnGetErrorString = [](Status) { return "FAKE"; };
    api_->cudnnGetLastErrorString = [](char* text, std::size_t) { *text = 0; };
    api_->cudnnBackendCreateDescriptor = [](Api::DescriptorType type, Api::Descriptor* made) {
      *made = *fake->alive.insert(new Fake::Descriptor{type, false, {}}).first;
      return Status::success;
    };
    api_->cudnnBackendDestroyDescriptor = [](Api::Descriptor descriptor) {
      auto* const gone = known(descriptor, "destroy");
      fake->alive.erase(gone);
      delete gone;
      return Status::success;
    };
    api_->cudnnBackendFinalize = finalize;
    api_->cudnnBackendSetAttribute = set_attribute;
    api_->cudnnBackendGetAttribute = get_attribute;
    api_->cudnnBackendExecute = execute;
  }
  ~CudnnGraphs() override {
    EXPECT_TRUE(fake_.alive.empty()) << fake_.alive.size() << " descriptors were not given back";
    EXPECT_TRUE(fake_.faults.empty()) << fake_.faults.front();
    fake = nullptr;
  }

  static CudnnAttention attention(bool causal, bool deterministic, std::int64_t heads) {
    CudnnAttention a;
    a.q = {2, heads, 16, 64};
    a.k = {2, 2, 24, 64};
    a.v = {2, 2, 24, 32};
    a.q_strides = contiguous_strides(a.q);
    a.k_strides = contiguous_strides(a.k);
    a.v_strides = contiguous_strides(a.v);
    a.out_strides = a.grad_strides = contiguous_strides(a.out());
    a.scale = 0.5F;
    a.causal = causal;
    a.deterministic = deterministic;
    return a;
  }
  // Tensors in memory of this shape that the library has seen by the end of `make`.
  int tensors_like(const CudnnShape& shape, const std::function<void()>& make) {
    fake_.memory_shapes.clear();
    make();
    return static_cast<int>(
        std::count(fake_.memory_shapes.begin(), fake_.memory_shapes.end(), shape));
  }
  // Runs the plan with addresses 16, 32, ... and says whether they reach the tensors of memory.
  void expect_runs(const CudnnGraph& graph, std::size_t tensors) {
    const auto plan = graph.compile(nullptr, 1024);
    ASSERT_NE(plan, nullptr);
    std::vector<void*> memory;
    for (std::size_t i = 1; i <= tensors; ++i) memory.push_back(reinterpret_cast<void*>(16 * i));
    plan->run(nullptr, memory, nullptr);
    ASSERT_EQ(fake_.ids.size(), fake_.pointers.size());
    ASSERT_GE(fake_.ids.size(), tensors);
    EXPECT_EQ(std::set(fake_.ids.begin(), fake_.ids.end()).size(), fake_.ids.size());
    for (std::size_t i = 0; i < tensors; ++i) EXPECT_EQ(fake_.pointers[i], memory[i]);
    float scale = 0;
    for (std::size_t i = tensors; i < fake_.pointers.size(); ++i) {
      std::memcpy(&scale, fake_.pointers[i], sizeof scale);
      if (scale == 0.5F) return;
    }
    ADD_FAILURE() << "no scalar is the scale";
  }

  Fake fake_;
  std::shared_ptr<CudnnApi> api_ = std::make_shared<CudnnApi>();
};

TEST_F(CudnnGraphs, PlansOfAttentionGetTheirTensorsInOrder) {
  for (const bool causal : {false, true}) {
    expect_runs(attention_graph(api_, attention(causal, false, 2)), 5);
    for (const std::int64_t heads : {2, 6}) {
      expect_runs(attention_backward_graph(api_, attention(causal, true, heads)), 10);
      expect_runs(attention_backward_graph(api_, attention(causal, false, heads)), 11);
    }
  }
  EXPECT_EQ(fake_.runs, 10);
}

TEST_F(CudnnGraphs, BiasAndCountsAreMemoryBehindTheValues) {
  for (const bool causal : {false, true}) {
    CudnnAttention a = attention(causal, true, 2);
    a.bias = {1, 2, 16, 24};
    a.bias_strides = {2 * 16 * 24, 16 * 24, 24, 1};
    EXPECT_EQ(tensors_like({1, 2, 16, 24}, [&] { expect_runs(attention_graph(api_, a), 6); }), 1);
    expect_runs(attention_backward_graph(api_, a), 11);
    a.deterministic = false;
    expect_runs(attention_backward_graph(api_, a), 12);
    a.bounded = true;
    EXPECT_EQ(tensors_like({2, 1, 1, 1}, [&] { expect_runs(attention_graph(api_, a), 8); }), 2);
    a.bias = {};
    expect_runs(attention_graph(api_, a), 7);
  }
}

// Which tensors a product is limited by: rows and keys of the first, rows and sums of the second.
TEST_F(CudnnGraphs, ProductsEndWhereKeysDo) {
  CudnnAttention a = attention(false, false, 2);
  const auto limits = [&] {
    const CudnnGraph graph = attention_graph(api_, a);
    std::vector<int> counts(3);
    for (const Fake::Descriptor* each : fake_.alive) {
      const Api::Attribute names[] = {Api::Attribute::operation_matmul_gemm_m_override_desc,
                                      Api::Attribute::operation_matmul_gemm_n_override_desc,
                                      Api::Attribute::operation_matmul_gemm_k_override_desc};
      for (std::size_t i = 0; i < 3; ++i) counts[i] += each->values.contains(names[i]) ? 1 : 0;
    }
    return counts;
  };
  EXPECT_EQ(limits(), (std::vector<int>{0, 0, 0}));
  a.bounded = true;
  EXPECT_EQ(limits(), (std::vector<int>{2, 1, 1}));
}

TEST_F(CudnnGraphs, TheNextEngineIsTakenWhereOneIsRefused) {
  fake_.refused = 3;  // both of the first heuristics, one of the others
  EXPECT_NE(attention_graph(api_, attention(true, false, 2)).compile(nullptr, 0), nullptr);
}

TEST_F(CudnnGraphs, NoPlanWhereAllEnginesAreRefusedOrWantTooMuch) {
  fake_.refused = 4;
  const CudnnGraph graph = attention_graph(api_, attention(true, false, 2));
  EXPECT_EQ(graph.compile(nullptr, 0), nullptr);
  fake_.workspace = 2048;
  EXPECT_EQ(graph.compile(nullptr, 2047), nullptr);
  EXPECT_NE(graph.compile(nullptr, 2048), nullptr);
}

gpu::ConvProblem conv_problem(gpu::ConvProblem::Kind kind, std::int64_t axes) {
  gpu::ConvProblem p;
  p.kind = kind;
  p.dtype = static_cast<std::int64_t>(DType::f32);
  p.axes = axes;
  p.batch = 2;
  p.inputs = 6;
  p.outputs = 4;
  p.groups = 2;
  for (std::int64_t i = 0; i < axes; ++i) {
    p.extent[i] = 9 + i;
    p.kernel[i] = 3;
    p.positions[i] = 4;
    p.stride[i] = 2;
    p.dilation[i] = 1;
    p.after[i] = i;
  }
  return p;
}

TEST_F(CudnnGraphs, ConvolutionsTakeTheirOperandsInTheOrderOfTheOp) {
  using Kind = gpu::ConvProblem::Kind;
  for (const std::int64_t axes : {1, 2, 3}) {
    const auto shape = [&](std::int64_t first, std::int64_t second, std::int64_t extent,
                           std::int64_t more) {
      CudnnShape all = {first, second};
      if (axes == 1) all.push_back(1);
      for (std::int64_t i = 0; i < axes; ++i) all.push_back(extent + more * i);
      return all;
    };
    const CudnnShape x = shape(2, 6, 9, 1), weight = shape(4, 3, 3, 0), y = shape(2, 4, 4, 0);
    const std::pair<Kind, std::vector<CudnnShape>> orders[] = {
        {Kind::forward, {x, weight, y}},
        {Kind::input_gradient, {y, weight, x}},
        {Kind::weight_gradient, {x, y, weight}}};
    for (const auto& [kind, order] : orders) {
      fake_.memory_shapes.clear();
      const CudnnGraph graph = conv_graph(api_, conv_problem(kind, axes));
      EXPECT_EQ(fake_.memory_shapes, order);
      const auto plan = graph.compile(nullptr, 0, notes_unwanted_by(conv_problem(kind, axes)));
      ASSERT_NE(plan, nullptr);
      void* memory[] = {this, &fake_, &api_};
      plan->run(nullptr, memory, nullptr);
      EXPECT_EQ(fake_.pointers, std::vector<void*>(std::begin(memory), std::end(memory)));
    }
  }
}

TEST_F(CudnnGraphs, ConvolutionsSayWhereChannelsAreInnermost) {
  gpu::ConvProblem p = conv_problem(gpu::ConvProblem::forward, 2);
  conv_graph(api_, p);
  p.channels_last = 1;
  conv_graph(api_, p);
  const std::vector<CudnnShape> expected = {
      {540, 90, 10, 1}, {27, 9, 3, 1}, {64, 16, 4, 1},  // x [2, 6, 9, 10], weight [4, 3, 3, 3]
      {540, 1, 60, 6},  {27, 1, 9, 3}, {64, 1, 16, 4}};
  EXPECT_EQ(fake_.memory_strides, expected);
}

// A plan for each proposal, whichever is asked for first.
TEST_F(CudnnGraphs, EnginesArePlannedOneByOne) {
  const CudnnGraph graph = conv_graph(api_, conv_problem(gpu::ConvProblem::forward, 2));
  const CudnnEngines engines = graph.engines(nullptr, Api::HeuristicsMode::a, 64);
  ASSERT_EQ(engines.count(), 2u);
  fake_.refused = 1;
  EXPECT_EQ(engines.plan(1), nullptr);
  const auto plan = engines.plan(1);
  ASSERT_NE(plan, nullptr);
  void* memory[] = {this, &fake_, &api_};
  plan->run(nullptr, memory, nullptr);
  EXPECT_EQ(fake_.pointers, std::vector<void*>(std::begin(memory), std::end(memory)));
  fake_.workspace = 65;
  EXPECT_EQ(engines.plan(0), nullptr);
}

TEST_F(CudnnGraphs, EnginesThatAreLessExactAreNotTaken) {
  using Note = Api::NumericalNote;
  gpu::ConvProblem p = conv_problem(gpu::ConvProblem::forward, 2);
  const auto has_plan = [&](std::vector<Note> notes) {
    fake_.notes = std::move(notes);
    return conv_graph(api_, p).compile(nullptr, 0, notes_unwanted_by(p)) != nullptr;
  };
  EXPECT_TRUE(has_plan({}));
  EXPECT_TRUE(has_plan({Note::nondeterministic}));
  EXPECT_FALSE(has_plan({Note::tensor_core}));
  EXPECT_FALSE(has_plan({Note::fft}));
  p.tf32 = 1;
  EXPECT_TRUE(has_plan({Note::tensor_core}));
  p.deterministic = 1;
  EXPECT_FALSE(has_plan({Note::tensor_core, Note::nondeterministic}));
  p.dtype = static_cast<std::int64_t>(DType::bf16);
  EXPECT_TRUE(has_plan({Note::tensor_core}));
  EXPECT_FALSE(has_plan({Note::tensor_core, Note::reduced_precision_reduction}));
}

TEST_F(CudnnGraphs, FailuresAreErrorsWithTheLibrarysWords) {
  api_->cudnnBackendFinalize = [](Api::Descriptor) { return kFailure; };
  try {
    attention_graph(api_, attention(false, false, 2));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::device);
    EXPECT_NE(std::string(error.what()).find("FAKE"), std::string::npos);
  }
}

}  // namespace
}  // namespace hearth::cuda
