#include "kernels/matmul/simdgroup.h"

#include <algorithm>
#include <memory>

#include "codegen/dialect_types.h"
#include "kernels/autotune/candidate.h"
#include "kernels/launch/contraction_choices.h"
#include "kernels/launch/op_kernels.h"
#include "kernels/launch/step_plan.h"
#include "kernels/matmul/epilogue.h"
#include "ops/defs.h"

namespace hearth::gpu {
namespace {

constexpr SimdgroupTile kTiles[] = {
    {64, 64, 16}, {64, 64, 32}, {64, 32, 32}, {32, 64, 32}, {32, 32, 16}};
// Sharing k is decided for the smallest of them, so that it depends on no tile, in whole slices of
// every one.
constexpr SimdgroupTile kSmallest{32, 32, 32};

constexpr std::int64_t kGroupThreads = 128;
constexpr std::int64_t kSimdgroups = 4;
constexpr std::int64_t kPanel = 8;  // rows of tiles
constexpr std::int64_t kMostLayers = 65535;
// Threadgroup memory of a core, and threadgroups that fit by their registers.
constexpr std::int64_t kCoreBytes = 32 * 1024;
constexpr std::int64_t kMostResident = 4;
// Threadgroups for each core are enough; parts of k are no shorter, nor more, than these.
constexpr std::int64_t kGroupsOfCore = 4;
constexpr std::int64_t kShortestPart = 256;
constexpr std::int64_t kMostParts = 16;
// Staging an element costs as much as so many multiplications, a slice as so many more.
constexpr std::int64_t kStagedElement = 6;
constexpr std::int64_t kSlice = 1024;

struct Extents {
  std::int64_t m, n, k, batches;
};

Extents extents_of(const Signature& signature) {
  const Shape& c = signature.output.shape;
  const std::int64_t m = c[c.rank() - 2], n = c.back();
  return {m, n, signature.inputs[0].shape.back(), element_count(c) / (m * n)};
}

std::int64_t groups_of(const Extents& of, const SimdgroupTile& tile) {
  return parts(of.m, tile.m) * parts(of.n, tile.n) * of.batches;
}

// What threadgroup memory holds: bf16 is staged as float, which simdgroups multiply in every
// version of Metal.
DType staged(DType dtype) { return dtype == DType::f16 ? DType::f16 : DType::f32; }

// Whether the columns of a factor are dense, and the rows not.
bool is_by_columns(const TensorSpec& spec) {
  const int rank = spec.shape.rank();
  return spec.strides[rank - 2] == 1 && spec.shape[rank - 2] != 1 &&
         (spec.strides[rank - 1] != 1 || spec.shape[rank - 1] == 1);
}

// Whether the dense lines of a factor begin at whole packets, if its memory does.
bool is_wide(const TensorSpec& spec, const Strides& batch, std::int64_t base) {
  const int rank = spec.shape.rank(), line = rank - (is_by_columns(spec) ? 1 : 2);
  const int element = rank - 2 + (rank - 1 - line);
  const std::int64_t packet = kPacketBytes / size_of(spec.dtype);
  return (spec.strides[element] == 1 || spec.shape[element] == 1) && base % packet == 0 &&
         (spec.strides[line] % packet == 0 || spec.shape[line] == 1) &&
         std::all_of(batch.begin(), batch.end(),
                     [&](std::int64_t stride) { return stride % packet == 0; });
}

// Bytes of the tiles of both factors, or of what leaves by the same memory.
std::int64_t shared_bytes(const Signature& signature, const SimdgroupTile& tile) {
  const std::int64_t item = size_of(staged(signature.output.dtype));
  const std::int64_t pad = kPacketBytes / item;
  const auto bytes = [&](std::int64_t lines, std::int64_t length, bool other_way) {
    if (other_way) std::swap(lines, length);
    return lines * (length + pad) * item;
  };
  return std::max(bytes(tile.m, tile.depth, is_by_columns(signature.inputs[0])) +
                      bytes(tile.depth, tile.n, is_by_columns(signature.inputs[1])),
                  kSimdgroups * 8 * (tile.n / 2 + 4) * size_of(DType::f32));
}

// How long a product should take, as the tiles that a core makes one after the other: in
// multiplications of one element of k, and longer the fewer others there are to hide what one waits
// for.
double predicted(const Signature& signature, const SimdgroupTile& tile, std::int64_t shares,
                 std::int64_t cores) {
  const std::int64_t turns = parts(groups_of(extents_of(signature), tile) * shares, cores);
  const std::int64_t resident =
      std::min({turns, kMostResident, kCoreBytes / shared_bytes(signature, tile)});
  const std::int64_t one =
      tile.m * tile.n + kStagedElement * (tile.m + tile.n) + kSlice / tile.depth;
  return static_cast<double>(turns) * static_cast<double>(one) *
         (1 + 1 / static_cast<double>(resident));
}

std::string word(std::int64_t value) { return std::to_string(value); }

// Cores of GPUs are rounded to one of these: what a kernel is prepared for is part of its entry.
template <std::int64_t kCores, bool kLibrary>
Prepared prepare(const Signature& signature) {
  if (auto vector = matvec(signature)) return std::move(*vector);
  if (is_matvec_few(signature)) return matvec_few(signature);
  if (element_count(signature.output.shape) == 0) return portable_matmul(signature);
  return matmul_choice(signature, kCores, kLibrary);
}

template <bool kLibrary>
auto prepare_on(int cores) {
  return cores < 12   ? prepare<8, kLibrary>
         : cores < 24 ? prepare<16, kLibrary>
         : cores < 48 ? prepare<32, kLibrary>
                      : prepare<64, kLibrary>;
}

}  // namespace

bool accepts_simdgroup_matmul(const Signature& signature) {
  const DType dtype = signature.output.dtype;
  return is_float(dtype) && dtype != DType::f64;
}

std::vector<SimdgroupTile> all_simdgroup_tiles() { return {std::begin(kTiles), std::end(kTiles)}; }

std::vector<SimdgroupTile> simdgroup_tiles(const Signature& signature, std::int64_t cores) {
  const std::int64_t shares = simdgroup_shares(signature, cores);
  const auto is_faster = [&](const SimdgroupTile& one, const SimdgroupTile& other) {
    return predicted(signature, one, shares, cores) < predicted(signature, other, shares, cores);
  };
  std::vector<SimdgroupTile> tiles;
  for (const SimdgroupTile& tile : kTiles) {
    tiles.insert(std::upper_bound(tiles.begin(), tiles.end(), tile, is_faster), tile);
  }
  return tiles;
}

std::int64_t simdgroup_shares(const Signature& signature, std::int64_t cores) {
  const Extents of = extents_of(signature);
  const std::int64_t groups = groups_of(of, kSmallest);
  std::int64_t shares = 1;
  while (shares < kMostParts && 2 * shares * groups <= kGroupsOfCore * cores &&
         of.k >= 2 * shares * kShortestPart) {
    shares *= 2;
  }
  return shares;
}

Prepared simdgroup_matmul(const Signature& signature, const SimdgroupTile& tile,
                          std::int64_t shares) {
  const TensorSpec& a = signature.inputs[0];
  const TensorSpec& b = signature.inputs[1];
  const TensorSpec& c = signature.output;
  const int rank = c.shape.rank(), a_rank = a.shape.rank(), b_rank = b.shape.rank();
  const Extents of = extents_of(signature);
  const StridedOperand left = strided_operand(a, 0), right = strided_operand(b, 1);
  Shape batch = c.shape;
  batch.resize(rank - 2);
  Strides a_batch = batch_strides(a, rank - 2), b_batch = batch_strides(b, rank - 2);
  merge_kernel_axes(&batch, {&a_batch, &b_batch});
  const bool a_wide = is_wide(a, a_batch, left.base), b_wide = is_wide(b, b_batch, right.base);
  const std::int64_t length =
      std::max(parts(parts(of.k, shares), kSmallest.depth), std::int64_t{1}) * kSmallest.depth;
  shares = std::max(parts(of.k, length), std::int64_t{1});

  auto plan = std::make_shared<StepPlan>();
  const MatmulEpilogue epilogue = matmul_epilogue(signature).value_or(MatmulEpilogue{});
  const std::string type = dialect_type(c.dtype), dtype = dtype_struct(c.dtype);
  const std::vector<std::string> finish = {truth(epilogue.bias >= 0), truth(epilogue.residual >= 0),
                                           word(static_cast<int>(epilogue.activation))};
  // What is not there is not read.
  const auto extra = [&](int input) {
    if (input < 0) return left.argument;
    return strided_operand(signature.inputs[static_cast<std::size_t>(input)], input).argument;
  };
  const StepArgument result =
      strided_operand(c, static_cast<int>(signature.inputs.size())).argument;
  StepArgument sums = result;
  if (shares > 1) {
    const std::int64_t bytes = shares * element_count(c.shape) * size_of(DType::f32);
    sums = {StepArgument::From::workspace, 0, plan->add_workspace(bytes), bytes};
  }

  std::vector<std::string> arguments = {dtype,
                                        dialect_type(staged(c.dtype)),
                                        shares > 1 ? "F32" : dtype,
                                        word(batch.rank()),
                                        word(tile.m),
                                        word(tile.n),
                                        word(tile.depth),
                                        truth(is_by_columns(a)),
                                        truth(is_by_columns(b))};
  const std::vector<std::string> none = {"false", "false", "0"};
  arguments.insert(arguments.end(), shares > 1 ? none.begin() : finish.begin(),
                   shares > 1 ? none.end() : finish.end());
  const runtime::LazyKernel& kernel = plan->add_kernel(library_kernel(
      "matmul/simdgroup.metal", "matmul_simdgroup", arguments,
      {{Kind::read, type, "a"},
       {Kind::read, type, "b"},
       {Kind::read, type, "bias"},
       {Kind::read, type, "residual"},
       {Kind::write, shares > 1 ? "float" : type, "c"},
       {Kind::constant, "SimdgroupMatmulParams<" + word(batch.rank()) + ">", "p"},
       {Kind::threadgroup, "float4", "shared", shared_bytes(signature, tile) / kPacketBytes}},
      kGroupThreads));
  const auto product = [&](bool wide) {
    Step step;
    step.kernel = &kernel;
    step.groups = {static_cast<std::uint32_t>(parts(of.m, tile.m) * parts(of.n, tile.n)),
                   static_cast<std::uint32_t>(shares),
                   static_cast<std::uint32_t>(std::min(of.batches, kMostLayers))};
    step.threads = {static_cast<std::uint32_t>(kGroupThreads)};
    step.work = product_work(of.batches, of.m, of.n, of.k);
    step.constants = {of.batches,
                      of.m,
                      of.n,
                      of.k,
                      a.strides[a_rank - 2],
                      a.strides[a_rank - 1],
                      b.strides[b_rank - 2],
                      b.strides[b_rank - 1],
                      shares > 1 ? of.n : c.strides[rank - 2],
                      wide && a_wide ? 1 : 0,
                      wide && b_wide ? 1 : 0,
                      length,
                      kPanel};
    append_axes(batch, a_batch, left.base, &step.constants);
    append_axes(batch, b_batch, right.base, &step.constants);
    step.arguments = {left.argument,
                      right.argument,
                      extra(shares > 1 ? -1 : epilogue.bias),
                      extra(shares > 1 ? -1 : epilogue.residual),
                      sums,
                      kConstants};
    if (wide && a_wide) step.arguments[0].alignment = kPacketBytes;
    if (wide && b_wide) step.arguments[1].alignment = kPacketBytes;
    return step;
  };
  Step step = product(true);
  // For other addresses: the same kernel, element by element.
  if (a_wide || b_wide) step.otherwise = std::make_shared<const Step>(product(false));
  plan->add_step(std::move(step));

  if (shares > 1) {
    std::vector<std::string> join_arguments = {dtype};
    join_arguments.insert(join_arguments.end(), finish.begin(), finish.end());
    Step join;
    join.kernel = &plan->add_kernel(library_kernel("matmul/simdgroup.metal",
                                                   "matmul_simdgroup_join", join_arguments,
                                                   {{Kind::read, "float", "parts"},
                                                    {Kind::read, type, "bias"},
                                                    {Kind::read, type, "residual"},
                                                    {Kind::write, type, "c"},
                                                    {Kind::constant, "MatmulJoinParams", "p"}},
                                                   kThreads));
    join.groups = groups_for(element_count(c.shape));
    join.threads = {kThreads};
    join.constants = {of.batches * of.m, of.n, c.strides[rank - 2], shares};
    join.arguments = {sums, extra(epilogue.bias), extra(epilogue.residual), result, kConstants};
    plan->add_step(std::move(join));
  }
  return prepared_steps(std::move(plan));
}

void add_simdgroup_matmul(KernelTable& table, int cores, bool library) {
  table.add({.op = &defs::matmul_op,
             .accepts = accepts_simdgroup_matmul,
             .priority = 1,
             .fuses = fuses_matmul,
             .prepare = library ? prepare_on<true>(cores) : prepare_on<false>(cores),
             .launch = launch_choice,
             .writes_padded = true});
}

}  // namespace hearth::gpu
