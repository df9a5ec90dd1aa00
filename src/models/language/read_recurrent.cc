#include "models/language/read_recurrent.h"

#include <string>

#include "core/counted.h"
#include "hearth/error.h"

namespace hearth::models {
namespace {

DeltaConfig read_delta(const Keys& keys, bool is_tiled) {
  DeltaConfig delta;
  delta.key_heads = keys.size("ssm.group_count");
  delta.value_heads = keys.size("ssm.time_step_rank");
  delta.key_dim = keys.size("ssm.state_size");
  // GGUF's heads of values are as long as those of keys.
  delta.value_dim = keys.size("ssm.value_size", delta.key_dim);
  delta.kernel = keys.size("ssm.conv_kernel");
  delta.is_tiled = is_tiled;
  return delta;
}

ScanConfig read_scan(const Keys& keys) {
  ScanConfig scan;
  scan.heads = keys.size("ssm.time_step_rank");
  scan.groups = keys.size("ssm.group_count", 1);
  scan.state = keys.size("ssm.state_size");
  scan.kernel = keys.size("ssm.conv_kernel");
  const std::int64_t inner = keys.size("ssm.inner_size");
  if (scan.heads < 1 || scan.groups < 1 || inner % scan.heads != 0 ||
      scan.heads % scan.groups != 0) {
    throw Error(ErrorCode::invalid_argument,
                keys.full("ssm.inner_size") + ": no such heads; got " + std::to_string(inner) +
                    " for " + counted(scan.heads, "head") + ", expected a multiple");
  }
  scan.head_dim = inner / scan.heads;
  scan.least_step = keys.number("ssm.time_step_min", scan.least_step);
  scan.largest_step = keys.number("ssm.time_step_max", scan.largest_step);
  return scan;
}

}  // namespace

Mixer mixer_of(const Keys& keys, const Family& family, std::int64_t layer) {
  if (family.mixer != Mixer::delta) return family.mixer;
  const std::int64_t period = keys.size("full_attention_interval", 4);
  const bool is_last = period > 0 && layer % period == period - 1;
  const bool is_recurrent = keys.flag_of("attention.recurrent_layers", layer, !is_last);
  return is_recurrent ? Mixer::delta : Mixer::attention;
}

void read_recurrent(const Keys& keys, const Family& family, FileKind kind, LanguageConfig& config) {
  if (family.mixer == Mixer::delta) {
    config.delta = read_delta(keys, family.tiles_values && kind == FileKind::gguf);
  }
  if (family.mixer == Mixer::scan) config.scan = read_scan(keys);
}

}  // namespace hearth::models
