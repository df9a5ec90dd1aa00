// Kernels whose registers are counted are compiled for the threads that a processor has registers
// for.
#include <gtest/gtest.h>

#include <string>

#include "graph/params.h"
#include "kernels/attention/attention.h"
#include "kernels/experts/experts.h"
#include "kernels/launch/occupancy.h"
#include "kernels/launch/step_plan.h"
#include "kernels/matmul/matmul.h"
#include "kernels/packed/packed.h"
#include "ops/attention/paged.h"
#include "ops/definition/defs.h"

namespace hearth::gpu {
namespace {

// CUDA C++ Programming Guide, compute capability 9.0.
runtime::DeviceTraits cuda() {
  runtime::DeviceTraits traits;
  traits.processors = 132;
  traits.processor_threads = 2048;
  traits.processor_registers = 64 * 1024;
  traits.thread_registers = 255;
  traits.processor_memory = 228 * 1024;
  traits.threadgroup_memory = 48 * 1024;
  traits.large_threadgroup_memory = 227 * 1024;
  traits.has_tile_products = true;
  return traits;
}

runtime::DeviceTraits apple() {
  runtime::DeviceTraits traits;
  traits.processors = 10;
  traits.processor_registers = 52 * 1024;
  traits.processor_memory = 60 * 1024;
  traits.has_simdgroup_matrix = true;
  return traits;
}

// A card of CUDA with other registers, and threadgroups of so many threads.
runtime::DeviceTraits other(std::int64_t registers, int max_threads = 1024) {
  runtime::DeviceTraits traits = cuda();
  traits.processor_registers = registers;
  traits.max_threads = max_threads;
  return traits;
}

TensorSpec dense(DType dtype, const Shape& shape) {
  return {dtype, shape, contiguous_strides(shape), false};
}

// Whole simdgroups, no more than a threadgroup may have, and no fewer than a kernel is launched
// with.
TEST(LaunchShapes, ThreadsOfRegisters) {
  struct Threads {
    std::int64_t registers, cuda, apple;
  };
  for (const Threads& of :
       {Threads{85, 768, 608}, Threads{128, 512, 416}, Threads{170, 384, 288},
        Threads{255, 256, 192}, Threads{256, 256, 192}, Threads{40, 1024, 1024}}) {
    EXPECT_EQ(register_threads(cuda(), of.registers), of.cuda) << of.registers;
    EXPECT_EQ(register_threads(apple(), of.registers), of.apple) << of.registers;
  }
  EXPECT_EQ(register_threads(other(64 * 1024, 400), 85), 384);
  EXPECT_EQ(register_threads(other(1000), 85), 32);
  EXPECT_EQ(register_threads(other(1000), 85, 128), 128);
  // What a driver tells may be nothing.
  EXPECT_EQ(register_threads(other(0), 128), 256);
  EXPECT_EQ(register_threads(other(0), 0), 1024);
}

// "function threads" of all that is launched, with the threads that it is compiled for.
std::string compiled_for(const runtime::DeviceTraits& traits, Signature signature,
                         const Params& params, Prepared (*prepare)(const Signature&)) {
  signature.device = &traits;
  signature.statics = params.statics().span();
  const Prepared prepared = prepare(signature);
  std::string text;
  for (const Step& step : static_cast<const StepPlan*>(prepared.state.get())->steps()) {
    const runtime::KernelSource& source = *step.kernel->source();
    EXPECT_LE(static_cast<int>(step.threads.x), source.max_threads) << source.name;
    text += (text.empty() ? "" : " ") + source.function.substr(0, source.function.find('<')) + " " +
            std::to_string(source.max_threads);
  }
  return text;
}

TEST(LaunchShapes, RegistersOfPackedProducts) {
  const auto launched = [](const runtime::DeviceTraits& traits, DType format, std::int64_t rows,
                           Prepared (*prepare)(const Signature&)) {
    Signature signature;
    signature.op = &defs::packed_linear_op;
    signature.inputs = {dense(DType::f16, {rows, 2048}),
                        dense(DType::u8, {512, bytes_of(format, 2048)})};
    signature.output = dense(DType::f16, {rows, 512});
    return compiled_for(traits, signature, Params().i64(static_cast<std::int64_t>(format)),
                        prepare);
  };
  const auto row = [&](const runtime::DeviceTraits& traits) {
    return launched(traits, DType::q4_k, 1, prepare_packed_matvec);
  };
  EXPECT_EQ(row(cuda()), "packed_matvec_row 768");
  EXPECT_EQ(row(other(128 * 1024)), "packed_matvec_row 1024");
  EXPECT_EQ(row(other(4 * 1024)), "packed_matvec_row 32");
  EXPECT_EQ(row(other(0)), "packed_matvec_row 384");
  EXPECT_EQ(row(apple()), "packed_matvec_row 608");
  const auto tiles = [&](const runtime::DeviceTraits& traits, DType format, std::int64_t rows) {
    return launched(traits, format, rows, prepare_packed_tiles);
  };
  EXPECT_EQ(tiles(cuda(), DType::q4_k, 8), "code_columns 256 packed_tiles 512");
  EXPECT_EQ(tiles(cuda(), DType::q8_0, 8), "code_columns 256 packed_tiles 384");
  EXPECT_EQ(tiles(cuda(), DType::q4_k, 16), "code_columns 256 packed_tiles 256");
  EXPECT_EQ(tiles(other(128 * 1024), DType::q4_k, 16), "code_columns 256 packed_tiles 512");
  // As many as it is launched with.
  EXPECT_EQ(tiles(other(0), DType::q4_k, 16), "code_columns 256 packed_tiles 256");
}

TEST(LaunchShapes, RegistersOfPackedExperts) {
  const auto launched = [](const runtime::DeviceTraits& traits, std::int64_t rows) {
    Signature signature;
    signature.op = &defs::packed_expert_linear_op;
    signature.inputs = {dense(DType::f16, {rows, 2048}), dense(DType::u8, {16, 512, 1152}),
                        dense(DType::i32, {rows, 2})};
    signature.output = dense(DType::f16, {rows, 2, 512});
    return compiled_for(traits, signature, Params().i64(static_cast<std::int64_t>(DType::q4_k)),
                        prepare_packed_expert_row_lanes);
  };
  EXPECT_EQ(launched(cuda(), 1), "code_rows 256 expert_matvec_packed 768");
  EXPECT_EQ(launched(other(128 * 1024), 1), "code_rows 256 expert_matvec_packed 1024");
  EXPECT_EQ(launched(other(4 * 1024), 1), "code_rows 256 expert_matvec_packed 256");
  EXPECT_EQ(launched(apple(), 1), "code_rows 256 expert_matvec_packed 608");
  const std::string order = "group_experts 128 code_pairs 256 ";
  EXPECT_EQ(launched(cuda(), 64), order + "expert_slots_packed 512");
  EXPECT_EQ(launched(apple(), 64), order + "expert_slots_packed 416");
}

TEST(LaunchShapes, RegistersOfPagedAttention) {
  const auto launched = [](const runtime::DeviceTraits& traits, DType dtype,
                           Prepared (*prepare)(const Signature&)) {
    const TensorSpec cache = dense(dtype, {16 * 1024, 8, 128});
    Signature signature;
    signature.op = &defs::paged_attention_op;
    signature.inputs = {dense(dtype, {64, 32, 128}),
                        cache,
                        cache,
                        dense(DType::i32, {4, 256}),
                        dense(DType::i32, {5}),
                        dense(DType::i32, {4})};
    signature.output = signature.inputs[0];
    return compiled_for(traits, signature, paged::params_of({0.1, 16, 0, 0}), prepare);
  };
  const auto matrix = [&](const runtime::DeviceTraits& traits) {
    return launched(traits, DType::f16, prepare_paged_matrix);
  };
  EXPECT_EQ(matrix(cuda()), "paged_plan 32 paged_matrix 384 paged_combine 256 paged_prompts 256");
  EXPECT_EQ(matrix(other(128 * 1024)),
            "paged_plan 32 paged_matrix 768 paged_combine 256 paged_prompts 512");
  const auto tiles = [&](const runtime::DeviceTraits& traits) {
    return launched(traits, DType::f32, prepare_paged_tiles);
  };
  EXPECT_EQ(tiles(cuda()), "paged_plan 32 paged_pieces 512 paged_combine 256 paged_tiles 128");
  EXPECT_EQ(tiles(apple()), "paged_plan 32 paged_pieces 416 paged_combine 256 paged_tiles 128");
  EXPECT_EQ(tiles(other(4 * 1024)),
            "paged_plan 32 paged_pieces 256 paged_combine 256 paged_tiles 128");
}

TEST(LaunchShapes, RegistersOfSkinnyProducts) {
  Signature signature;
  signature.op = &defs::matmul_op;
  signature.inputs = {dense(DType::f32, {4, 512}), {DType::f32, {512, 65536}, {1, 512}, false}};
  signature.output = dense(DType::f32, {4, 65536});
  const auto launched = [&](const runtime::DeviceTraits& traits) {
    return compiled_for(traits, signature, Params(), prepare_skinny);
  };
  EXPECT_EQ(launched(cuda()), "matmul_skinny 512");
  EXPECT_EQ(launched(apple()), "matmul_skinny 416");
}

}  // namespace
}  // namespace hearth::gpu
