// packed_linear: rows of x are coded once, then products with packed weights in integers. Which
// kernel a row meets, and beside which others, changes no bit of its result (packed/products.h).
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/integer_math.h"
#include "devices/cpu/packed/products.h"
#include "devices/cpu/rows/rows.h"
#include "graph/implementation.h"
#include "ops/definition/defs.h"
#include "ops/packed/blocks.h"

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

// What a packed_linear comes to.
struct PackedPlan {
  explicit PackedPlan(const Signature& signature);

  bool in_lines() const { return rows <= kMostRowsInLines || products->pack == nullptr; }
  // Bundles have 12 rows, the last one or two have 8, so that all are wide enough.
  std::int64_t bundles() const { return ceil_div(rows, kMostBundleRows); }
  std::int64_t first_short() const {
    const std::int64_t fours = ceil_div(rows, 4) % 3;  // behind whole bundles
    return bundles() - (fours == 0 ? 0 : 3 - fours);
  }
  std::int64_t rows_of(std::int64_t bundle) const {
    return bundle < first_short() ? kMostBundleRows : 8;
  }
  std::int64_t first_row(std::int64_t bundle) const {
    const std::int64_t whole = std::min(bundle, first_short());
    return kMostBundleRows * whole + 8 * (bundle - whole);
  }
  std::int64_t bundle_bytes(std::int64_t bundle_rows) const {
    return 4 * groups * bundle_words(static_cast<int>(bundle_rows), line.group);
  }
  std::int64_t bundle_at(std::int64_t bundle) const { return bundle_bytes(first_row(bundle)); }

  const PackedMachine* machine = &packed_machine();
  const PackedProducts* products;
  std::int64_t rows = 1, in, out, groups;
  LineShape line;
};

PackedPlan::PackedPlan(const Signature& signature) {
  const Shape& x = signature.inputs[0].shape;
  ParamReader statics(signature.statics);
  products = &packed_products(*machine, read_format(statics));
  for (int axis = 0; axis + 1 < x.rank(); ++axis) rows *= x[axis];
  in = x.back();
  out = signature.output.shape.back();
  line.group = products->traits.group;
  groups = in / line.group;
  line.stretches = PackedGroups{groups}.stretches();
}

Prepared prepare_packed_linear(const Signature& signature) {
  const auto plan = std::make_shared<const PackedPlan>(signature);
  const std::int64_t bytes =
      plan->in_lines() ? plan->rows * plan->line.bytes() : plan->bundle_at(plan->bundles());
  return {plan, bytes};
}

struct PackedRun {
  const PackedPlan& plan;
  Operand x, weight, bias, output;
  bool has_bias;
  std::byte* coded;

  const std::uint8_t* weights(std::int64_t first) const {
    return reinterpret_cast<const std::uint8_t*>(weight.at(first * weight.stride(0)));
  }
  // Codes rows of x to lines.
  void code(std::int64_t first, std::int64_t count, std::byte* lines) const {
    const int last = x.shape().rank() - 1;
    const OffsetMap offsets(x.shape(), x.strides(), 0, last);
    float* const copy = scratch<float>(0, plan.in);
    for (std::int64_t i = 0; i < count; ++i) {
      const float* const row = read_row(x, offsets.at(first + i), 1, plan.in, copy);
      plan.machine->code(row, plan.groups, plan.products->traits, lines + i * plan.line.bytes());
    }
  }
  // The bias of some columns, or null.
  const float* biases(std::int64_t first, std::int64_t count, float* copy) const {
    if (!has_bias) return nullptr;
    return read_row(bias, first * bias.stride(0), 1, count, copy);
  }
  // Adds `biases`, unless null, to results of a row and puts them into the output.
  void finish(float* results, const float* addends, std::int64_t row, std::int64_t first,
              std::int64_t count) const {
    if (addends != nullptr) {
      for (std::int64_t i = 0; i < count; ++i) results[i] += addends[i];
    }
    write_row(output, row * plan.out + first, results, count);
  }

  void multiply_lines(std::int64_t begin, std::int64_t end) const;
  void multiply_panels(std::int64_t begin, std::int64_t end) const;
  void multiply_bundles(std::int64_t begin, std::int64_t end, const std::uint32_t* panels,
                        std::int64_t panel_count, float* sums) const;
};

// Weights [begin, end).
void PackedRun::multiply_lines(std::int64_t begin, std::int64_t end) const {
  const std::int64_t count = end - begin;
  const float* const addends = biases(begin, count, scratch<float>(1, count));
  float* const results = scratch<float>(2, kMostLines * count);
  LineProduct product{weights(begin), weight.stride(0), count, plan.groups, {}, {}};
  for (std::int64_t first = 0; first < plan.rows; first += kMostLines) {
    const auto rows = std::min<std::int64_t>(kMostLines, plan.rows - first);
    const int variant = rows > 2 ? 2 : static_cast<int>(rows) - 1;
    for (std::int64_t i = 0; i < kMostLines; ++i) {
      // Those that are not there are another, of which the results are left.
      const std::int64_t row = first + std::min(i, rows - 1);
      product.lines[i] = coded + row * plan.line.bytes();
      product.out[i] = results + i * count;
      if (i < rows) product.out[i] = row_to_write(output, row * plan.out + begin, product.out[i]);
    }
    plan.products->multiply_lines[variant](product);
    for (std::int64_t i = 0; i < rows; ++i) {
      finish(product.out[i], addends, first + i, begin, count);
    }
  }
}

// Panels [begin, end).
void PackedRun::multiply_panels(std::int64_t begin, std::int64_t end) const {
  const PackedProducts& products = *plan.products;
  const std::int64_t words = plan.groups * panel_words(plan.line.group, products.has_least);
  std::uint32_t* const panels = scratch<std::uint32_t>(0, (end - begin) * words);
  for (std::int64_t panel = begin; panel < end; ++panel) {
    const std::int64_t first = panel * kPanelWeights;
    const std::int64_t count = std::min<std::int64_t>(kPanelWeights, plan.out - first);
    products.pack({weights(first), weight.stride(0), count, plan.groups},
                  panels + (panel - begin) * words);
  }
  const std::int64_t first_column = begin * kPanelWeights;
  const std::int64_t columns = std::min(plan.out, end * kPanelWeights) - first_column;
  const float* const addends = biases(first_column, columns, scratch<float>(1, columns));
  const std::int64_t tiles = kBundlesTogether * (end - begin);
  float* const sums = scratch<float>(2, tiles * kSumsOfTile);
  for (std::int64_t bundle = 0; bundle < plan.bundles(); bundle += kBundlesTogether) {
    const std::int64_t last = std::min(bundle + kBundlesTogether, plan.bundles());
    multiply_bundles(bundle, last, panels, end - begin, sums);
    const float* of_tile = sums;
    for (std::int64_t b = bundle; b < last; ++b) {
      const std::int64_t first_row = plan.first_row(b), rows = plan.rows_of(b);
      for (std::int64_t at = 0; at < columns; at += kPanelWeights, of_tile += kSumsOfTile) {
        const float* const results = of_tile + (kSumLevels - 1) * tile_size(rows);
        for (std::int64_t i = 0; i < std::min(rows, plan.rows - first_row); ++i) {
          float row[kPanelWeights];
          std::copy_n(results + i * kPanelWeights, kPanelWeights, row);
          finish(row, addends == nullptr ? nullptr : addends + at, first_row + i, first_column + at,
                 std::min<std::int64_t>(kPanelWeights, columns - at));
        }
      }
    }
  }
}

// Of each bundle in [begin, end) and each panel the sums of ClassProduct, kSumsOfTile apart.
void PackedRun::multiply_bundles(std::int64_t begin, std::int64_t end, const std::uint32_t* panels,
                                 std::int64_t panel_count, float* sums) const {
  const PackedProducts& products = *plan.products;
  const std::int64_t words = panel_words(plan.line.group, products.has_least);
  const PackedGroups groups{plan.groups};
  for (int n = 0; n < kPackedClasses; ++n) {
    const std::int64_t first = groups.begin(class_at(n));
    const std::int64_t count = groups.begin(class_at(n) + 1) - first;
    float* of_tile = sums;
    for (std::int64_t bundle = begin; bundle < end; ++bundle) {
      const std::int64_t rows = plan.rows_of(bundle);
      const auto* const from =
          reinterpret_cast<const std::uint32_t*>(coded + plan.bundle_at(bundle)) +
          first * bundle_words(static_cast<int>(rows), plan.line.group);
      for (std::int64_t panel = 0; panel < panel_count; ++panel, of_tile += kSumsOfTile) {
        products.multiply_class[rows == 8 ? 0 : 1](
            {panels + (panel * plan.groups + first) * words, from, count, of_tile, merged_at(n)});
      }
    }
  }
}

void launch_packed_linear(const Launch& launch) {
  const auto& plan = *static_cast<const PackedPlan*>(launch.state);
  if (plan.rows == 0 || plan.out == 0) return;
  const bool has_bias = has_input(launch, 2);
  const PackedRun run{plan,
                      input_of(launch, 0),
                      input_of(launch, 1),
                      input_of(launch, has_bias ? 2 : 0),
                      output_of(launch),
                      has_bias,
                      reinterpret_cast<std::byte*>(launch.workspace)};
  if (plan.in_lines()) {
    for_chunks(plan.rows, plan.in, [&](std::int64_t begin, std::int64_t end) {
      run.code(begin, end - begin, run.coded + begin * plan.line.bytes());
    });
    const std::int64_t row_bytes =
        std::max<std::int64_t>(1, bytes_of(plan.products->format, plan.in));
    const std::int64_t grain = std::max<std::int64_t>(1, kLineChunkBytes / row_bytes);
    const auto body = [&](std::int64_t begin, std::int64_t end) { run.multiply_lines(begin, end); };
    if (grain >= plan.out) return body(std::int64_t{0}, plan.out);
    return WorkerPool::global().parallel_for_range(plan.out, grain, body);
  }
  for_chunks(plan.bundles(), kMostBundleRows * plan.in, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t bundle = begin; bundle < end; ++bundle) {
      const std::int64_t first = plan.first_row(bundle), rows = plan.rows_of(bundle);
      const std::int64_t count = std::min(rows, plan.rows - first);
      std::byte* const lines = scratch<std::byte>(0, rows * plan.line.bytes());
      run.code(first, count, lines);
      weave_bundle(lines, plan.line, plan.groups, count, static_cast<int>(rows),
                   reinterpret_cast<std::uint32_t*>(run.coded + plan.bundle_at(bundle)));
    }
  });
  const std::int64_t panels = ceil_div(plan.out, std::int64_t{kPanelWeights});
  const std::int64_t panel_bytes = std::max<std::int64_t>(
      1, 4 * plan.groups * panel_words(plan.line.group, plan.products->has_least));
  const std::int64_t together =
      std::max(kPanelChunkBytes / panel_bytes, plan.bundles() > kFewBundles ? kLeastPanels : 1);
  const std::int64_t grain =
      std::max<std::int64_t>(1, std::min(together, panels / kLeastPanelChunks));
  WorkerPool::global().parallel_for_range(panels, grain, [&](std::int64_t begin, std::int64_t end) {
    run.multiply_panels(begin, end);
  });
}

constexpr Implementation kPackedLinearFamily[] = {
    {.name = "packed",
     .op = &defs::packed_linear_op,
     .accepts = [](const Signature& signature) { return signature.output.dtype != DType::f64; },
     .layout = LayoutNeed::last_axis_dense,
     .prepare = prepare_packed_linear,
     .launch = launch_packed_linear},
};

}  // namespace

Family packed_linear_family() { return kPackedLinearFamily; }

}  // namespace hearth::cpu
