#include "models/language/folder/recurrent_layout.h"

#include <cstdint>
#include <string>
#include <vector>

#include "hearth/ops.h"
#include "models/language/folder/file_layout.h"

namespace hearth::models {
namespace {

// Head k of keys first gets one value head, and so do all others, before it gets its second.
void tile_value_heads(GgufContents& contents, const LanguageConfig& config) {
  const DeltaConfig& delta = config.delta;
  const std::int64_t ratio = delta.value_heads / delta.key_heads;
  const std::int64_t before = 2 * delta.key_heads * delta.key_dim;
  const auto order_of = [&](std::int64_t kept, std::int64_t width) {
    std::vector<std::int64_t> order;
    for (std::int64_t i = 0; i < kept; ++i) order.push_back(i);
    for (std::int64_t head = 0; head < delta.value_heads; ++head) {
      const std::int64_t from = head % delta.key_heads * ratio + head / delta.key_heads;
      for (std::int64_t i = 0; i < width; ++i) order.push_back(kept + from * width + i);
    }
    return order;
  };
  const auto reorder = [&](const std::string& ending, std::int64_t kept, std::int64_t width,
                           int axis) {
    change_arrays(contents.arrays, ending, [&](const Array& x) {
      require_extent(x, axis, kept + delta.value_heads * width);
      return in_order(x, order_of(kept, width), axis);
    });
  };
  for (std::size_t i = 0; i < config.layers.size(); ++i) {
    if (config.layers[i].mixer != Mixer::delta) continue;
    const std::string prefix = "blk." + std::to_string(i) + ".";
    for (const char* name : {"attn_qkv.weight", "ssm_conv1d.weight"}) {
      reorder(prefix + name, before, delta.value_dim, 0);
    }
    reorder(prefix + "attn_gate.weight", 0, delta.value_dim, 0);
    for (const char* name : {"ssm_alpha.weight", "ssm_beta.weight", "ssm_a", "ssm_dt.bias"}) {
      reorder(prefix + name, 0, 1, 0);
    }
    reorder(prefix + "ssm_out.weight", 0, delta.value_dim, 1);
  }
}

void shape_scan(GgufContents& contents, const LanguageConfig& config) {
  const ScanConfig& scan = config.scan;
  const auto column = [&](const Array& x) { return reshape(x, {scan.heads, 1}); };
  change_arrays(contents.arrays, ".ssm_a", column);
  change_arrays(contents.arrays, ".ssm_d", column);
  change_arrays(contents.arrays, ".ssm_norm.weight", [&](const Array& x) {
    return reshape(x, {scan.groups, scan.heads * scan.head_dim / scan.groups});
  });
}

}  // namespace

void lay_out_recurrent(GgufContents& contents, const LanguageConfig& config, const Family& family) {
  if (family.mixer == Mixer::delta) {
    contents.metadata.set(
        config.architecture + ".ssm.inner_size",
        static_cast<std::uint32_t>(config.delta.value_heads * config.delta.value_dim));
    if (family.tiles_values) tile_value_heads(contents, config);
  }
  if (family.mixer == Mixer::scan) {
    // Positions have no end, which readers want a number for.
    contents.metadata.insert(config.architecture + ".context_length", std::uint32_t{1} << 20);
    shape_scan(contents, config);
  }
}

}  // namespace hearth::models
