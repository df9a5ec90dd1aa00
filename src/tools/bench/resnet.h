// The training step of ResNet-50, as the benchmarks take it.
#pragma once

#include <cstdint>

#include "hearth/optim.h"
#include "models/resnet.h"

namespace hearth::tools {

// One model with its optimizer and a batch: weights in f32, computed in `dtype`.
class ResNetTraining {
 public:
  ResNetTraining(std::int64_t batch, DType dtype, Device device);
  // Forward, backward and stochastic gradient descent with momentum, submitted.
  void step();
  double read_loss() const { return loss_.item(); }

 private:
  DType dtype_;
  models::ResNet model_;
  optim::Sgd optimizer_;
  Array images_, targets_, loss_;
};

}  // namespace hearth::tools
