// A text with its tokens, for others that begin alike: Tokenizer::encode() takes from it what they
// share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "models/tokenizer/special.h"

namespace hearth::models {

struct EncodedText {
  // A place behind a token that was found in the text as it is: what stands before and behind it is
  // encoded apart.
  struct Cut {
    std::size_t bytes, tokens;
  };

  std::string text;
  tokens::ControlPlaces controls = tokens::ControlPlaces(false);
  std::vector<std::int32_t> tokens;
  std::vector<Cut> cuts;  // ascending
};

}  // namespace hearth::models
