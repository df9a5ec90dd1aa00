// The gated short convolution of LFM2: what each row brings is gated before it meets those before
// it and behind that.
#include <memory>
#include <string>
#include <vector>

#include "hearth/ops.h"
#include "models/language/blocks/row_convolution.h"
#include "models/language/mixer.h"

namespace hearth::models {
namespace {

struct GatedConvolution final : MixerBlock {
  GatedConvolution(const LanguageConfig& model, Weights& weights, const std::string& prefix);
  Array forward(const Array& x, const Batch& batch, LayerCache& cache,
                std::int64_t page_size) const override;

  Projection input;  // the gate before, the gate behind, what is gated
  RowConvolution convolution;
  Projection output;
};

GatedConvolution::GatedConvolution(const LanguageConfig& model, Weights& weights,
                                   const std::string& prefix)
    : input(weights.projection(prefix + "shortconv.in_proj", 3 * model.dim, model.dim)),
      convolution(weights, prefix + "shortconv.conv", model.dim, model.convolution.kernel),
      output(weights.projection(prefix + "shortconv.out_proj", model.dim, model.dim)) {}

Array GatedConvolution::forward(const Array& x, const Batch& batch, LayerCache& cache,
                                std::int64_t) const {
  const std::vector<Array> parts = chunk(input.forward(x), 3, 1);
  return output.forward(parts[1] * convolution.forward(parts[0] * parts[2], batch, cache));
}

// They have no heads of keys.
bool is_convolution_layer(const Keys& keys, std::int64_t layer) {
  return keys.count_of("attention.head_count_kv", layer, 1) == 0;
}

void read_convolution(const Keys& keys, const Family&, FileKind, LanguageConfig& config) {
  config.convolution.kernel = keys.some_count("shortconv.l_cache");
}

MixerMemory convolution_memory(const LanguageConfig& config, const LayerConfig&) {
  return {.convolution = {config.convolution.kernel - 1, config.dim}};
}

std::int64_t convolution_columns(const LanguageConfig& config, const LayerConfig&) {
  return 5 * config.dim;
}

std::shared_ptr<const MixerBlock> make_convolution(const MixerParts& parts) {
  return std::make_shared<GatedConvolution>(parts.model, parts.weights, parts.prefix);
}

}  // namespace

constinit const MixerDef convolution_mixer = {.has_states = true,
                                              .mixes_layer = is_convolution_layer,
                                              .read = read_convolution,
                                              .memory = convolution_memory,
                                              .widest_columns = convolution_columns,
                                              .make = make_convolution};

}  // namespace hearth::models
