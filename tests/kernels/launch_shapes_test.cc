// Launches on five cards, by the traits that their makers publish: shapes follow the device.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <string>
#include <vector>

#include "graph/params.h"
#include "graph/selector.h"
#include "kernels/attention/attention.h"
#include "kernels/attention/simdgroup.h"
#include "kernels/experts/experts.h"
#include "kernels/families.h"
#include "kernels/launch/occupancy.h"
#include "kernels/launch/step_plan.h"
#include "kernels/matmul/matmul.h"
#include "kernels/packed/packed.h"
#include "kernels/regions/reduction_text.h"
#include "kernels/regions/region_samples.h"
#include "ops/attention/paged.h"
#include "ops/attention/rope_settings.h"
#include "ops/definition/defs.h"

namespace hearth::gpu {
namespace {

runtime::DeviceTraits nvidia(int processors, int threads, std::int64_t kib, std::int64_t mib) {
  runtime::DeviceTraits traits;
  traits.processors = processors;
  traits.processor_threads = threads;
  traits.processor_registers = 64 * 1024;
  traits.thread_registers = 255;
  traits.processor_memory = kib << 10;
  traits.threadgroup_memory = 48 * 1024;
  traits.large_threadgroup_memory = (kib - 1) << 10;
  traits.cache_bytes = mib << 20;
  traits.has_tile_products = true;
  return traits;
}

runtime::DeviceTraits apple(int cores) {
  runtime::DeviceTraits traits;
  traits.processors = cores;
  traits.processor_registers = 52 * 1024;
  traits.processor_memory = 60 * 1024;
  traits.has_simdgroup_matrix = true;
  return traits;
}

struct Card {
  const char* name;
  runtime::DeviceTraits traits;
};

// CUDA C++ Programming Guide, compute capabilities 8.9 and 9.0; the makers' data sheets.
const std::vector<Card>& cards() {
  static const std::vector<Card> all = {
      {"M2", apple(10)},
      {"M2 Max", apple(38)},
      {"RTX 4060", nvidia(24, 1536, 100, 24)},
      {"L4", nvidia(58, 1536, 100, 48)},
      {"H200", nvidia(132, 2048, 228, 50)},
  };
  return all;
}

TensorSpec dense(DType dtype, const Shape& shape) {
  return {dtype, shape, contiguous_strides(shape), false};
}

// "name[groups x threads]" of all that is launched.
std::string launches(const Card& card, Signature signature) {
  const Selector selector({.traits = card.traits, .families = families()});
  signature.device = &selector.traits();
  const Implementation* const chosen = selector.find(signature);
  if (chosen == nullptr) return "none";
  const Prepared prepared = selector.prepare(*chosen, signature);
  std::string text = chosen->name;
  for (const Step& step : static_cast<const StepPlan*>(prepared.state.get())->steps()) {
    text += " " + std::to_string(step.groups.x) + "," + std::to_string(step.groups.y) + "," +
            std::to_string(step.groups.z) + "x" + std::to_string(step.threads.x);
  }
  return text;
}

using Shapes = std::map<std::string, std::string>;

Shapes of_all(const Signature& signature) {
  Shapes shapes;
  for (const Card& card : cards()) shapes[card.name] = launches(card, signature);
  return shapes;
}

// One query of each head over long keys: splits of the keys for some threadgroups a processor.
TEST(LaunchShapes, FlashDecoding) {
  const Params params =
      Params().f64(1).f64(0).boolean(false).boolean(false).i64(0).dynamic_i64(32768);
  Signature signature;
  signature.op = &defs::attention_op;
  signature.statics = params.statics().span();
  signature.inputs = {dense(DType::f32, {1, 8, 1, 128}), dense(DType::f32, {1, 8, 32768, 128}),
                      dense(DType::f32, {1, 8, 32768, 128})};
  signature.output = signature.inputs[0];
  EXPECT_EQ(of_all(signature), (Shapes{
                                   {"M2", "flash_decoding 3,8,1x128 8,1,1x128"},
                                   {"M2 Max", "flash_decoding 14,8,1x128 8,1,1x128"},
                                   {"RTX 4060", "flash_decoding 9,8,1x128 8,1,1x128"},
                                   {"L4", "flash_decoding 21,8,1x128 8,1,1x128"},
                                   {"H200", "flash_decoding 49,8,1x128 8,1,1x128"},
                               }));
}

// Decoding over pages: pieces of a row's keys are shared out where rows are few. Rows of prompts,
// of which shapes do not tell, have a tile for each 64 of them and for each sequence; by tensor
// cores one for each 32 of them and four heads.
TEST(LaunchShapes, PagedAttention) {
  const auto shapes = [&](std::int64_t sequences) {
    const Params params = paged::params_of({0.1, 16, 0, 0});
    Signature signature;
    signature.op = &defs::paged_attention_op;
    signature.statics = params.statics().span();
    const Shape cache = {16 * 1024, 8, 128};
    signature.inputs = {dense(DType::f16, {sequences, 32, 128}),
                        dense(DType::f16, cache),
                        dense(DType::f16, cache),
                        dense(DType::i32, {sequences, 256}),
                        dense(DType::i32, {sequences + 1}),
                        dense(DType::i32, {sequences})};
    signature.output = signature.inputs[0];
    return of_all(signature);
  };
  const std::string one = "tiles 1,1,1x32 1,8,16x256 1,32,1x256";
  const std::string matrix = "matrix 1,1,1x32 1,8,16x128 1,32,1x256";
  EXPECT_EQ(
      shapes(1),
      (Shapes{
          {"M2", one}, {"M2 Max", one}, {"RTX 4060", matrix}, {"L4", matrix}, {"H200", matrix}}));
  EXPECT_EQ(shapes(64), (Shapes{
                            {"M2", "tiles 1,1,1x32 64,8,1x256 64,32,1x256 67,32,1x128"},
                            {"M2 Max", "tiles 1,1,1x32 64,8,2x256 64,32,1x256 67,32,1x128"},
                            {"RTX 4060", "matrix 1,1,1x32 64,8,3x128 64,32,1x256 544,1,1x128"},
                            {"L4", "matrix 1,1,1x32 64,8,6x128 64,32,1x256 544,1,1x128"},
                            {"H200", "matrix 1,1,1x32 64,8,16x128 64,32,1x256 544,1,1x128"},
                        }));
}

// Cards whose memory holds no tile of prompts make rows of prompts without tensor cores, those of
// codes in pieces; tensor cores still make single rows.
TEST(LaunchShapes, PagedAttentionWithoutTilesOfPrompts) {
  Card small = {"48 KiB", nvidia(40, 1024, 64, 4)};
  small.traits.large_threadgroup_memory = small.traits.threadgroup_memory;
  const auto shapes = [&](std::int64_t rows, std::int64_t columns, paged::CacheFormat format) {
    const Params params = paged::params_of({0.1, 16, 0, 0, format, format});
    const TensorSpec cache = format == 0 ? dense(DType::f16, {16 * 1024, 8, columns})
                                         : dense(DType::u8, {16 * 1024, 8, columns / 32 * 34});
    Signature signature;
    signature.op = &defs::paged_attention_op;
    signature.statics = params.statics().span();
    signature.inputs = {dense(DType::f16, {rows, 32, columns}),
                        cache,
                        cache,
                        dense(DType::i32, {1, 256}),
                        dense(DType::i32, {2}),
                        dense(DType::i32, {1})};
    signature.output = signature.inputs[0];
    return launches(small, signature);
  };
  EXPECT_EQ(shapes(1, 128, 0), "matrix 1,1,1x32 1,8,16x128 1,32,1x256");
  EXPECT_EQ(shapes(64, 128, 0), "matrix 1,1,1x32 4,8,16x128 4,32,1x256 4,32,1x128");
  EXPECT_EQ(shapes(1, 128, paged::kQ8Format), "code_matrix 1,1,1x32 1,8,16x128 1,32,1x256");
  EXPECT_EQ(shapes(64, 128, paged::kQ8Format), "code_matrix 1,1,1x32 64,8,3x128 64,32,1x256");
  // Too many columns for either.
  EXPECT_EQ(shapes(64, 256, 0), "tiles 1,1,1x32 4,8,16x256 4,32,1x256 4,64,1x128");
}

// By tensor cores: splits fill the threadgroups for which a processor has registers, one of wide
// rows or two of narrow ones.
TEST(LaunchShapes, FlashDecodingByTensorCores) {
  const Params params =
      Params().f64(1).f64(0).boolean(false).boolean(false).i64(0).dynamic_i64(32768);
  const auto shapes = [&](std::int64_t columns) {
    Signature signature;
    signature.op = &defs::attention_op;
    signature.statics = params.statics().span();
    signature.inputs = {dense(DType::f16, {1, 8, 1, columns}),
                        dense(DType::f16, {1, 8, 32768, columns}),
                        dense(DType::f16, {1, 8, 32768, columns})};
    signature.output = signature.inputs[0];
    return of_all(signature);
  };
  EXPECT_EQ(shapes(128), (Shapes{
                             {"M2", "flash_decoding 3,8,1x128 8,1,1x128"},
                             {"M2 Max", "flash_decoding 14,8,1x128 8,1,1x128"},
                             {"RTX 4060", "flash_decoding_mma 3,8,1x256 8,1,1x128"},
                             {"L4", "flash_decoding_mma 7,8,1x256 8,1,1x128"},
                             {"H200", "flash_decoding_mma 16,8,1x256 8,1,1x128"},
                         }));
  EXPECT_EQ(shapes(64)["H200"], "flash_decoding_mma 33,8,1x256 8,1,1x64");
}

// A threadgroup a row; a row alone in chunks, for all processors; columns that simdgroups share.
TEST(LaunchShapes, Scans) {
  const auto along = [](const Shape& shape, std::int64_t axis) {
    const Params params = Params().i64(axis).boolean(false);
    Signature signature;
    signature.op = &defs::cumsum_op;
    signature.statics = params.statics().span();
    signature.inputs = {dense(DType::f32, shape)};
    signature.output = signature.inputs[0];
    return of_all(signature);
  };
  EXPECT_EQ(along({32768, 4096}, 1)["H200"], "rows 32768,1,1x256");
  EXPECT_EQ(along({1, 1 << 20}, 1), (Shapes{
                                        {"M2", "chunks 1,37,1x256 1,37,1x256"},
                                        {"M2 Max", "chunks 1,128,1x256 1,128,1x256"},
                                        {"RTX 4060", "chunks 1,128,1x256 1,128,1x256"},
                                        {"L4", "chunks 1,256,1x256 1,256,1x256"},
                                        {"H200", "chunks 1,256,1x256 1,256,1x256"},
                                    }));
  EXPECT_EQ(along({4096, 4096}, 0), (Shapes{
                                        {"M2", "columns 64,1,1x128"},
                                        {"M2 Max", "columns 128,1,1x256"},
                                        {"RTX 4060", "columns 128,1,1x256"},
                                        {"L4", "columns 128,1,1x512"},
                                        {"H200", "columns 128,1,1x1024"},
                                    }));
}

// Rows of a convolution fill the device where there are many; a state has its threadgroups whatever
// the device.
TEST(LaunchShapes, RecurrentMixers) {
  const TensorSpec starts = dense(DType::i32, {3});
  Signature conv;
  conv.op = &defs::causal_conv_op;
  conv.inputs = {dense(DType::bf16, {4096, 2048}), dense(DType::f32, {2048, 4}),
                 dense(DType::f32, {2, 3, 2048}), starts};
  conv.output = conv.inputs[0];
  conv.more_outputs = {conv.inputs[2]};
  EXPECT_EQ(of_all(conv), (Shapes{
                              {"M2", "channels 16,5,3x128"},
                              {"M2 Max", "channels 16,19,3x128"},
                              {"RTX 4060", "channels 16,18,3x128"},
                              {"L4", "channels 16,43,3x128"},
                              {"H200", "channels 16,132,3x128"},
                          }));
  const Params tiled = Params().boolean(true);
  Signature delta;
  delta.op = &defs::gated_delta_rule_op;
  delta.statics = tiled.statics().span();
  const TensorSpec key = dense(DType::bf16, {4096, 16, 128}), gate = dense(DType::f32, {4096, 32});
  delta.inputs = {key,   key,  dense(DType::bf16, {4096, 32, 128}),
                  gate,  gate, dense(DType::f32, {2, 32, 128, 128}),
                  starts};
  delta.output = delta.inputs[2];
  delta.more_outputs = {delta.inputs[5]};
  for (const auto& [card, text] : of_all(delta)) EXPECT_EQ(text, "rows 4,32,3x512") << card;
  Signature scan;
  scan.op = &defs::selective_scan_op;
  const TensorSpec in = dense(DType::bf16, {4096, 1, 128});
  scan.inputs = {dense(DType::bf16, {4096, 64, 64}),
                 dense(DType::f32, {4096, 64}),
                 dense(DType::f32, {64}),
                 in,
                 in,
                 dense(DType::f32, {2, 64, 64, 128}),
                 starts};
  scan.output = scan.inputs[0];
  scan.more_outputs = {scan.inputs[5]};
  for (const auto& [card, text] : of_all(scan)) EXPECT_EQ(text, "rows 16,64,3x128") << card;
}

// A matrix of few long rows: simdgroups share rows where there are too few for the device.
TEST(LaunchShapes, Matvec) {
  Signature signature;
  signature.op = &defs::matmul_op;
  signature.inputs = {dense(DType::f32, {1, 2048}), {DType::f32, {2048, 100}, {1, 2048}, false}};
  signature.output = dense(DType::f32, {1, 100});
  EXPECT_EQ(of_all(signature), (Shapes{
                                   {"M2", "matvec 25,1,1x128"},
                                   {"M2 Max", "matvec 25,1,1x128"},
                                   {"RTX 4060", "matvec 25,1,1x128"},
                                   {"L4", "matvec 50,1,1x128"},
                                   {"H200", "matvec 100,1,1x128"},
                               }));
}

// A row of packed experts: threadgroups of a pair share out its outputs, as many as run at a time.
TEST(LaunchShapes, PackedExperts) {
  const Params params = Params().i64(static_cast<std::int64_t>(DType::q4_k));
  const auto of_rows = [&](std::int64_t rows) {
    Signature signature;
    signature.op = &defs::packed_expert_linear_op;
    signature.statics = params.statics().span();
    signature.inputs = {dense(DType::f16, {rows, 2048}), dense(DType::u8, {128, 7680, 1152}),
                        dense(DType::i32, {rows, 8})};
    signature.output = dense(DType::f16, {rows, 8, 7680});
    return of_all(signature);
  };
  EXPECT_EQ(of_rows(1), (Shapes{
                            {"M2", "matvec 1,1,1x256 5,8,1x256"},
                            {"M2 Max", "matvec 1,1,1x256 19,8,1x256"},
                            {"RTX 4060", "matvec 1,1,1x256 18,8,1x256"},
                            {"L4", "matvec 1,1,1x256 44,8,1x256"},
                            {"H200", "matvec 1,1,1x256 132,8,1x256"},
                        }));
  // Tiles of 64 outputs by 32 pairs, one more for each expert at most, and for pairs without one.
  EXPECT_EQ(of_rows(512)["H200"], "tiles 33,1,1x128 120,257,1x256");
}

// Kernels that count units of rows take rows of as many, whatever their tiling.
TEST(LaunchShapes, UnitsOfPackedRows) {
  const Params params = Params().i64(static_cast<std::int64_t>(DType::q8_0));
  const auto of_units = [&](std::int64_t units) {
    Signature linear;
    linear.op = &defs::packed_linear_op;
    linear.statics = params.statics().span();
    linear.inputs = {dense(DType::f16, {2, units * 32}), dense(DType::u8, {16, units * 34})};
    linear.output = dense(DType::f16, {2, 16});
    Signature experts;
    experts.op = &defs::packed_expert_linear_op;
    experts.statics = linear.statics;
    experts.inputs = {linear.inputs[0], dense(DType::u8, {4, 16, units * 34}),
                      dense(DType::i32, {2, 2})};
    experts.output = dense(DType::f16, {2, 2, 16});
    return std::array{fits_packed_matvec(linear), fits_packed_tiles(linear),
                      fits_packed_expert_matvec(experts)};
  };
  EXPECT_EQ(of_units(kMostUnits - 1), (std::array{true, true, true}));
  EXPECT_EQ(of_units(kMostUnits), (std::array{false, false, false}));
  EXPECT_EQ(of_units(0), (std::array{false, false, false}));
}

TEST(LaunchShapes, SimdgroupProducts) {
  Signature signature;
  signature.op = &defs::matmul_op;
  signature.inputs = {dense(DType::f32, {256, 4096}), dense(DType::f32, {4096, 256})};
  signature.output = dense(DType::f32, {256, 256});
  EXPECT_EQ(of_all(signature), (Shapes{
                                   {"M2", "simdgroup 64,1,1x128"},
                                   {"M2 Max", "simdgroup 64,2,1x128 256,1,1x256"},
                                   {"RTX 4060", "tiles 4,4,1x256"},
                                   {"L4", "tiles 4,4,1x256"},
                                   {"H200", "tiles 4,4,1x256"},
                               }));
}

TEST(LaunchShapes, GradientsOfNorms) {
  const Params params = Params().f64(1e-5);
  Signature signature;
  signature.op = &defs::layer_norm_backward_op;
  signature.statics = params.statics().span();
  const TensorSpec x = dense(DType::f32, {65536, 768});
  signature.inputs = {x, x, dense(DType::f32, {768})};
  signature.output = x;
  signature.more_outputs = {dense(DType::f32, {768}), dense(DType::f32, {768})};
  EXPECT_EQ(of_all(signature), (Shapes{
                                   {"M2", "rows 40,1,1x64 48,1,1x512"},
                                   {"M2 Max", "rows 152,1,1x64 48,1,1x512"},
                                   {"RTX 4060", "rows 144,1,1x64 48,1,1x512"},
                                   {"L4", "rows 347,1,1x64 48,1,1x512"},
                                   {"H200", "rows 1041,1,1x64 48,1,1x512"},
                               }));
}

// The implementation that serves on every card, and its launches where they are the same on all.
std::string of_any(const Signature& signature) {
  const Shapes all = of_all(signature);
  for (const auto& [name, shape] : all) EXPECT_EQ(shape, all.begin()->second) << name;
  return all.begin()->second;
}

// Rows that the threads of a threadgroup hold, and longer ones.
TEST(LaunchShapes, SoftmaxOverRows) {
  const Params params = Params().i64(1);
  for (const OpDef* op : {&defs::softmax_op, &defs::log_softmax_op, &defs::softmax_backward_op,
                          &defs::log_softmax_backward_op}) {
    const auto launched = [&](std::int64_t length, DType dtype) {
      Signature signature;
      signature.op = op;
      signature.statics = params.statics().span();
      signature.inputs = {dense(dtype, {7, length}), dense(dtype, {7, length})};
      signature.output = signature.inputs[0];
      return of_any(signature);
    };
    EXPECT_EQ(launched(8192, DType::f32), "rows 7,1,1x512") << op->name.text;
    EXPECT_EQ(launched(8196, DType::f32), "long_rows 7,1,1x512") << op->name.text;
    EXPECT_EQ(launched(16384, DType::bf16), "rows 7,1,1x512") << op->name.text;
    EXPECT_EQ(launched(16392, DType::bf16), "long_rows 7,1,1x512") << op->name.text;
  }
}

TEST(LaunchShapes, Norms) {
  const Params params = Params().f64(1e-5);
  for (const OpDef* op : {&defs::layer_norm_op, &defs::rms_norm_op, &defs::l2_norm_op}) {
    const auto launched = [&](std::int64_t length) {
      Signature signature;
      signature.op = op;
      signature.statics = params.statics().span();
      signature.inputs = {dense(DType::f32, {7, length})};
      signature.output = signature.inputs[0];
      return of_any(signature);
    };
    EXPECT_EQ(launched(8192), "rows 7,1,1x512") << op->name.text;
    EXPECT_EQ(launched(8196), "long_rows 7,1,1x512") << op->name.text;
  }
}

TEST(LaunchShapes, SoftmaxOverColumns) {
  const Params params = Params().i64(0);
  Signature signature;
  signature.op = &defs::softmax_op;
  signature.statics = params.statics().span();
  signature.inputs = {dense(DType::f32, {4096, 1024})};
  signature.output = signature.inputs[0];
  EXPECT_EQ(of_all(signature), (Shapes{
                                   {"M2", "columns 32,1,1x256"},
                                   {"M2 Max", "columns 32,1,1x512"},
                                   {"RTX 4060", "columns 32,1,1x512"},
                                   {"L4", "columns 32,1,1x1024"},
                                   {"H200", "columns 32,1,1x1024"},
                               }));
}

TEST(LaunchShapes, SelectedRows) {
  const Params params = Params().i64(0);
  Signature signature;
  signature.op = &defs::select_op;
  signature.statics = params.statics().span();
  signature.inputs = {dense(DType::f32, {1000, 4096}), dense(DType::i64, {256})};
  signature.output = dense(DType::f32, {256, 4096});
  EXPECT_EQ(of_all(signature), (Shapes{
                                   {"M2", "rows 64,1,1x256"},
                                   {"M2 Max", "rows 64,2,1x256"},
                                   {"RTX 4060", "rows 64,2,1x256"},
                                   {"L4", "rows 64,4,1x256"},
                                   {"H200", "rows 64,4,1x256"},
                               }));
}

// What is not contiguous after the axis moves by elements.
TEST(LaunchShapes, SelectedElements) {
  const Params params = Params().i64(0);
  Signature signature;
  signature.op = &defs::select_op;
  signature.statics = params.statics().span();
  signature.inputs = {{DType::f32, {1000, 4096}, {1, 1000}, false}, dense(DType::i64, {256})};
  signature.output = dense(DType::f32, {256, 4096});
  EXPECT_EQ(of_any(signature), "elements 4096,1,1x256");
}

// How lines are added up follows the device too.
TEST(LaunchShapes, ScatterAdd) {
  const Params params = Params().i64(1);
  Signature signature;
  signature.op = &defs::scatter_add_op;
  signature.statics = params.statics().span();
  signature.inputs = {dense(DType::f32, {40000, 50}), dense(DType::i64, {40000, 64}),
                      dense(DType::f32, {40000, 64})};
  signature.output = signature.inputs[0];
  EXPECT_EQ(of_all(signature), (Shapes{
                                   {"M2", "serial 157,1,1x256"},
                                   {"M2 Max", "serial 157,1,1x256"},
                                   {"RTX 4060", "serial 157,1,1x256"},
                                   {"L4", "privatized 40000,1,1x256"},
                                   {"H200", "privatized 40000,1,1x256"},
                               }));
}

// What a device has changes what is chosen for it.
runtime::DeviceTraits changed(runtime::DeviceTraits traits,
                              void (*change)(runtime::DeviceTraits&)) {
  change(traits);
  return traits;
}

// The elements of a threadgroup array of the last kernel that `implementation` launches.
std::int64_t array_count(const runtime::DeviceTraits& traits, Signature signature,
                         const std::string& implementation, const std::string& array) {
  const Selector selector({.traits = traits,
                           .families = families(),
                           .rules = std::string(signature.op->name.text) + "=" + implementation});
  signature.device = &selector.traits();
  const Prepared prepared = selector.prepare(*selector.find(signature), signature);
  const Step& last = static_cast<const StepPlan*>(prepared.state.get())->steps().back();
  for (const runtime::KernelParameter& each : last.kernel->source()->parameters) {
    if (each.kind == Kind::threadgroup && each.name == array) return each.count;
  }
  return -1;
}

// Sums in threadgroup memory: what each threadgroup has of it, down to whole rows of its threads
// and up to what lanes tell apart.
TEST(LaunchShapes, SumsInThreadgroupMemory) {
  const Params params = Params().i64(1);
  Signature signature;
  signature.op = &defs::scatter_add_op;
  signature.statics = params.statics().span();
  signature.inputs = {dense(DType::f32, {200, 3000}), dense(DType::i64, {200, 4000}),
                      dense(DType::f32, {200, 4000})};
  signature.output = signature.inputs[0];
  for (const char* const form : {"privatized", "bucketed"}) {
    const auto sums = [&](const runtime::DeviceTraits& traits) {
      return array_count(traits, signature, form, "sums");
    };
    for (const Card& card : cards()) EXPECT_EQ(sums(card.traits), 6144) << card.name << form;
    const runtime::DeviceTraits h200 = cards().back().traits;
    EXPECT_EQ(sums(changed(h200, [](auto& card) { card.threadgroup_memory = 16 << 10; })), 2048)
        << form;
    EXPECT_EQ(sums(changed(h200, [](auto& card) { card.processor_memory = 2 << 20; })), 8192)
        << form;
    EXPECT_EQ(sums(changed(h200, [](auto& card) { card.threadgroup_memory = 1; })), 512) << form;
  }
}

// Workspace for the sums that all registers hold, twice as much where results are few; never less
// than cuBLASLt's maker recommends, nor else more than a 256th of the memory.
TEST(LaunchShapes, WorkspaceOfLibraries) {
  const auto mebibytes = [](runtime::DeviceTraits traits, std::int64_t m, std::int64_t n,
                            std::int64_t k, std::int64_t recommended = 0) {
    traits.libraries.matmul = {
        .exists = true, .strided = true, .workspace_bytes = recommended << 20};
    Signature product;
    product.op = &defs::matmul_op;
    product.inputs = {dense(DType::bf16, {m, k}), dense(DType::bf16, {k, n})};
    product.output = dense(DType::bf16, {m, n});
    product.device = &traits;
    return prepare_library(product).workspace_bytes >> 20;
  };
  std::map<std::string, std::vector<std::int64_t>> all;
  for (const Card& card : cards()) {
    all[card.name] = {mebibytes(card.traits, 8192, 8192, 8192),
                      mebibytes(card.traits, 1024, 1024, 65536)};
  }
  EXPECT_EQ(all["H200"], (std::vector<std::int64_t>{32, 64}));
  EXPECT_EQ(all["L4"], (std::vector<std::int64_t>{8, 16}));
  EXPECT_EQ(all["RTX 4060"], (std::vector<std::int64_t>{4, 4}));
  struct Small {
    int processors, threads;
    std::int64_t gibibytes, recommended, large, few;
  };
  // RTX 4060, L4, GeForce MX450, the processors of an L4 with 2 and 1 GiB, H20.
  for (const Small& card : {Small{24, 1536, 8, 4, 4, 4}, Small{58, 1536, 24, 4, 8, 16},
                            Small{14, 1024, 2, 4, 4, 4}, Small{58, 1536, 2, 4, 8, 8},
                            Small{58, 1536, 1, 4, 4, 4}, Small{78, 2048, 96, 32, 32, 32}}) {
    runtime::DeviceTraits traits = nvidia(card.processors, card.threads, 100, 24);
    traits.memory = card.gibibytes << 30;
    EXPECT_EQ(mebibytes(traits, 8192, 8192, 8192, card.recommended), card.large);
    EXPECT_EQ(mebibytes(traits, 1024, 1024, 65536, card.recommended), card.few);
  }
  // A product that has no use for more takes no more.
  runtime::DeviceTraits least = nvidia(14, 1024, 100, 1);
  EXPECT_EQ(mebibytes(least, 64, 64, 32, 4), 0);
}

// The heads of a deterministic gradient by a library: as many a call as the device has memory for.
TEST(LaunchShapes, CallsOfAGradientOfAttention) {
  const Params params =
      Params().f64(1).f64(0).boolean(false).boolean(false).i64(0).dynamic_i64(4096);
  const TensorSpec rows = dense(DType::f16, {4, 16, 4096, 64});
  Signature gradient;
  gradient.op = &defs::attention_backward_op;
  gradient.statics = params.statics().span();
  gradient.inputs = {
      rows, rows, rows, rows, rows, {}, {}, {}, {}, {}, dense(DType::f32, {4, 16, 4096})};
  for (std::size_t i = 5; i < 10; ++i) gradient.inputs[i].absent = true;
  gradient.output = rows;
  gradient.more_outputs = {rows, rows};
  const auto prepared = [&](std::int64_t gibibytes) {
    runtime::DeviceTraits traits = cards().back().traits;
    traits.memory = gibibytes << 30;
    gradient.device = &traits;
    return prepare_library_attention_backward(gradient);
  };
  const auto calls = [&](std::int64_t gibibytes) {
    const Prepared made = prepared(gibibytes);
    return static_cast<const StepPlan*>(made.state.get())->steps().size();
  };
  EXPECT_EQ(calls(140), 2u);  // an H200's
  EXPECT_EQ(calls(24), 16u);  // an L4's
  EXPECT_EQ(calls(8), 32u);   // an RTX 4060's
  EXPECT_EQ(calls(2), 64u);   // a head a call, which is the least
  EXPECT_EQ(calls(0), 64u);
  // Whatever the memory, scores take little of it.
  for (const std::int64_t gibibytes : {2, 8, 24, 140}) {
    EXPECT_LE(prepared(gibibytes).workspace_bytes, (gibibytes << 30) / 32) << gibibytes;
  }
}

// Tiles of attention: those that fit a device's memory and registers, in the order of its clocks.
TEST(LaunchShapes, TilesOfAttention) {
  const Params params =
      Params().f64(1).f64(0).boolean(false).boolean(false).i64(0).dynamic_i64(1024);
  Signature signature;
  signature.op = &defs::attention_op;
  signature.statics = params.statics().span();
  signature.inputs = {dense(DType::f32, {1, 8, 1024, 128}), dense(DType::f32, {1, 8, 1024, 128}),
                      dense(DType::f32, {1, 8, 1024, 128})};
  signature.output = signature.inputs[0];
  const auto tiles = [&](const runtime::DeviceTraits& traits) {
    signature.device = &traits;
    std::string text;
    for (const AttentionTile& tile : simdgroup_attention_tiles(signature)) {
      text += std::to_string(tile.simdgroups) + "x" + std::to_string(tile.blocks) + "x" +
              std::to_string(tile.keys) + (tile.held ? "h " : " ");
    }
    return text;
  };
  const runtime::DeviceTraits m2 = cards().front().traits;
  EXPECT_EQ(tiles(m2), "4x1x32h 4x1x16h 4x1x16 2x1x16h 2x1x16 2x1x8 ");
  EXPECT_EQ(tiles(changed(m2, [](auto& gpu) { gpu.threadgroup_memory = 20 << 10; })),
            "4x1x32h 4x1x16h 2x1x16h 2x1x16 2x1x8 ");
  EXPECT_EQ(tiles(changed(m2, [](auto& gpu) { gpu.thread_registers = 80; })),
            "4x1x16 2x1x16 2x1x8 ");
  // Threadgroup memory that is slow is read less where queries are held.
  for (TensorSpec* spec :
       {&signature.inputs[0], &signature.inputs[1], &signature.inputs[2], &signature.output}) {
    *spec = dense(DType::f16, {1, 8, 1024, 64});
  }
  EXPECT_EQ(tiles(m2).find("4x1x32 4x1x16h "), tiles(m2).find("4x1x32 "));
  const runtime::DeviceTraits slow =
      changed(m2, [](auto& gpu) { gpu.per_clock.threadgroup_bytes = 4; });
  EXPECT_LT(tiles(slow).find("4x1x16h "), tiles(slow).find("4x1x32 "));
}

// Threadgroups, by the chunks of each, and threads of what reduces a region first.
std::string reduces(const Card& card, const Region& region) {
  LoweredRegion lowered = lower(region);
  lowered.device = &card.traits;
  const RegionValues values(lowered);
  const BuiltReduction built =
      reduction_kernels(lowered, values, reduction_width(lowered, values), 0);
  return std::to_string(built.reduce.groups.x) + "," + std::to_string(built.reduce.groups.y) + "x" +
         std::to_string(built.reduce.threads.x);
}

Shapes of_all(const Region& region) {
  Shapes shapes;
  for (const Card& card : cards()) shapes[card.name] = reduces(card, region);
  return shapes;
}

// Chunks of columns fill the device, and none is left over to run after the others.
TEST(LaunchShapes, ReducedColumns) {
  EXPECT_EQ(of_all(gpu_test::place_of_largest(DType::f32, {32768, 4096}, 0, {0, 1})),
            (Shapes{
                {"M2", "32,1x128"},
                {"M2 Max", "32,2x256"},
                {"RTX 4060", "32,2x256"},
                {"L4", "32,5x256"},
                {"H200", "32,16x256"},
            }));
  EXPECT_EQ(of_all(gpu_test::place_of_largest(DType::f32, {4096, 12288}, 0, {0, 1})),
            (Shapes{
                {"M2", "96,1x256"},
                {"M2 Max", "96,1x128"},
                {"RTX 4060", "96,1x128"},
                {"L4", "96,2x256"},
                {"H200", "96,5x256"},
            }));
  for (const Card& card : cards()) {
    const std::int64_t places = resident_groups(card.traits, 512);
    for (std::int64_t columns = 128; columns <= 128 * places / 4; columns += 128) {
      const std::string shape =
          reduces(card, gpu_test::place_of_largest(DType::f32, {32768, columns}, 0, {0, 1}));
      EXPECT_LE(columns / 128 * std::stoll(shape.substr(shape.find(',') + 1)), places)
          << card.name << ", " << columns << " columns: " << shape;
    }
  }
}

// Rows that nearly fill the device have a simdgroup each, eight of them a threadgroup.
TEST(LaunchShapes, ReducedRows) {
  EXPECT_EQ(of_all(gpu_test::sum(DType::f32, {8192, 768}, 0b10, {1, 0})),
            (Shapes{
                {"M2", "1024,1x256"},
                {"M2 Max", "1024,1x256"},
                {"RTX 4060", "1024,1x256"},
                {"L4", "1024,1x256"},
                {"H200", "1024,1x256"},
            }));
}

// Tiles of regions that transpose are as large as threadgroup memory allows.
TEST(LaunchShapes, TilesOfRegions) {
  const auto groups = [](const runtime::DeviceTraits& traits) {
    LoweredRegion lowered = lower(gpu_test::chain(DType::f16, {1024, 2048}, {1, 1024}, {2048, 1}));
    lowered.device = &traits;
    const RegionValues values(lowered);
    return map_kernel(lowered, values, map_width(lowered, values), 0).groups.x;
  };
  for (const Card& card : cards()) EXPECT_EQ(groups(card.traits), 16 * 32) << card.name;
  const runtime::DeviceTraits h200 = cards().back().traits;
  EXPECT_EQ(groups(changed(h200, [](auto& card) { card.threadgroup_memory = 8 << 10; })), 32 * 64);
}

// What a driver tells may be nothing.
TEST(LaunchShapes, OfADeviceWithoutNumbers) {
  runtime::DeviceTraits nothing;
  nothing.processors = nothing.processor_threads = 0;
  nothing.processor_memory = nothing.processor_registers = 0;
  nothing.has_simdgroup_matrix = true;
  Signature product;
  product.op = &defs::matmul_op;
  product.inputs = {dense(DType::f32, {64, 64}), dense(DType::f32, {64, 64})};
  product.output = dense(DType::f32, {64, 64});
  EXPECT_EQ(launches({"none", nothing}, product).substr(0, 9), "simdgroup");
  const Params params = RopeSettings().params();
  Signature rope;
  rope.op = &defs::rope_op;
  rope.statics = params.statics().span();
  rope.inputs = {dense(DType::f32, {2, 3, 5, 8})};
  rope.output = rope.inputs[0];
  EXPECT_EQ(launches({"none", nothing}, rope).substr(0, 5), "pairs");
}

}  // namespace
}  // namespace hearth::gpu
