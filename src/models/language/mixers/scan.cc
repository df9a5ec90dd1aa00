// The scan of Mamba 2, behind a causal convolution.
#include <string>
#include <vector>

#include "core/counted.h"
#include "hearth/error.h"
#include "hearth/ops.h"
#include "models/files/row_order.h"
#include "models/language/blocks/row_convolution.h"
#include "models/language/mixer.h"

namespace hearth::models {
namespace {

struct StateScan final : MixerBlock {
  StateScan(const LanguageConfig& model, Weights& weights, const std::string& prefix);
  Array forward(const Array& x, const Batch& batch, LayerCache& cache,
                std::int64_t page_size) const override;

  ScanConfig config;
  Projection input;  // gates, what is convolved, and steps
  RowConvolution convolution;
  Array decay;    // [heads]: -e^A
  Array skip;     // [heads]
  Array dt_bias;  // [heads]
  Array norm;     // [groups, columns of a group]
  double epsilon = 1e-5;
  Projection output;
};

StateScan::StateScan(const LanguageConfig& model, Weights& weights, const std::string& prefix)
    : config(model.scan), epsilon(model.norm_epsilon) {
  const std::int64_t inner = config.heads * config.head_dim;
  const std::int64_t convolved = inner + 2 * config.groups * config.state;
  input = weights.projection(prefix + "ssm_in", inner + convolved + config.heads, model.dim);
  convolution = RowConvolution(weights, prefix + "ssm_conv1d", convolved, config.kernel);
  dt_bias = weights.vector(prefix + "ssm_dt.bias", config.heads);
  // Files hold one column of each, or a vector.
  const auto per_head = [&](const std::string& name) {
    const bool is_vector = weights.shape(name).rank() == 1;
    const Array all =
        weights.matrix(name, is_vector ? Shape{config.heads} : Shape{config.heads, 1});
    return cast(reshape(all, {config.heads}), weights.compute());
  };
  decay = per_head(prefix + "ssm_a");
  skip = per_head(prefix + "ssm_d");
  const std::string of_norm = prefix + "ssm_norm.weight";
  const bool is_flat = weights.shape(of_norm).rank() == 1;
  const Shape groups = {config.groups, inner / config.groups};
  norm = cast(reshape(weights.matrix(of_norm, is_flat ? Shape{inner} : groups), groups),
              weights.compute());
  output = weights.projection(prefix + "ssm_out", model.dim, inner);
}

Array StateScan::forward(const Array& x, const Batch& batch, LayerCache& cache,
                         std::int64_t) const {
  const std::int64_t rows = x.shape(0);
  const std::int64_t inner = config.heads * config.head_dim;
  const std::int64_t states = config.groups * config.state;
  const std::vector<Array> parts =
      split(input.forward(x), {inner, inner + 2 * states, config.heads}, 1);
  const std::vector<Array> mixed =
      split(silu(convolution.forward(parts[1], batch, cache)), {inner, states, states}, 1);
  const Shape of_groups = {rows, config.groups, config.state};
  const Array steps = clamp(softplus(parts[2] + dt_bias), config.least_step, config.largest_step);
  const auto [y, state] =
      selective_scan(reshape(mixed[0], {rows, config.heads, config.head_dim}), steps, decay,
                     reshape(mixed[1], of_groups), reshape(mixed[2], of_groups),
                     select(cache.state, batch.states, 0), batch.starts, skip);
  write_states(cache.state, batch.states, state);
  const Array gated = reshape(reshape(y, {rows, inner}) * silu(parts[0]),
                              {rows, config.groups, inner / config.groups});
  const Array normed = rms_norm(gated, Array(), epsilon) * norm;
  return output.forward(reshape(normed, {rows, inner}));
}

void read_scan(const Keys& keys, const Family&, FileKind, LanguageConfig& config) {
  ScanConfig& scan = config.scan;
  scan.heads = keys.some_count("ssm.time_step_rank");
  scan.groups = keys.some_count("ssm.group_count", 1);
  scan.state = keys.some_count("ssm.state_size");
  scan.kernel = keys.some_count("ssm.conv_kernel");
  const std::int64_t inner = keys.some_count("ssm.inner_size");
  if (inner % scan.heads != 0 || scan.heads % scan.groups != 0) {
    throw Error(ErrorCode::invalid_argument,
                keys.full("ssm.inner_size") + ": no such heads; got " + std::to_string(inner) +
                    " for " + counted(scan.heads, "head") + ", expected a multiple");
  }
  scan.head_dim = inner / scan.heads;
  scan.least_step = keys.number("ssm.time_step_min", scan.least_step);
  scan.largest_step = keys.number("ssm.time_step_max", scan.largest_step);
}

void lay_out_scan(GgufContents& contents, const LanguageConfig& config, const Family&) {
  // Positions have no end, which readers want a number for.
  contents.metadata.insert(config.architecture + ".context_length", std::uint32_t{1} << 20);
  const ScanConfig& scan = config.scan;
  const auto column = [&](const Array& x) { return reshape(x, {scan.heads, 1}); };
  change_arrays(contents.arrays, ".ssm_a", column);
  change_arrays(contents.arrays, ".ssm_d", column);
  change_arrays(contents.arrays, ".ssm_norm.weight", [&](const Array& x) {
    return reshape(x, {scan.groups, scan.heads * scan.head_dim / scan.groups});
  });
}

MixerMemory scan_memory(const LanguageConfig& config, const LayerConfig&) {
  const ScanConfig& scan = config.scan;
  const std::int64_t channels = scan.heads * scan.head_dim + 2 * scan.groups * scan.state;
  return {.convolution = {scan.kernel - 1, channels},
          .state = {scan.heads, scan.head_dim, scan.state}};
}

std::int64_t scan_columns(const LanguageConfig& config, const LayerConfig&) {
  const ScanConfig& scan = config.scan;
  return 3 * scan.heads * scan.head_dim + 4 * scan.groups * scan.state;
}

std::shared_ptr<const MixerBlock> make_scan(const MixerParts& parts) {
  return std::make_shared<StateScan>(parts.model, parts.weights, parts.prefix);
}

}  // namespace

constinit const MixerDef scan_mixer = {.has_states = true,
                                       .read = read_scan,
                                       .lay_out = lay_out_scan,
                                       .memory = scan_memory,
                                       .widest_columns = scan_columns,
                                       .make = make_scan};

}  // namespace hearth::models
