// Models that write texts, and those that only see them.
#pragma once

#include <string>

#include "hearth/error.h"
#include "models/language/config.h"

namespace hearth::models {

// Throws Error{unsupported} in the name of `what` unless rows see those before them alone;
// `instead`: what encoders are for.
inline void require_causal(const LanguageConfig& config, const std::string& what,
                           const std::string& instead = {}) {
  if (config.is_causal) return;
  throw Error(ErrorCode::unsupported, what + " of an encoder; got one of the family " +
                                          config.architecture + ", expected a causal model" +
                                          (instead.empty() ? "" : "; " + instead));
}

}  // namespace hearth::models
