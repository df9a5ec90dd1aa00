// matmul by cuBLASLt, from an op with strided operands to what the library is asked for. The
// library is a fake that computes what it is asked, on a fake card.
#include "devices/cuda/cublas/cublas_matmul.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <random>

#include "devices/cuda/cublas/cublas_lt.h"
#include "devices/cuda/fake_card.h"
#include "graph/selector.h"
#include "graph/switches.h"
#include "kernels/families.h"
#include "kernels/launch/kernel_plan.h"
#include "kernels/launch/step_plan.h"
#include "kernels/matmul/matmul.h"
#include "ops/definition/defs.h"
#include "runtime/compile/kernel_registry.h"

namespace hearth::cuda {
namespace {

using runtime::LibraryCall;

// A matrix operand in memory of its own: `spec` says where its elements lie after the first.
struct Operand {
  TensorSpec spec;
  std::int64_t first = 0;
};

Operand operand(const Shape& shape, const Strides& strides, std::int64_t first = 0) {
  return {{DType::f32, shape, strides, false}, first};
}

class CudaCublasMatmul : public FakeCard {
 protected:
  void SetUp() override {
    FakeCard::SetUp();
    folder_ = std::filesystem::path(testing::TempDir()) /
              ("hearth_cublas_matmul_" + std::to_string(getpid()));
    std::filesystem::remove_all(folder_);
    std::vector<std::string> notes;
    cublas_ = open_cublas_lt(only(kFakeFolder), 13000, notes);
    ASSERT_NE(cublas_, nullptr) << notes.back();
    start();
  }
  void TearDown() override {
    stop();
    std::filesystem::remove_all(folder_);
    FakeCard::TearDown();
  }
  // A process begins; the folder stays.
  void start() {
    const LibraryMaker make = [this](Context& context) {
      return std::make_unique<CublasLt>(cublas_, context);
    };
    driver_ = std::make_unique<CudaDriver>(api_, 0, nullptr, std::span(&make, 1));
    registry_ =
        std::make_unique<runtime::KernelRegistry>(*driver_, runtime::KernelCache(folder_.string()));
    selector_ = std::make_unique<Selector>(SelectorOptions{
        .traits = {driver_->properties(), driver_->libraries()}, .families = gpu::families()});
  }
  void stop() {
    for (const Address address : blocks_) driver_->free(address);
    blocks_.clear();
    registry_.reset();
    driver_.reset();
    for (auto& kept : kernels_) kept.reset();
  }

  Address upload(const std::vector<float>& values, DType dtype) {
    const std::int64_t item = size_of(dtype);
    const Address address = driver_->allocate(static_cast<std::int64_t>(values.size()) * item);
    blocks_.push_back(address);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double wide = values[i];
      const bfloat16 narrow(values[i]);
      const void* const value = dtype == DType::f64    ? static_cast<const void*>(&wide)
                                : dtype == DType::bf16 ? static_cast<const void*>(&narrow)
                                                       : &values[i];
      driver_->copy_to_device(address + static_cast<std::int64_t>(i) * item, value, item);
    }
    return address;
  }

  // Runs the op and compares with sums in f64 over small integers, which are exact. Rows of the
  // result lie `row` elements apart, if that is more than they have; where `cuts`, no product is
  // too small to be cut.
  void check(Operand a, Operand b, const Shape& shape, DType dtype = DType::f32,
             std::int64_t row = 0, bool cuts = false) {
    std::vector<float> memory_of[2];
    std::mt19937 random(7);
    for (auto& values : memory_of) {
      values.resize(4096);
      for (float& value : values) value = static_cast<float>(static_cast<int>(random() % 7) - 3);
    }
    a.spec.dtype = b.spec.dtype = dtype;
    Signature signature;
    signature.op = &defs::matmul_op;
    signature.device = &selector_->traits();
    signature.inputs = {a.spec, b.spec};
    Shape padded = shape;
    padded[shape.rank() - 1] = std::max(row, shape.back());
    signature.output = {dtype, shape, contiguous_strides(padded), false};
    const Implementation* const kernel = selector_->find(signature);
    ASSERT_NE(kernel, nullptr);
    ASSERT_EQ(kernel->layout, LayoutNeed::matrices);
    ASSERT_TRUE(has_dense_matrices(a.spec.shape, a.spec.strides));
    ASSERT_TRUE(has_dense_matrices(b.spec.shape, b.spec.strides));
    const Prepared prepared =
        cuts ? gpu::prepare_library(signature, 1) : kernel->prepare(signature);

    const std::int64_t count = element_count(padded), item = size_of(dtype);
    const Address c = driver_->allocate(count * item);
    driver_->fill(c, 0x55, count * item);
    // Plans align to kAlignment; the library wants more.
    const Address block = driver_->allocate(prepared.workspace_bytes + kAlignment);
    const Address workspace = block + kAlignment;
    blocks_.insert(blocks_.end(), {c, block});
    const Address operands[] = {upload(memory_of[0], dtype) + a.first * item,
                                upload(memory_of[1], dtype) + b.first * item, c};
    runtime::CommandBatch batch;
    runtime::Encoder encoder(*registry_, batch, driver_->properties(), nullptr, 0);
    const Launch launch{&signature, prepared.state.get(), operands, 3, workspace, nullptr, 0,
                        &encoder};
    kernel->launch(launch);
    driver_->submit(batch.commands());
    calls_ = static_cast<int>(batch.size());

    std::vector<std::byte> bytes(static_cast<std::size_t>(count * item));
    driver_->copy_to_host(bytes.data(), c, count * item);
    for (std::int64_t i = 0; i < element_count(shape); ++i) {
      const std::int64_t column = i % shape.back();
      const std::byte* const at = bytes.data() + (i / shape.back() * padded.back() + column) * item;
      const double got = dtype == DType::f64 ? *reinterpret_cast<const double*>(at)
                         : dtype == DType::f32
                             ? *reinterpret_cast<const float*>(at)
                             : static_cast<float>(*reinterpret_cast<const bfloat16*>(at));
      ASSERT_EQ(got, expected(a, b, memory_of, shape, i)) << "element " << i;
      if (column + 1 < shape.back()) continue;
      for (std::int64_t k = item; k < (padded.back() - column) * item; ++k) {
        ASSERT_EQ(at[k], std::byte{0x55}) << "behind element " << i;
      }
    }
  }

  static double expected(const Operand& a, const Operand& b, const std::vector<float>* memory_of,
                         const Shape& shape, std::int64_t element) {
    const int rank = shape.rank();
    const std::int64_t column = element % shape[rank - 1];
    const std::int64_t row = element / shape[rank - 1] % shape[rank - 2];
    std::int64_t at = a.first, other = b.first;
    std::int64_t rest = element / shape[rank - 1] / shape[rank - 2];
    const Strides left = batch_strides(a.spec, rank - 2), right = batch_strides(b.spec, rank - 2);
    for (int axis = rank - 3; axis >= 0; --axis) {
      at += rest % shape[axis] * left[axis];
      other += rest % shape[axis] * right[axis];
      rest /= shape[axis];
    }
    const int last = a.spec.shape.rank() - 1, first = b.spec.shape.rank() - 2;
    at += row * a.spec.strides[last - 1];
    other += column * b.spec.strides[first + 1];
    double sum = 0;
    for (std::int64_t i = 0; i < a.spec.shape[last]; ++i) {
      sum += static_cast<double>(
                 memory_of[0][static_cast<std::size_t>(at + i * a.spec.strides[last])]) *
             memory_of[1][static_cast<std::size_t>(other + i * b.spec.strides[first])];
    }
    return sum;
  }

  std::filesystem::path folder_;
  std::shared_ptr<const CublasLtApi> cublas_;
  std::unique_ptr<runtime::KernelRegistry> registry_;
  std::unique_ptr<Selector> selector_;
  std::vector<Address> blocks_;
  int calls_ = 0;
};

TEST_F(CudaCublasMatmul, RecommendedWorkspaceFollowsTheCard) {
  for (const auto& [major, minor, mebibytes] :
       {std::array{6, 1, 4}, {7, 5, 4}, {8, 9, 4}, {9, 0, 32}, {12, 0, 32}}) {
    fake_->major = major;
    fake_->minor = minor;
    const runtime::LibraryTraits::Matmul matmul = driver_->libraries().matmul;
    EXPECT_TRUE(matmul.exists && matmul.strided);
    EXPECT_EQ(matmul.workspace_bytes, std::int64_t{mebibytes} << 20) << major << minor;
  }
}

TEST_F(CudaCublasMatmul, RowByRowAndTransposed) {
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16}) {
    check(operand({5, 3}, {3, 1}), operand({3, 4}, {4, 1}), {5, 4}, dtype);
    check(operand({5, 3}, {1, 5}), operand({3, 4}, {4, 1}), {5, 4}, dtype);
    check(operand({5, 3}, {3, 1}), operand({3, 4}, {1, 3}), {5, 4}, dtype);
    check(operand({5, 3}, {1, 5}), operand({3, 4}, {1, 3}), {5, 4}, dtype);
  }
}

TEST_F(CudaCublasMatmul, PartsOfLargerMatrices) {
  check(operand({5, 3}, {17, 1}, 3), operand({3, 4}, {1, 9}, 5), {5, 4});
  check(operand({5, 3}, {1, 8}, 1), operand({3, 4}, {11, 1}, 2), {5, 4});
}

TEST_F(CudaCublasMatmul, AxesOfOneElementStepAsTheyLike) {
  check(operand({1, 3}, {0, 1}), operand({3, 4}, {4, 1}), {1, 4});
  check(operand({1, 3}, {1, 7}), operand({3, 1}, {7, 99}), {1, 1});
  check(operand({5, 1}, {1, 77}), operand({1, 4}, {-5, 1}), {5, 4});
  check(operand({5, 3}, {3, 1}), operand({3, 1}, {6, 6}), {5, 1});
}

TEST_F(CudaCublasMatmul, BatchesWithAnyStepsInFewCalls) {
  check(operand({6, 5, 3}, {15, 3, 1}), operand({6, 3, 4}, {12, 4, 1}), {6, 5, 4});
  EXPECT_EQ(calls_, 1);
  check(operand({2, 3, 5, 3}, {45, 15, 3, 1}), operand({3, 4}, {4, 1}), {2, 3, 5, 4});
  EXPECT_EQ(calls_, 1);
  // One of them is the same for all of an axis.
  check(operand({2, 3, 5, 3}, {45, 15, 3, 1}), operand({3, 3, 4}, {12, 4, 1}), {2, 3, 5, 4});
  EXPECT_EQ(calls_, 2);
  // Heads beside each other in each row, as attention has them.
  check(operand({2, 3, 5, 4}, {60, 4, 12, 1}), operand({2, 3, 4, 5}, {60, 4, 1, 12}), {2, 3, 5, 5});
  EXPECT_EQ(calls_, 2);
  check(operand({6, 1, 5, 3}, {15, 15, 3, 1}), operand({2, 3, 4}, {12, 4, 1}), {6, 2, 5, 4});
  EXPECT_EQ(calls_, 2);
}

TEST_F(CudaCublasMatmul, RowsThatEndInPartOfAPacketAreCutWhereAllBeginAtOne) {
  const auto bf16 = [this](const Operand& a, const Operand& b, const Shape& shape,
                           std::int64_t row = 0) {
    check(a, b, shape, DType::bf16, row, true);
    return calls_;
  };
  // Columns of the result; the inner extent; rows, where they lie side by side; two of them.
  EXPECT_EQ(bf16(operand({5, 8}, {8, 1}), operand({8, 19}, {1, 8}), {5, 19}, 24), 2);
  EXPECT_EQ(bf16(operand({5, 19}, {24, 1}), operand({19, 16}, {16, 1}), {5, 16}), 2);
  EXPECT_EQ(bf16(operand({19, 8}, {1, 24}), operand({8, 16}, {16, 1}), {19, 16}), 2);
  EXPECT_EQ(bf16(operand({19, 11}, {1, 24}), operand({11, 9}, {1, 16}), {19, 9}, 16), 8);
  EXPECT_EQ(bf16(operand({5, 11}, {16, 1}), operand({11, 19}, {24, 1}), {5, 19}, 24), 4);
  // With batches, as the library's and as calls of their own.
  EXPECT_EQ(bf16(operand({3, 5, 11}, {80, 16, 1}), operand({3, 11, 8}, {88, 8, 1}), {3, 5, 8}), 2);
  EXPECT_EQ(bf16(operand({2, 3, 5, 11}, {240, 80, 16, 1}), operand({3, 11, 19}, {264, 24, 1}),
                 {2, 3, 5, 19}, 24),
            8);
  // Nothing to gain: rows begin anywhere, end where they should, or are all there is.
  EXPECT_EQ(bf16(operand({5, 8}, {8, 1}), operand({8, 19}, {1, 8}), {5, 19}), 1);
  EXPECT_EQ(bf16(operand({5, 19}, {19, 1}), operand({19, 16}, {16, 1}), {5, 16}), 1);
  EXPECT_EQ(bf16(operand({5, 16}, {16, 1}), operand({16, 8}, {8, 1}), {5, 8}), 1);
  EXPECT_EQ(bf16(operand({5, 3}, {8, 1}), operand({3, 4}, {8, 1}), {5, 4}, 8), 1);
  check(operand({5, 19}, {24, 1}), operand({19, 16}, {16, 1}), {5, 16}, DType::f32, 0, true);
  EXPECT_EQ(calls_, 1);
  switches().tf32 = true;
  check(operand({5, 19}, {24, 1}), operand({19, 16}, {16, 1}), {5, 16}, DType::f32, 0, true);
  EXPECT_EQ(calls_, 2);
  switches().tf32 = false;
}

TEST_F(CudaCublasMatmul, PaddedRowsAreForLargeProductsOfTensorCores) {
  const auto wants = [&](DType dtype, std::int64_t rows) {
    Signature signature;
    signature.op = &defs::matmul_op;
    signature.device = &selector_->traits();
    signature.inputs = {operand({rows, 768}, {768, 1}).spec, operand({768, 50257}, {1, 768}).spec};
    signature.output = operand({rows, 50257}, {50257, 1}).spec;
    for (TensorSpec& spec : signature.inputs) spec.dtype = dtype;
    signature.output.dtype = dtype;
    const Implementation* const kernel = selector_->find(signature);
    return kernel->writes_padded && kernel->wants_padding(signature);
  };
  EXPECT_TRUE(wants(DType::bf16, 1024));
  EXPECT_TRUE(wants(DType::f16, 1024));
  EXPECT_FALSE(wants(DType::bf16, 16));
  EXPECT_FALSE(wants(DType::f32, 1024));
  switches().tf32 = true;
  EXPECT_TRUE(wants(DType::f32, 1024));
  switches().tf32 = false;
}

TEST_F(CudaCublasMatmul, BiasResidualAndRelu) {
  Signature signature;
  signature.op = &defs::matmul_op;
  signature.inputs = {operand({5, 3}, {3, 1}).spec, operand({3, 4}, {4, 1}).spec,
                      operand({5, 4}, {0, 1}).spec, operand({5, 4}, {4, 1}).spec};
  signature.output = operand({5, 4}, {4, 1}).spec;
  signature.epilogue = {{&defs::add_op, 2, false}, {&defs::add_op, 3, true}, {&defs::relu_op}};
  const Implementation* const kernel = selector_->find(signature);
  switches().library_epilogues = false;
  EXPECT_FALSE(kernel->fuses(signature));
  switches().library_epilogues = true;
  EXPECT_TRUE(kernel->fuses(signature));
  Signature gelu = signature;
  gelu.epilogue.back().op = &defs::gelu_tanh_op;
  EXPECT_FALSE(kernel->fuses(gelu));  // of f32
  const Prepared prepared = kernel->prepare(signature);
  std::vector<float> values[4];
  for (int i = 0; i < 4; ++i) {
    for (int k = 0; k < 20; ++k) values[i].push_back(static_cast<float>((k * (i + 3)) % 7) - 3);
  }
  const Address c = driver_->allocate(80);
  const Address workspace = driver_->allocate(prepared.workspace_bytes);
  blocks_.insert(blocks_.end(), {c, workspace});
  const Address operands[] = {upload(values[0], DType::f32), upload(values[1], DType::f32),
                              upload(values[2], DType::f32), upload(values[3], DType::f32), c};
  runtime::CommandBatch batch;
  runtime::Encoder encoder(*registry_, batch, driver_->properties(), nullptr, 0);
  kernel->launch({&signature, prepared.state.get(), operands, 5, workspace, nullptr, 0, &encoder});
  EXPECT_EQ(batch.commands()[0].function->name(), "library_matmul_f32_nn_bias_residual_relu");
  driver_->submit(batch.commands());
  float got[20];
  driver_->copy_to_host(got, c, sizeof got);
  for (std::size_t i = 0; i < 20; ++i) {
    float sum = values[2][i % 4] + values[3][i];
    for (std::size_t k = 0; k < 3; ++k) sum += values[0][i / 4 * 3 + k] * values[1][k * 4 + i % 4];
    EXPECT_EQ(got[i], std::max(sum, 0.0f)) << i;
  }
}

TEST_F(CudaCublasMatmul, TakesTheFastestAndRemembersIt) {
  const auto product = [this] { check(operand({5, 3}, {3, 1}), operand({3, 4}, {4, 1}), {5, 4}); };
  product();
  EXPECT_EQ(fake_->algorithms_run.back(), 2);
  EXPECT_EQ(fake_->calls["cublasLtMatmulAlgoGetHeuristic"], 1);
  fake_->algorithms_run.clear();
  product();
  EXPECT_EQ(fake_->algorithms_run, std::vector<int>{2});

  stop();
  start();
  fake_->algorithms_run.clear();
  product();
  EXPECT_EQ(fake_->algorithms_run, std::vector<int>{2});
  EXPECT_EQ(fake_->calls["cublasLtMatmulAlgoGetHeuristic"], 1);
}

TEST_F(CudaCublasMatmul, LongSumsAreSplitWhereTheCardIsIdleOtherwise) {
  // The parts of the last run, and the most that were tried.
  const auto parts = [this](std::int64_t k) {
    fake_->parts_run.clear();
    check(operand({2, k}, {k, 1}), operand({k, 4}, {4, 1}), {2, 4});
    return std::pair(fake_->parts_run.back(),
                     *std::max_element(fake_->parts_run.begin(), fake_->parts_run.end()));
  };
  fake_->fastest_parts = 4;
  fake_->waves = 0.125F;
  EXPECT_EQ(parts(1000), std::pair(4, 8));  // parts of 64 at least
  EXPECT_EQ(fake_->algorithms_run.back(), 2);
  EXPECT_EQ(parts(200), std::pair(2, 2));
  EXPECT_EQ(parts(100), std::pair(1, 1));
  fake_->waves = 0.5F;
  EXPECT_EQ(parts(1001), std::pair(4, 8));
  fake_->waves = 0.75F;
  EXPECT_EQ(parts(1002), std::pair(4, 4));
  fake_->waves = 1;
  EXPECT_EQ(parts(1003), std::pair(1, 1));
  // Where the library splits, it knows how.
  fake_->waves = 0.125F;
  fake_->offered_parts = 2;
  EXPECT_EQ(parts(1004).second, 2);
  EXPECT_TRUE(fake_->misuse.empty());

  stop();
  start();
  EXPECT_EQ(parts(1000), std::pair(4, 4));
}

TEST_F(CudaCublasMatmul, WorkspaceHoldsSumsOfPartsOfLongSums) {
  stop();
  fake_->memory = std::size_t{24} << 30;  // of which a workspace takes a small part
  start();
  const auto workspace = [this](DType dtype, std::int64_t m, std::int64_t n, std::int64_t k) {
    Signature signature;
    signature.op = &defs::matmul_op;
    signature.device = &selector_->traits();
    signature.inputs = {operand({m, k}, {k, 1}).spec, operand({k, n}, {n, 1}).spec};
    signature.output = operand({m, n}, {n, 1}).spec;
    for (TensorSpec& spec : signature.inputs) spec.dtype = dtype;
    signature.output.dtype = dtype;
    return selector_->find(signature)->prepare(signature).workspace_bytes;
  };
  const std::int64_t mebi = 1 << 20;
  EXPECT_GE(workspace(DType::f32, 128, 128, 100000), 264 * 128 * 128 * 4);
  EXPECT_GE(workspace(DType::bf16, 16, 4096, 14336), 32 * 16 * 4096 * 4);
  EXPECT_GE(workspace(DType::bf16, 3000, 1001, 5000), 4 * 3000 * 1001 * 4);
  EXPECT_LE(workspace(DType::f32, 64, 64, 64), mebi / 4);
  EXPECT_LE(workspace(DType::bf16, 2000, 2000, 100000), 65 * mebi);
  EXPECT_LE(workspace(DType::bf16, 8192, 8192, 8192), 33 * mebi);
}

TEST_F(CudaCublasMatmul, KeptChoicesThatTheLibraryDoesNotTakeAreMadeAnew) {
  check(operand({5, 3}, {3, 1}), operand({3, 4}, {4, 1}), {5, 4});
  stop();
  start();
  fake_->fail["cublasLtMatmulAlgoCheck"] = Result::invalid_value;
  check(operand({5, 3}, {3, 1}), operand({3, 4}, {4, 1}), {5, 4});
  EXPECT_EQ(fake_->calls["cublasLtMatmulAlgoGetHeuristic"], 2);
}

// HEARTH_TUNE=0.
TEST_F(CudaCublasMatmul, UntunedIsTheLibrarysChoice) {
  registry_ = std::make_unique<runtime::KernelRegistry>(
      *driver_, runtime::KernelCache(folder_.string()), false);
  check(operand({5, 3}, {3, 1}), operand({3, 4}, {4, 1}), {5, 4});
  EXPECT_EQ(fake_->algorithms_run, std::vector<int>{0});
}

TEST_F(CudaCublasMatmul, AlignmentIsPartOfTheChoice) {
  const auto product = [this](std::int64_t first) {
    check(operand({5, 3}, {4, 1}, first), operand({3, 4}, {4, 1}), {5, 4});
  };
  product(0);
  product(1);  // the fake minds
  product(4);  // 16 bytes again
  EXPECT_EQ(fake_->calls["cublasLtMatmulAlgoGetHeuristic"], 2);
}

TEST_F(CudaCublasMatmul, OneAlgorithmOrNoMemoryToMeasureIsTheLibrarysChoice) {
  fake_->algorithms = 1;
  check(operand({5, 3}, {3, 1}), operand({3, 4}, {4, 1}), {5, 4});
  EXPECT_EQ(fake_->algorithms_run, std::vector<int>{0});
  fake_->algorithms = 0;
  const std::string message = error_of(
      ErrorCode::device, [&] { check(operand({5, 2}, {2, 1}), operand({2, 4}, {4, 1}), {5, 4}); });
  EXPECT_TRUE(contains(message, "refuses a matrix product; got not supported")) << message;
}

TEST_F(CudaCublasMatmul, Tf32OnlyWhereItIsAsked) {
  const auto name_of = [&](bool tf32) {
    switches().tf32 = tf32;
    Signature signature;
    signature.op = &defs::matmul_op;
    signature.device = &selector_->traits();
    signature.inputs = {operand({5, 3}, {3, 1}).spec, operand({3, 4}, {4, 1}).spec};
    signature.output = operand({5, 4}, {4, 1}).spec;
    const Prepared prepared = selector_->find(signature)->prepare(signature);
    switches().tf32 = false;
    const auto* plan = static_cast<const gpu::KernelPlan*>(prepared.state.get());
    return plan->kernels.front()->get(*registry_).name();
  };
  EXPECT_EQ(name_of(false), "library_matmul_f32_nn");
  EXPECT_EQ(name_of(true), "library_matmul_tf32_nn");
}

TEST_F(CudaCublasMatmul, LargeMatricesAndFewVectorsInF32AreForAKernel) {
  Signature signature;
  signature.op = &defs::matmul_op;
  signature.epilogue = {{&defs::relu_op}};
  // Whether the product leaves the relu alone, and how many calls of the library it is.
  const auto takes = [&](DType dtype, std::int64_t vectors, std::int64_t rows) {
    signature.inputs = {operand({vectors, 2048}, {2048, 1}).spec,
                        operand({2048, rows}, {1, 2048}).spec};
    signature.output = operand({vectors, rows}, {rows, 1}).spec;
    for (TensorSpec& spec : signature.inputs) spec.dtype = dtype;
    signature.output.dtype = dtype;
    const Implementation* const kernel = selector_->find(signature);
    Signature alone = signature;
    alone.epilogue.clear();
    const Prepared prepared = kernel->prepare(alone);
    const auto* plan = static_cast<const gpu::KernelPlan*>(prepared.state.get());
    const bool is_kernel = plan->kernels.front()->source() != nullptr;
    EXPECT_EQ(kernel->fuses != nullptr && kernel->fuses(signature), !is_kernel);
    return is_kernel;
  };
  EXPECT_TRUE(takes(DType::f32, 2, 8192));
  EXPECT_TRUE(takes(DType::f32, 16, 8192));
  EXPECT_FALSE(takes(DType::f32, 17, 8192));
  EXPECT_FALSE(takes(DType::f32, 16, 64));
  EXPECT_FALSE(takes(DType::bf16, 16, 8192));
  switches().tf32 = true;
  EXPECT_FALSE(takes(DType::f32, 16, 8192));
  switches().tf32 = false;
}

TEST_F(CudaCublasMatmul, WhatTheLibraryDoesNotTakeIsForKernels) {
  Signature signature;
  signature.op = &defs::matmul_op;
  const auto find = [&](DType dtype, std::int64_t k) {
    signature.inputs = {operand({5, k}, {k, 1}).spec, operand({k, 4}, {4, 1}).spec};
    signature.output = operand({5, 4}, {4, 1}).spec;
    for (TensorSpec& spec : signature.inputs) spec.dtype = dtype;
    signature.output.dtype = dtype;
    return selector_->find(signature)->layout;
  };
  EXPECT_EQ(find(DType::f32, 3), LayoutNeed::matrices);
  EXPECT_EQ(find(DType::i32, 3), LayoutNeed::strided);
  EXPECT_EQ(find(DType::f32, 0), LayoutNeed::strided);
  EXPECT_FALSE(has_dense_matrices({5, 3}, {0, 1}));
  EXPECT_FALSE(has_dense_matrices({5, 3}, {-3, 1}));
  EXPECT_FALSE(has_dense_matrices({5, 3}, {6, 2}));
  EXPECT_FALSE(has_dense_matrices({3}, {1}));
}

}  // namespace
}  // namespace hearth::cuda
