// Training a low-rank adapter of a language model, whose own weights stay as their file has them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/adapters/new_adapter.h"
#include "models/adapters/save_adapter.h"
#include "models/loading/load_model.h"
#include "tools/lm/training_texts.h"
#include "tools/training/training_run.h"

namespace hearth::tools {

struct FinetuneOptions : RunOptions {
  std::string model;
  std::string text;
  std::string chat_template;          // a file in place of the model's own; empty: that
  std::vector<AdapterFile> adapters;  // below the one that is trained
  std::int64_t rank = 8;
  double alpha = 16;
  std::string layers = "attention";  // as NewAdapterOptions has them
  std::int64_t context = 256;        // tokens of a text at once
};

// A run that counts tokens; losses are nats per token that counts.
class AdapterTrainer : public TrainingRun {
 public:
  // Opens text and folder, loads the model, and goes on from a checkpoint of the same run. Throws
  // Error for what cannot be opened, allocated or resumed, and Error{unsupported} for an encoder.
  explicit AdapterTrainer(const FinetuneOptions& options);

  // Mean over what is held out, else over the text that is trained on.
  Evaluation evaluate() const override;
  bool has_held_out() const override { return texts_.has_held_out(); }

  // Writes the adapter into the folder, as adapter.gguf and, where the family's folders have names
  // for all of it, as PEFT does. Returns the paths. run() does so with each checkpoint.
  std::vector<std::string> write_adapter() const;

  const models::LanguageModel& model() const noexcept { return loaded_.model; }

 protected:
  Array loss(std::int64_t step) override;
  std::vector<hearth::Parameter> trained() override { return adapter_.parameters(); }
  Units units() const override;
  std::string title() const override;
  void write_result() const override { write_adapter(); }

 private:
  // Tells of conversations that do not fit.
  void note_cuts(const FinetuneOptions& options) const;
  models::AdaptedModel adapted() const;
  Array loss_of(const TokenRows& rows) const;

  FinetuneOptions options_;
  models::ModelContents files_;
  models::NewAdapter adapter_;
  models::LoadedModel loaded_;
  TrainingTexts texts_;
};

}  // namespace hearth::tools
