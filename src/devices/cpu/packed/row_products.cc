#include "devices/cpu/packed/row_products.h"

#include <cstring>

namespace hearth::cpu {
namespace {

// Up to so many rows the weights are read as they lie, for kMostLines rows at a time.
constexpr std::int64_t kMostRowsInLines = 16;
constexpr std::int64_t kLineChunkBytes = 1 << 16;   // of weights, read by all rows before the next
constexpr std::int64_t kPanelChunkBytes = 3 << 17;  // of panels: they stay in the second cache
// Beyond so many bundles, at least so many panels: each bundle is then read from further away only
// for all of them, and of panels the second cache holds one class.
constexpr std::int64_t kFewBundles = 4, kLeastPanels = 8;
constexpr std::int64_t kBundlesTogether = 8;    // whose sums are under way at a time
constexpr std::int64_t kLeastPanelChunks = 16;  // for threads to share

constexpr std::int64_t kSumsOfTile = kSumLevels * tile_size(kMostBundleRows);

}  // namespace

PackedWeight::PackedWeight(DType format, std::int64_t in_extent, std::int64_t out_extent)
    : products(&packed_products(*machine, format)), in(in_extent), out(out_extent) {
  line.group = products->traits.group;
  groups = in / line.group;
  line.stretches = PackedGroups{groups}.stretches();
}

bool PackedWeight::in_lines(std::int64_t rows) const {
  return rows <= kMostRowsInLines || products->pack == nullptr;
}

std::int64_t PackedWeight::line_grain() const {
  const std::int64_t row_bytes = std::max<std::int64_t>(1, bytes_of(products->format, in));
  return std::max<std::int64_t>(1, kLineChunkBytes / row_bytes);
}

std::int64_t PackedWeight::panel_grain(std::int64_t bundles, std::int64_t weights) const {
  const std::int64_t panel_bytes =
      std::max<std::int64_t>(1, 4 * groups * panel_words(line.group, products->has_least));
  const std::int64_t together =
      std::max(kPanelChunkBytes / panel_bytes, bundles > kFewBundles ? kLeastPanels : 1);
  return std::max<std::int64_t>(1, std::min(together, panels() * weights / kLeastPanelChunks));
}

void RowProducts::code(std::int64_t begin, std::int64_t end, std::byte* to) const {
  const int last = x.shape().rank() - 1;
  const OffsetMap offsets(x.shape(), x.strides(), 0, last);
  float* const copy = scratch<float>(0, plan.in);
  for (std::int64_t i = begin; i < end; ++i, to += plan.line.bytes()) {
    const float* const row = read_row(x, offsets.at(i), 1, plan.in, copy);
    plan.machine->code(row, plan.groups, plan.products->traits, to);
  }
}

std::byte* WeightProduct::bundle_at(std::int64_t bundle) const {
  return bundles + all.plan.bundle_bytes(Bundles{rows.count}.first_row(bundle));
}

void WeightProduct::weave(std::int64_t bundle) const {
  const PackedWeight& plan = all.plan;
  const Bundles of{rows.count};
  const std::int64_t first = of.first_row(bundle), together = of.rows_of(bundle);
  const std::int64_t count = std::min(together, rows.count - first);
  const auto bytes = static_cast<std::size_t>(plan.line.bytes());
  std::byte* const copies = scratch<std::byte>(0, together * plan.line.bytes());
  for (std::int64_t i = 0; i < count; ++i) {
    const std::byte* const line = all.lines + rows.line(first + i) * plan.line.bytes();
    std::memcpy(copies + static_cast<std::size_t>(i) * bytes, line, bytes);
  }
  weave_bundle(copies, plan.line, plan.groups, count, static_cast<int>(together),
               reinterpret_cast<std::uint32_t*>(bundle_at(bundle)));
}

void WeightProduct::code_and_weave(std::int64_t bundle) const {
  const PackedWeight& plan = all.plan;
  const Bundles of{rows.count};
  const std::int64_t first = of.first_row(bundle), together = of.rows_of(bundle);
  const std::int64_t count = std::min(together, rows.count - first);
  std::byte* const coded = scratch<std::byte>(0, together * plan.line.bytes());
  all.code(first, first + count, coded);
  weave_bundle(coded, plan.line, plan.groups, count, static_cast<int>(together),
               reinterpret_cast<std::uint32_t*>(bundle_at(bundle)));
}

// The bias of some columns, or null.
const float* WeightProduct::biases(std::int64_t first, std::int64_t count, float* copy) const {
  if (bias == nullptr) return nullptr;
  return read_row(Operand{bias->spec, bias_data}, first * bias_stride, bias_stride, count, copy);
}

// Adds `addends`, unless null, to results of a row and puts them into the output.
void WeightProduct::finish(float* results, const float* addends, std::int64_t row,
                           std::int64_t first, std::int64_t count) const {
  if (addends != nullptr) {
    for (std::int64_t i = 0; i < count; ++i) results[i] += addends[i];
  }
  write_row(all.output, row * all.plan.out + first, results, count);
}

// The same of a row of a tile, of which `count` columns are there.
void WeightProduct::put_tile_row(const float* results, const float* addends, std::int64_t row,
                                 std::int64_t first, std::int64_t count) const {
  float copy[kPanelWeights];
  if (count < kPanelWeights) {
    std::copy_n(results, kPanelWeights, copy);
    return finish(copy, addends, row, first, count);
  }
  float* const to = row_to_write(all.output, row * all.plan.out + first, copy);
  if (addends == nullptr) {
    std::copy_n(results, kPanelWeights, to);
  } else {
    for (std::int64_t i = 0; i < kPanelWeights; ++i) to[i] = results[i] + addends[i];
  }
  if (to == copy) write_row(all.output, row * all.plan.out + first, copy, kPanelWeights);
}

void WeightProduct::multiply_lines(std::int64_t begin, std::int64_t end) const {
  const PackedWeight& plan = all.plan;
  const std::int64_t count = end - begin;
  const float* const addends = biases(begin, count, scratch<float>(1, count));
  float* const results = scratch<float>(2, kMostLines * count);
  LineProduct product{weights + begin * weight_stride, weight_stride, count, plan.groups, {}, {}};
  for (std::int64_t first = 0; first < rows.count; first += kMostLines) {
    const auto some = std::min<std::int64_t>(kMostLines, rows.count - first);
    const int variant = some > 2 ? 2 : static_cast<int>(some) - 1;
    for (std::int64_t i = 0; i < kMostLines; ++i) {
      // Those that are not there are another, of which the results are left.
      const std::int64_t at = first + std::min(i, some - 1);
      product.lines[i] = all.lines + rows.line(at) * plan.line.bytes();
      product.out[i] = results + i * count;
      if (i < some) {
        product.out[i] = row_to_write(all.output, rows.row(at) * plan.out + begin, product.out[i]);
      }
    }
    plan.products->multiply_lines[variant](product);
    for (std::int64_t i = 0; i < some; ++i) {
      finish(product.out[i], addends, rows.row(first + i), begin, count);
    }
  }
}

void WeightProduct::multiply_panels(std::int64_t begin, std::int64_t end) const {
  const PackedWeight& plan = all.plan;
  const PackedProducts& products = *plan.products;
  const Bundles of{rows.count};
  const std::int64_t words = plan.groups * panel_words(plan.line.group, products.has_least);
  std::uint32_t* const panels = scratch<std::uint32_t>(0, (end - begin) * words);
  for (std::int64_t panel = begin; panel < end; ++panel) {
    const std::int64_t first = panel * kPanelWeights;
    const std::int64_t count = std::min<std::int64_t>(kPanelWeights, plan.out - first);
    products.pack({weights + first * weight_stride, weight_stride, count, plan.groups},
                  panels + (panel - begin) * words);
  }
  const std::int64_t first_column = begin * kPanelWeights;
  const std::int64_t columns = std::min(plan.out, end * kPanelWeights) - first_column;
  const float* const addends = biases(first_column, columns, scratch<float>(1, columns));
  const std::int64_t tiles = kBundlesTogether * (end - begin);
  float* const sums = scratch<float>(2, tiles * kSumsOfTile);
  for (std::int64_t bundle = 0; bundle < of.count(); bundle += kBundlesTogether) {
    const std::int64_t last = std::min(bundle + kBundlesTogether, of.count());
    multiply_bundles(bundle, last, panels, end - begin, sums);
    const float* of_tile = sums;
    for (std::int64_t b = bundle; b < last; ++b) {
      const std::int64_t first_row = of.first_row(b), together = of.rows_of(b);
      for (std::int64_t at = 0; at < columns; at += kPanelWeights, of_tile += kSumsOfTile) {
        const float* const results = of_tile + (kSumLevels - 1) * tile_size(together);
        const std::int64_t width = std::min<std::int64_t>(kPanelWeights, columns - at);
        for (std::int64_t i = 0; i < std::min(together, rows.count - first_row); ++i) {
          put_tile_row(results + i * kPanelWeights, addends == nullptr ? nullptr : addends + at,
                       rows.row(first_row + i), first_column + at, width);
        }
      }
    }
  }
}

// Of each bundle in [begin, end) and each panel the sums of ClassProduct, kSumsOfTile apart.
void WeightProduct::multiply_bundles(std::int64_t begin, std::int64_t end,
                                     const std::uint32_t* panels, std::int64_t panel_count,
                                     float* sums) const {
  const PackedWeight& plan = all.plan;
  const PackedProducts& products = *plan.products;
  const Bundles of{rows.count};
  const std::int64_t words = panel_words(plan.line.group, products.has_least);
  const PackedGroups groups{plan.groups};
  for (int n = 0; n < kPackedClasses; ++n) {
    const std::int64_t first = groups.begin(class_at(n));
    const std::int64_t count = groups.begin(class_at(n) + 1) - first;
    float* of_tile = sums;
    for (std::int64_t bundle = begin; bundle < end; ++bundle) {
      const std::int64_t together = of.rows_of(bundle);
      const auto* const from = reinterpret_cast<const std::uint32_t*>(bundle_at(bundle)) +
                               first * bundle_words(together, plan.line.group);
      for (std::int64_t panel = 0; panel < panel_count; ++panel, of_tile += kSumsOfTile) {
        products.multiply_class[together == 8 ? 0 : 1](
            {panels + (panel * plan.groups + first) * words, from, count, of_tile, merged_at(n)});
      }
    }
  }
}

}  // namespace hearth::cpu
