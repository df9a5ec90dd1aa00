// The numbers of SamplingOptions, each declared once: what commands, requests, files and messages
// call it, what it may be and what it does. Defaults are those of SamplingOptions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "models/sampling/sampling_options.h"

namespace hearth::models {

struct SamplingField {
  using Member = std::variant<double SamplingOptions::*, std::int64_t SamplingOptions::*>;

  std::string_view name;     // of the member, as messages have it
  std::string_view flags;    // of commands, the name that messages have first: "--top-k"
  std::string_view request;  // the member of a request's object, as llama.cpp's server has it
  Member member;
  double low, high;  // of what is allowed; whole numbers for whole numbers
  bool excludes_low;
  std::string_view summary;             // for --help
  std::string_view other_request = {};  // vLLM's name for the member, which `request` comes before
  // What files of models call it behind "general.sampling.", as llama.cpp does, and what they may
  // say; empty: files do not say it.
  std::string_view file_key = {};
  double file_low = 0, file_high = 0;
};

std::span<const SamplingField> sampling_fields();

// Whether the field may have the value; not where it is no number.
bool allows(const SamplingField& field, double value);
// "[0, 1]", "(0, 1]".
std::string range_text(const SamplingField& field);

}  // namespace hearth::models
