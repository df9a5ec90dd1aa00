// Training a residual network to tell classes of images apart.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/resnet.h"
#include "tools/images/image_data.h"
#include "tools/training/training_run.h"

namespace hearth::tools {

struct ImageTrainingOptions : RunOptions {
  std::string data;             // a folder; empty: drawn images
  std::int64_t images = 10000;  // that are drawn for training; a tenth of them more are held out
  std::int64_t layers = 10;     // with weights, those of shortcuts not counted: 10, 18 or 34
  std::int64_t width = 16;      // channels of the first stage
  std::optional<Augmentation> augmentation;  // unless said: by the data
};

// A run that counts images; losses are nats per image.
class ImageTrainer : public TrainingRun {
 public:
  // Reads or draws the images, makes the network, and goes on from a checkpoint of the same run.
  // Throws Error for what cannot be opened, allocated or resumed.
  explicit ImageTrainer(const ImageTrainingOptions& options);

  // Over all held-out images.
  Evaluation evaluate() const override;

  const ImageData& data() const noexcept { return data_; }
  const models::ResNet& model() const noexcept { return model_; }

 protected:
  Array loss(std::int64_t step) override;
  std::vector<hearth::Parameter> trained() override { return parameters(model_); }
  Units units() const override;
  std::string title() const override;

 private:
  Array network_input(const ImageBatch& batch) const;
  Array labels_of(const ImageBatch& batch) const;

  ImageData data_;
  models::ResNet model_;
  TrainingBatches batches_;
  Array mean_;   // of pixels, [1, channels, 1, 1]
  Array scale_;  // one over their deviation, the same
};

}  // namespace hearth::tools
