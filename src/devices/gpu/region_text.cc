#include "devices/gpu/region_text.h"

#include <algorithm>
#include <numeric>

#include "devices/gpu/text_builder.h"

namespace hearth::gpu {
namespace {

constexpr int kPacketBytes = 16;
// Vectors that a thread takes: one where memory is all there is to wait for, two where there is
// arithmetic to overlap. Single elements are less, and it takes more of them.
constexpr int kVectors = 1;
constexpr int kBusyVectors = 2;
constexpr int kBusyInstructions = 3;
constexpr int kElements = 4;
constexpr int kThreads = 256;
constexpr int kFewestThreads = 64;
// Below this many threadgroups a launch is spread over more and smaller ones.
constexpr std::int64_t kFewGroups = 128;
// Longer regions take narrower vectors: registers, and time to compile.
constexpr int kLongRegion = 512;

int operands_of(const Region& region) {
  return region.first_scalar() + static_cast<int>(region.outputs.size());
}

}  // namespace

int map_width(const Region& region, const RegionLayout& layout, const RegionValues& values) {
  int limit = kPacketBytes / widest_operand(region, layout, values);
  while (limit > 1 && limit * values.instructions() > kLongRegion) limit /= 2;
  const bool linear = classify(layout, operands_of(region), limit) == RegionClass::linear;
  return vector_width(layout, operands_of(region), limit, linear);
}

BuiltKernel map_kernel(const Region& region, const RegionLayout& layout, const RegionValues& values,
                       int width, std::uint64_t aliased) {
  RegionAccess access(region, layout, values, width, aliased);
  KernelConstants& constants = access.constants();
  const RegionClass kind = classify(layout, operands_of(region), width);
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
      joined("#include \"kernels/formulas.h\"\n#include \"kernels/region_elements.h\"\n",
             access.text(), functions, "#define HEARTH_REGION_TAIL ", tail ? 1 : 0,
             "\n#include \"kernels/region_map.h\"\n", access.entry_begin({}, false),
             "  region_map<", width, ", ", unroll, ">(o, p, ctx);\n}\n");
  built.source.function = "region";
  built.source.max_threads = kThreads;
  access.describe(&built, nullptr);

  int threads = kThreads;
  const auto groups = [&] {
    const std::int64_t each = std::int64_t{threads} * unroll;
    return std::max<std::int64_t>((vectors + each - 1) / each, 1);
  };
  while (threads > kFewestThreads && groups() < kFewGroups) threads /= 2;
  built.groups = {static_cast<std::uint32_t>(groups()), 1, 1};
  built.threads = {static_cast<std::uint32_t>(threads), 1, 1};
  return built;
}

}  // namespace hearth::gpu
