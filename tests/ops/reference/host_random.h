// Random ops on the host, from the published generator and the words of core/philox.h's contract,
// and from no code of Hearth.
#pragma once

#include <optional>
#include <string_view>

#include "ops/reference/host_array.h"

namespace hearth::testing {

// nullopt for ops that are not random.
std::optional<HostArray> host_random(std::string_view op, const Params& params);

}  // namespace hearth::testing
