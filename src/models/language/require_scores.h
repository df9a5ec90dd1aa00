// Models that score tokens, and so write texts, and those whose texts only become vectors.
#pragma once

#include <string>

#include "hearth/error.h"
#include "models/language/config.h"

namespace hearth::models {

// Throws Error{unsupported} in the name of `what` unless rows see those before them alone and there
// is an output; `instead`: what other models are for.
inline void require_scores(const LanguageConfig& config, const std::string& what,
                           const std::string& instead = {}) {
  if (config.gives_scores()) return;
  const std::string ending = instead.empty() ? "" : "; " + instead;
  if (!config.is_causal) {
    throw Error(ErrorCode::unsupported, what + " of an encoder; got one of the family " +
                                            config.architecture + ", expected a causal model" +
                                            ending);
  }
  throw Error(ErrorCode::unsupported,
              what +
                  " of a model without its output; got no weight of the output, expected one: the "
                  "configuration says that it is not tied" +
                  ending);
}

}  // namespace hearth::models
