// What mixes the rows of a layer: attention or a recurrence. A mixer is one file of mixers/, which
// defines its MixerDef, and a line of mixers.def. Its numbers are in config.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "hearth/array.h"
#include "hearth/io.h"
#include "models/language/batch.h"
#include "models/language/cache.h"
#include "models/language/config.h"
#include "models/language/family.h"
#include "models/language/weights.h"

namespace hearth::models {

// With the weights of one layer.
class MixerBlock {
 public:
  virtual ~MixerBlock() = default;
  // x [rows, dim] to the same shape. `cache` is the layer's own, or that of the layer whose keys
  // and values it reads.
  virtual Array forward(const Array& x, const Batch& batch, LayerCache& cache,
                        std::int64_t page_size) const = 0;
};

// What a block is made of: the tensors prefix + "attn_q" and so on; `divisors` of rotary positions,
// or an undefined array.
struct MixerParts {
  const LanguageConfig& model;
  const LayerConfig& layer;
  Weights& weights;
  const std::string& prefix;
  const Array& divisors;
  Device device;
};

// What a layer remembers, without the axis of slots or states; empty: nothing.
struct MixerMemory {
  Shape keys = {}, values = {};        // of a row
  Shape convolution = {}, state = {};  // of a sequence
};

struct MixerDef {
  // Has states in place of keys and values.
  bool has_states = false;
  // Rows that are worked on at once: parts of a prompt that are cut there give the same bits.
  std::int64_t block_rows = 1;
  // Rows of its projections may be in another order in files than in folders.
  bool reorders_rows = false;

  // Whether the layer has it, of a family that does; else it has attention. Null: all layers.
  bool (*mixes_layer)(const Keys& keys, std::int64_t layer) = nullptr;
  // Numbers of all its layers. Throws as read_config() does. Null: they are the layers' own.
  void (*read)(const Keys& keys, const Family& family, FileKind kind,
               LanguageConfig& config) = nullptr;
  // Tensors of a folder as files hold them. Throws Error{invalid_argument} for tensors that do not
  // fit. Null: the same.
  void (*lay_out)(GgufContents& contents, const LanguageConfig& config,
                  const Family& family) = nullptr;
  MixerMemory (*memory)(const LanguageConfig& config, const LayerConfig& layer);
  // Why keys and values cannot be stored as these; empty: they can. Null: there are none.
  std::string (*why_unfit)(const LayerConfig& layer, CacheType keys, CacheType values) = nullptr;
  // Of the arrays that live at once, of one row.
  std::int64_t (*widest_columns)(const LanguageConfig& config, const LayerConfig& layer);
  std::shared_ptr<const MixerBlock> (*make)(const MixerParts& parts);
};

#define MIXER(name) extern const MixerDef name##_mixer;
#include "models/language/mixers.def"

const MixerDef& definition_of(Mixer mixer);

// Of a layer of a family, as its file says.
Mixer mixer_of(const Keys& keys, const Family& family, std::int64_t layer);

// Whether sequences have states: any layer's mixer does.
bool has_states(const LanguageConfig& config);

// The most that any layer's mixer works on at once.
std::int64_t block_rows(const LanguageConfig& config);

}  // namespace hearth::models
