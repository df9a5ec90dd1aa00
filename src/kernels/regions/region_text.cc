#include "kernels/regions/region_text.h"
#include "codegen/dialect_types.h"
#include "kernels/launch/occupancy.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "codegen/text/text_builder.h"
#include "kernels/launch/divisor.h"

namespace hearth::gpu {
namespace {

// Vectors that a thread takes: one where memory is all there is to wait for, two where there is
// arithmetic to overlap. Single elements are less, and it takes more of them.
constexpr int kVectors = 1;
constexpr int kBusyVectors = 2;
constexpr int kBusyInstructions = 3;
constexpr int kElements = 4;
constexpr int kRegionThreads = 256;
constexpr int kMinThreads = 64;
// Longer regions take narrower vectors: registers, and time to compile.
constexpr int kLongRegion = 512;

// Tiles: a row or column of a tile has kTileRowBytes of the widest operand at most, and a
// simdgroup's vectors of 16 bytes lie 8 across.
constexpr int kTileRowBytes = 256;
constexpr int kMaxEdge = 128;
constexpr int kMinEdge = 32;
constexpr int kTileAcross = 8;

// The largest tile for vectors of a width that fits into threadgroup memory, or 0.
int tile_edge(const RegionAccess& access, int width, int widest, std::int64_t memory) {
  if (width == 1) return access.tile_bytes(kMinEdge) <= memory ? kMinEdge : 0;
  const int least = std::max(kMinEdge, kTileAcross * std::max(width, 4));
  int edge = kMaxEdge;
  while (edge > least && (edge * widest > kTileRowBytes || access.tile_bytes(edge) > memory)) {
    edge /= 2;
  }
  return access.tile_bytes(edge) <= memory ? edge : 0;
}

// The kernel of a region whose operands do not all run along one axis; none where its tiles are too
// large for vectors of this width.
std::optional<BuiltKernel> tile_kernel(const LoweredRegion& lowered, const RegionValues& values,
                                       int width, std::uint64_t aliased, int rows) {
  const Region& region = lowered.region;
  const RegionLayout& layout = lowered.layout;
  RegionAccess access(lowered, values, width, aliased, rows);
  const int edge = tile_edge(access, width, widest_operand(lowered, values),
                             threadgroup_budget(*lowered.device, kRegionThreads));
  if (edge == 0) return std::nullopt;
  const std::string functions = access.tile_functions(edge);
  std::string arrays;
  std::string tiles;
  const std::vector<runtime::KernelParameter> parameters = access.tile_arrays(edge);
  for (const runtime::KernelParameter& array : parameters) {
    arrays += joined("threadgroup ", array.type, "* ", array.name, ", ");
    line(tiles, "  tiles.", array.name, " = ", array.name, ";");
  }
  BuiltKernel built;
  built.source.name = region_name(region, "tiles");
  built.source.text =
      joined("#include \"kernels/formulas/formulas.h\"\n#include \"kernels/blocks/elements.h\"\n",
             access.text(), "#include \"kernels/regions/transpose_words.metal\"\n", functions,
             "#include \"kernels/regions/transpose.metal\"\n", access.entry_begin({}, arrays),
             "  Tiles tiles;\n", tiles, "  transpose_tiles<", width, ", ", edge, ", ",
             access.tile_depth(), ">(o, p, tiles, ctx);\n}\n");
  built.source.function = "region";
  built.source.max_threads = kRegionThreads;
  access.describe(&built, nullptr);
  built.source.parameters.insert(built.source.parameters.end(), parameters.begin(),
                                 parameters.end());
  const std::int64_t extent = layout.axes[static_cast<std::size_t>(rows)].extent;
  const std::int64_t columns = layout.axes.back().extent;
  const std::int64_t groups =
      layout.elements / extent / columns * ceil_div(extent, edge) * ceil_div(columns, edge);
  built.groups = {static_cast<std::uint32_t>(groups), 1, 1};
  built.threads = {kRegionThreads, 1, 1};
  return built;
}

}  // namespace

int map_width(const LoweredRegion& lowered, const RegionValues& values) {
  const Region& region = lowered.region;
  const RegionLayout& layout = lowered.layout;
  int limit = kPacketBytes / widest_operand(lowered, values);
  while (limit > 1 && limit * values.instructions() > kLongRegion) limit /= 2;
  if (const int rows = tiled_axis(layout, region.operand_count()); rows >= 0) {
    return tiled_width(layout, rows, region.operand_count(), limit);
  }
  const bool linear = classify(layout, region.operand_count(), limit) == RegionClass::linear;
  return vector_width(layout, region.operand_count(), limit, linear);
}

BuiltKernel map_kernel(const LoweredRegion& lowered, const RegionValues& values, int width,
                       std::uint64_t aliased) {
  const Region& region = lowered.region;
  const RegionLayout& layout = lowered.layout;
  if (const int rows = tiled_axis(layout, region.operand_count()); rows >= 0) {
    // Addresses may ask for narrower vectors than the layout, too narrow for a word of a tile.
    int narrower = tiled_width(layout, rows, region.operand_count(), width);
    for (; narrower > 0; narrower /= 2) {
      std::optional<BuiltKernel> tiles = tile_kernel(lowered, values, narrower, aliased, rows);
      if (tiles) return std::move(*tiles);
    }
    width = 1;
  }
  RegionAccess access(lowered, values, width, aliased);
  KernelConstants& constants = access.constants();
  const RegionClass kind = classify(layout, region.operand_count(), width);
  const bool busy = values.instructions() >= kBusyInstructions;
  const int unroll = access.unroll(width == 1 ? kElements : busy ? kBusyVectors : kVectors);
  const bool tail = kind == RegionClass::linear && width > 1;

  const std::int64_t vectors = layout.elements / width;
  constants.add_positions("vectors", {vectors});
  std::string functions;
  if (kind == RegionClass::linear) {
    functions = access.linear_function();
  } else {
    std::vector<int> axes(layout.axes.size());
    std::iota(axes.begin(), axes.end(), 0);
    functions = access.offsets_function("region_at", axes, true, false);
  }
  if (tail) {
    constants.add_u32("tail", layout.elements % width);
    functions += access.tail_function(false);
  }

  BuiltKernel built;
  constexpr const char* kKinds[] = {"linear", "vector", "strided"};
  built.source.name = region_name(region, kKinds[static_cast<int>(kind)]);
  built.source.text =
      joined("#include \"kernels/formulas/formulas.h\"\n#include \"kernels/blocks/elements.h\"\n",
             access.text(), functions, "#define HEARTH_REGION_TAIL ", tail ? 1 : 0,
             "\n#include \"kernels/regions/map.metal\"\n", access.entry_begin({}, {}),
             "  region_map<", width, ", ", unroll, ">(o, p, ctx);\n}\n");
  built.source.function = "region";
  built.source.max_threads = kRegionThreads;
  built.source.flat = true;
  access.describe(&built, nullptr);

  // Each processor gets a threadgroup, be they smaller.
  int threads = kRegionThreads;
  const auto groups = [&] {
    const std::int64_t each = std::int64_t{threads} * unroll;
    return std::max<std::int64_t>(ceil_div(vectors, each), 1);
  };
  while (threads > kMinThreads && groups() < processors(*lowered.device)) threads /= 2;
  built.groups = {static_cast<std::uint32_t>(groups()), 1, 1};
  built.threads = {static_cast<std::uint32_t>(threads), 1, 1};
  return built;
}

}  // namespace hearth::gpu
