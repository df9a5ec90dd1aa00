#include "kernels/attention/simdgroup.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>

#include "codegen/dialect_types.h"
#include "kernels/attention/attention.h"
#include "kernels/attention/inputs.h"
#include "kernels/launch/occupancy.h"

namespace hearth::gpu {
namespace {

constexpr AttentionTile kAttentionTiles[] = {
    {4, 2, 32, true},  {4, 1, 32, true},  {4, 1, 64, true}, {8, 1, 32, true},  {4, 1, 16, true},
    {4, 1, 32, false}, {4, 1, 16, false}, {2, 1, 16, true}, {2, 1, 16, false}, {2, 1, 8, false},
};
// Columns of rows in threadgroup memory: kernels are compiled for these.
constexpr std::int64_t kSimdgroupColumns[] = {32, 64, 80, 96, 128, 192, 256};
constexpr std::int64_t kMaxSimdgroupColumns = 256;

// 32-bit registers of a thread that matrices cannot have.
constexpr std::int64_t kOtherRegisters = 28;
// Of a thread's registers: beyond, a compiler may have too few of them.
constexpr double kSafeRegisters = 0.875;

// The kernel's sizes for a signature. Threadgroup memory holds bf16 as float, which simdgroups
// multiply in every version of Metal.
struct Sizes {
  explicit Sizes(const AttentionInputs& a)
      : device(*a.signature.device),
        depth(padded(a.d)),
        columns(padded(a.dv)),
        staged(a.dtype() == DType::f16 ? DType::f16 : DType::f32),
        item(size_of(staged)) {}

  std::int64_t row_bytes(std::int64_t length) const { return length * item + kPacketBytes; }
  std::int64_t shared_bytes(const AttentionTile& tile) const {
    const std::int64_t turn = tile.keys * row_bytes(std::max(depth, columns));
    const std::int64_t rows = (tile.held ? 8 * tile.simdgroups : tile.rows()) * row_bytes(depth);
    return 8 * tile.rows() * size_of(DType::f32) + (tile.held ? std::max(turn, rows) : turn + rows);
  }
  std::int64_t registers(const AttentionTile& tile) const {
    const std::int64_t queries = tile.held ? depth / 4 * item / size_of(DType::f32) : 0;
    return tile.blocks * (columns / 4 + tile.keys / 4 + queries) + kOtherRegisters;
  }
  bool fits(const AttentionTile& tile) const {
    return shared_bytes(tile) <= device.threadgroup_memory &&
           registers(tile) <= device.thread_registers;
  }

  const runtime::DeviceTraits& device;
  const std::int64_t depth, columns;
  const DType staged;
  const std::int64_t item;  // bytes of an element

 private:
  static std::int64_t padded(std::int64_t count) {
    return *std::lower_bound(std::begin(kSimdgroupColumns), std::end(kSimdgroupColumns), count);
  }
};

// How many clocks a tile should take, as the threadgroups that one core of a GPU makes one after
// the other. A turn has four barriers, which other threadgroups of the core fill, and some
// instructions for each weight.
double predicted_attention(const AttentionInputs& a, const Sizes& sizes,
                           const AttentionTile& tile) {
  constexpr double kBarriers = 400, kWeight = 10;
  const runtime::DeviceTraits& device = sizes.device;
  const auto real = [](std::int64_t x) { return static_cast<double>(x); };
  const double multiplied = real(device.per_clock.multiply_adds);
  const double moved = real(device.per_clock.threadgroup_bytes);
  const double products = real(tile.rows() * tile.keys * (sizes.depth + sizes.columns));
  const std::int64_t keys = tile.keys * (sizes.depth + sizes.columns);
  const std::int64_t queries = tile.held ? 0 : 8 * tile.blocks * sizes.depth;
  const double loaded = real(tile.simdgroups * (keys + queries) * sizes.item);
  const double fetched = real(keys * size_of(a.dtype()));
  const std::int64_t resident = std::max<std::int64_t>(
      1, std::min(
             device.processor_memory / sizes.shared_bytes(tile),
             device.processor_registers / (tile.simdgroups * kSimdWidth * sizes.registers(tile))));
  const double turn =
      std::max(products / multiplied, loaded / moved) +
      fetched / real(device.per_clock.cache_bytes) + real(keys * sizes.item) / moved +
      kWeight * real(tile.rows() * tile.keys) / multiplied + kBarriers / real(resident);
  const double safe = kSafeRegisters * real(device.thread_registers);
  const double spilled = 1 + 0.02 * std::max(0.0, real(sizes.registers(tile)) - safe);
  const std::int64_t groups = a.batch * a.heads * ceil_div(a.rows, tile.rows());
  const std::int64_t turns = std::max<std::int64_t>(1, ceil_div(a.keys, tile.keys));
  return real(ceil_div(groups, processors(device)) * turns) * turn * spilled;
}

Step attention_step(StepPlan& plan, const Signature& signature, const AttentionInputs& a,
                    const AttentionTile& tile, bool wide, bool rare) {
  const Sizes sizes(a);
  const auto word = [](std::int64_t x) { return std::to_string(x); };
  const std::int64_t threads = tile.simdgroups * kSimdWidth;
  KernelCall call = a.call(
      "attention/simdgroup.metal", "attention_simdgroup",
      {dtype_struct(a.dtype()), dialect_type(sizes.staged), word(sizes.depth), word(sizes.columns),
       word(tile.simdgroups), word(tile.blocks), word(tile.keys), truth(tile.held), truth(wide),
       truth(a.has_softcap), truth(a.has_mask), truth(a.has_bias), truth(a.has_range)},
      wide ? kPacketBytes : 1);
  return a.add_sinks(call)
      .write(a.memory_type(), "out", output_argument(signature))
      .constants(a.params)
      .threadgroup("float4", "shared", ceil_div(sizes.shared_bytes(tile), kPacketBytes))
      .work(a.work())
      .step(plan, {u32(ceil_div(a.rows, tile.rows())), u32(a.heads), u32(a.batch)}, {u32(threads)},
            threads, rare);
}

std::string name_of(const AttentionTile& tile) {
  return "simdgroup/" + std::to_string(tile.simdgroups) + "x" + std::to_string(tile.blocks) + "x" +
         std::to_string(tile.keys) + (tile.held ? "_held" : "");
}

}  // namespace

bool accepts_simdgroup_attention(const Signature& signature) {
  const AttentionInputs a(signature, kQ);
  return a.dtype() != DType::f64 && a.rows > kFewAttentionRows &&
         std::max(a.d, a.dv) <= kMaxSimdgroupColumns &&
         !simdgroup_attention_tiles(signature).empty();
}

std::vector<AttentionTile> simdgroup_attention_tiles(const Signature& signature) {
  const AttentionInputs a(signature, kQ);
  const Sizes sizes(a);
  std::vector<AttentionTile> tiles;
  for (const AttentionTile& tile : kAttentionTiles) {
    if (!sizes.fits(tile)) continue;
    const auto is_faster = [&](const AttentionTile& one, const AttentionTile& other) {
      return predicted_attention(a, sizes, one) < predicted_attention(a, sizes, other);
    };
    tiles.insert(std::upper_bound(tiles.begin(), tiles.end(), tile, is_faster), tile);
  }
  return tiles;
}

Prepared simdgroup_attention(const Signature& signature, const AttentionTile& tile) {
  auto plan = std::make_shared<StepPlan>();
  if (element_count(signature.output.shape) == 0) return prepared_steps(std::move(plan));
  const AttentionInputs a(signature, kQ);
  plan->add_step(a.rows_fit_vectors(), [&](bool wide, bool rare) {
    return attention_step(*plan, signature, a, tile, wide, rare);
  });
  return prepared_steps(std::move(plan));
}

std::vector<Candidate> simdgroup_attention_variants(const Signature& signature) {
  std::vector<Candidate> variants;
  for (const AttentionTile& tile : simdgroup_attention_tiles(signature)) {
    variants.push_back({name_of(tile), simdgroup_attention(signature, tile)});
  }
  return variants;
}

std::vector<std::string> simdgroup_attention_variant_names() {
  std::vector<std::string> names;
  for (const AttentionTile& tile : kAttentionTiles) names.push_back(name_of(tile));
  return names;
}

}  // namespace hearth::gpu
