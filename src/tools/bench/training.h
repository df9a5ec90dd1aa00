// The model and step of the demo, as the benchmarks train it.
#pragma once

#include <cstdint>

#include "hearth/optim.h"
#include "models/transformer.h"

namespace hearth::tools {

struct TrainingShape {
  std::int64_t vocabulary = 256;
  std::int64_t dim = 192;
  std::int64_t layers = 4;
  std::int64_t heads = 3;
  std::int64_t kv_heads = 3;
  std::int64_t context = 256;
  std::int64_t batch = 8;

  models::TransformerConfig config() const;
};

// One model with its optimizer and one batch of tokens.
class TrainingBench {
 public:
  TrainingBench(const TrainingShape& shape, Device device);

  // Forward, backward, clipping and AdamW, submitted. The loss is held until the next step, as a
  // training loop holds it.
  void step();
  double read_loss() const { return loss_.item(); }
  const TrainingShape& shape() const noexcept { return shape_; }

 private:
  TrainingShape shape_;
  models::Transformer model_;
  optim::AdamW optimizer_;
  Array tokens_;
  Array targets_;
  Array loss_;
};

}  // namespace hearth::tools
