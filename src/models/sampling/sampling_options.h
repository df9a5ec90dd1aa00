// The options of sampling (hearth/models/sampling.h), checked.
#pragma once

#include <cstdint>

#include "hearth/models/sampling.h"

namespace hearth::models {

using hearth::default_sampling_steps;
using hearth::LogitBias;
using hearth::Mirostat;
using hearth::name;
using hearth::sampling_steps_from;
using hearth::SamplingOptions;
using hearth::SamplingStep;

// Throws Error{invalid_argument} with the option, its value and the range, for tokens outside of
// the vocabulary too.
void check_sampling_options(const SamplingOptions& options, std::int64_t vocabulary);

}  // namespace hearth::models
