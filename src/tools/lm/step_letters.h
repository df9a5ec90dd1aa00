// Steps of drawing by llama.cpp's letters.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/sampling/sampling_options.h"

namespace hearth::tools {

// "e penalties, d dry, ...": all letters, with what they stand for.
std::string step_letters();
// Of "edskypmxt", a letter for each step. Throws Error{invalid_argument} for other letters.
std::vector<models::SamplingStep> steps_of_letters(std::string_view letters);

}  // namespace hearth::tools
