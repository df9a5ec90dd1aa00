#include "kernels/matmul/simdgroup.h"
#include "kernels/launch/occupancy.h"

#include <algorithm>
#include <memory>

#include "codegen/dialect_types.h"
#include "kernels/launch/kernel_call.h"
#include "kernels/matmul/epilogue.h"
#include "kernels/matmul/matmul.h"

namespace hearth::gpu {

#include "kernels/matmul/params.h"

namespace {

constexpr SimdgroupTile kMatmulTiles[] = {
    {64, 64, 16}, {64, 64, 32}, {64, 32, 32}, {32, 64, 32}, {32, 32, 16}};
// Sharing k is decided for the smallest of them, so that it depends on no tile, in whole slices of
// every one.
constexpr SimdgroupTile kSmallest{32, 32, 32};

constexpr std::int64_t kGroupThreads = 128;
constexpr std::int64_t kMatmulSimdgroups = 4;
constexpr std::int64_t kPanel = 8;  // rows of tiles
// Registers of a thread.
constexpr std::int64_t kMatmulRegisters = 100;
// k is split until each core has kGroupsOfCore threadgroups, within these lengths and counts of
// parts.
constexpr std::int64_t kGroupsOfCore = 4;
constexpr std::int64_t kMinMatmulPart = 256;
constexpr std::int64_t kMaxMatmulParts = 16;
// The cost of staging, in multiplications: of an element, and of a slice.
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
  return ceil_div(of.m, tile.m) * ceil_div(of.n, tile.n) * of.batches;
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
                  kMatmulSimdgroups * 8 * (tile.n / 2 + 4) * size_of(DType::f32));
}

// How long a product should take, as the tiles that a core makes one after the other: in
// multiplications of one element of k, and longer the fewer others there are to hide what one waits
// for.
double predicted_matmul(const Signature& signature, const SimdgroupTile& tile, std::int64_t shares,
                        std::int64_t cores) {
  const std::int64_t turns = ceil_div(groups_of(extents_of(signature), tile) * shares, cores);
  const runtime::DeviceTraits& device = *signature.device;
  const std::int64_t resident = std::max<std::int64_t>(
      std::min({turns, device.processor_registers / (kGroupThreads * kMatmulRegisters),
                device.processor_memory / shared_bytes(signature, tile)}),
      1);
  const std::int64_t one =
      tile.m * tile.n + kStagedElement * (tile.m + tile.n) + kSlice / tile.depth;
  return static_cast<double>(turns) * static_cast<double>(one) *
         (1 + 1 / static_cast<double>(resident));
}

std::string word(std::int64_t value) { return std::to_string(value); }

std::string name_of(const SimdgroupTile& tile) {
  return "simdgroup/" + word(tile.m) + "x" + word(tile.n) + "x" + word(tile.depth);
}

// The product as the kernels see it, and the join of its parts where k is split into several.
struct SimdgroupProduct {
  SimdgroupProduct(const Signature& its_signature, const SimdgroupTile& its_tile,
                   std::int64_t most_shares, StepPlan& plan)
      : signature(its_signature),
        tile(its_tile),
        of(extents_of(signature)),
        left(strided_operand(signature.inputs[0], 0)),
        right(strided_operand(signature.inputs[1], 1)),
        batch(signature.output.shape),
        epilogue(matmul_epilogue(signature).value_or(MatmulEpilogue{})),
        sums(output_argument(signature)) {
    const int rank = batch.rank() - 2;
    batch.resize(rank);
    left_batch = batch_strides(signature.inputs[0], rank);
    right_batch = batch_strides(signature.inputs[1], rank);
    merge_kernel_axes(&batch, {&left_batch, &right_batch});
    length = std::max(ceil_div(ceil_div(of.k, most_shares), kSmallest.depth), std::int64_t{1}) *
             kSmallest.depth;
    shares = std::max(ceil_div(of.k, length), std::int64_t{1});
    if (!is_shared()) return;
    sums = workspace(plan, shares * element_count(signature.output.shape) * size_of(DType::f32));
  }

  bool is_shared() const { return shares > 1; }
  std::string type() const { return dialect_type(signature.output.dtype); }
  std::string dtype() const { return dtype_struct(signature.output.dtype); }
  std::int64_t c_row() const { return signature.output.strides[signature.output.shape.rank() - 2]; }
  // What is not there is not read.
  StepArgument extra(int input) const {
    return input < 0 ? left.argument : input_argument(signature, input);
  }
  // Template arguments of what adds `end` to sums.
  static std::vector<std::string> end_arguments(const MatmulEpilogue& end) {
    return {truth(end.bias >= 0), truth(end.residual >= 0), word(static_cast<int>(end.activation))};
  }

  SimdgroupMatmulParams<kRuntimeRank> params(bool a_wide, bool b_wide) const {
    const TensorSpec& a = signature.inputs[0];
    const TensorSpec& b = signature.inputs[1];
    const int a_rank = a.shape.rank(), b_rank = b.shape.rank();
    return {.batches = of.batches,
            .m = of.m,
            .n = of.n,
            .k = of.k,
            .a_row = a.strides[a_rank - 2],
            .a_col = a.strides[a_rank - 1],
            .b_row = b.strides[b_rank - 2],
            .b_col = b.strides[b_rank - 1],
            .c_row = is_shared() ? of.n : c_row(),
            .a_wide = a_wide ? 1 : 0,
            .b_wide = b_wide ? 1 : 0,
            .length = length,
            .panel = kPanel,
            .a = {left.base, &batch, &left_batch},
            .b = {right.base, &batch, &right_batch}};
  }

  // Factors of which whole packets are read where they are wide.
  KernelCall call(bool a_wide, bool b_wide) const {
    // Parts are finished where they are joined.
    const MatmulEpilogue end = is_shared() ? MatmulEpilogue{} : epilogue;
    std::vector<std::string> arguments = {dtype(),
                                          dialect_type(staged(signature.output.dtype)),
                                          is_shared() ? "F32" : dtype(),
                                          word(batch.rank()),
                                          word(tile.m),
                                          word(tile.n),
                                          word(tile.depth),
                                          truth(is_by_columns(signature.inputs[0])),
                                          truth(is_by_columns(signature.inputs[1]))};
    for (std::string& each : end_arguments(end)) arguments.push_back(std::move(each));
    KernelCall made("matmul/simdgroup.metal", "matmul_simdgroup", arguments);
    made.read(type(), "a", aligned(left.argument, a_wide ? kPacketBytes : 1))
        .read(type(), "b", aligned(right.argument, b_wide ? kPacketBytes : 1))
        .read(type(), "bias", extra(end.bias))
        .read(type(), "residual", extra(end.residual))
        .write(is_shared() ? "float" : type(), "c", sums)
        .constants(params(a_wide, b_wide))
        .threadgroup("float4", "shared", shared_bytes(signature, tile) / kPacketBytes)
        .work(product_work(of.batches, of.m, of.n, of.k));
    return made;
  }
  Size3 groups() const {
    return {static_cast<std::uint32_t>(ceil_div(of.m, tile.m) * ceil_div(of.n, tile.n)),
            static_cast<std::uint32_t>(shares),
            static_cast<std::uint32_t>(std::min(of.batches, kMaxLayers))};
  }

  void add_product(StepPlan& plan) const {
    const bool a_wide = is_wide(signature.inputs[0], left_batch, left.base);
    const bool b_wide = is_wide(signature.inputs[1], right_batch, right.base);
    const auto step = [&](bool a, bool b) {
      return call(a, b).step(plan, groups(), {kGroupThreads}, kGroupThreads);
    };
    Step made = step(a_wide, b_wide);
    // For other addresses: the same kernel, element by element.
    if (a_wide || b_wide) made.unaligned_variant = std::make_shared<const Step>(step(false, false));
    plan.add_step(std::move(made));
  }

  void add_join(StepPlan& plan) const {
    std::vector<std::string> arguments = {dtype()};
    for (std::string& each : end_arguments(epilogue)) arguments.push_back(std::move(each));
    plan.add_step(
        KernelCall("matmul/simdgroup.metal", "matmul_simdgroup_join", arguments)
            .read("float", "parts", sums)
            .read(type(), "bias", extra(epilogue.bias))
            .read(type(), "residual", extra(epilogue.residual))
            .write(type(), "c", output_argument(signature))
            .constants(MatmulJoinParams{
                .lines = of.batches * of.m, .n = of.n, .c_row = c_row(), .shares = shares})
            .step(plan, groups_for(element_count(signature.output.shape)), {kThreads}, kThreads));
  }

  const Signature& signature;
  SimdgroupTile tile;
  Extents of;
  StridedOperand left, right;
  Shape batch;
  Strides left_batch, right_batch;
  MatmulEpilogue epilogue;
  std::int64_t length, shares;  // of k: of a part, and how many
  StepArgument sums;            // what the product writes: the result, or parts of it
};

}  // namespace

bool accepts_simdgroup(const Signature& signature) {
  const DType dtype = signature.output.dtype;
  return is_float(dtype) && dtype != DType::f64 && element_count(signature.output.shape) > 0;
}

std::vector<SimdgroupTile> simdgroup_tiles(const Signature& signature, std::int64_t cores) {
  const std::int64_t shares = simdgroup_shares(signature, cores);
  const auto is_faster = [&](const SimdgroupTile& one, const SimdgroupTile& other) {
    return predicted_matmul(signature, one, shares, cores) <
           predicted_matmul(signature, other, shares, cores);
  };
  std::vector<SimdgroupTile> tiles;
  for (const SimdgroupTile& tile : kMatmulTiles) {
    tiles.insert(std::upper_bound(tiles.begin(), tiles.end(), tile, is_faster), tile);
  }
  return tiles;
}

std::int64_t simdgroup_shares(const Signature& signature, std::int64_t cores) {
  const Extents of = extents_of(signature);
  const std::int64_t groups = groups_of(of, kSmallest);
  std::int64_t shares = 1;
  while (shares < kMaxMatmulParts && 2 * shares * groups <= kGroupsOfCore * cores &&
         of.k >= 2 * shares * kMinMatmulPart) {
    shares *= 2;
  }
  return shares;
}

Prepared simdgroup_matmul(const Signature& signature, const SimdgroupTile& tile,
                          std::int64_t shares) {
  auto plan = std::make_shared<StepPlan>();
  const SimdgroupProduct product(signature, tile, shares, *plan);
  product.add_product(*plan);
  if (product.is_shared()) product.add_join(*plan);
  return prepared_steps(std::move(plan));
}

std::vector<Candidate> simdgroup_variants(const Signature& signature) {
  const std::int64_t cores = processors(*signature.device);
  const std::int64_t shares = simdgroup_shares(signature, cores);
  std::vector<Candidate> variants;
  for (const SimdgroupTile& tile : simdgroup_tiles(signature, cores)) {
    variants.push_back({name_of(tile), simdgroup_matmul(signature, tile, shares)});
  }
  return variants;
}

std::vector<std::string> simdgroup_variant_names() {
  std::vector<std::string> names;
  for (const SimdgroupTile& tile : kMatmulTiles) names.push_back(name_of(tile));
  return names;
}

}  // namespace hearth::gpu
