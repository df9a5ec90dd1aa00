// How the makers of a model say that tokens should be drawn from it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hearth/gguf.h"
#include "hearth/models/sampling.h"
#include "models/sampling/sampling_fields.h"

namespace hearth::models {

// What is not said is not there.
struct RecommendedSampling {
  struct Number {
    const SamplingField* field;  // of sampling_fields()
    double value;
  };

  std::vector<Number> numbers;
  std::optional<Mirostat> mirostat;
  std::optional<std::vector<SamplingStep>> steps;

  // The options with what is said in place of what they have.
  SamplingOptions over(SamplingOptions options) const;
};

// What "general.sampling.*" says, by llama.cpp's names. An order of steps that names others than
// there are here is left out. Throws Error{corrupt_file} with the key for a value of another type
// or out of range.
RecommendedSampling recommended_sampling(const GgufMetadata& metadata);

// Adds those keys for what a generation_config.json says. Where that says that tokens are not drawn
// (do_sample false), the temperature is 0. Throws Error{corrupt_file} with `source` for what is no
// JSON object and for values of another type.
void add_generation_config(GgufMetadata& metadata, const std::string& text,
                           const std::string& source);

}  // namespace hearth::models
