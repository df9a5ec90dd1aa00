// Training a byte-level language model on a text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/transformer.h"
#include "tools/lm/text_dataset.h"
#include "tools/training/training_run.h"

namespace hearth::tools {

struct TextTrainingOptions : RunOptions {
  std::string text;
  models::TransformerConfig model;
};

// A run that counts tokens; losses are nats per byte.
class TextTrainer : public TrainingRun {
 public:
  // Opens text and folder, makes the model, and goes on from a checkpoint of the same run. Throws
  // Error for what cannot be opened, allocated or resumed.
  explicit TextTrainer(const TextTrainingOptions& options);

  // Mean over the held-out bytes.
  Evaluation evaluate() const override;

  const TextDataset& dataset() const noexcept { return dataset_; }
  const models::Transformer& model() const noexcept { return model_; }

 protected:
  Array loss(std::int64_t step) override;
  std::vector<hearth::Parameter> trained() override { return parameters(model_); }
  Units units() const override;
  std::string title() const override;

 private:
  std::string text_;
  TextDataset dataset_;
  models::Transformer model_;
};

}  // namespace hearth::tools
