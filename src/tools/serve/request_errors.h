// What a client is told of a request that is not taken.
#pragma once

#include <cstddef>
#include <string>

#include "tools/serve/api_error.h"
#include "tools/serve/refusal.h"

namespace hearth::tools::serve {

ApiError bad_request(int status, const std::string& message);
ApiError too_long_body(std::size_t most_bytes);

ApiError too_long_head(std::size_t most_bytes);

// Of a head that was not read to its end.
ApiError error_of_head(Refusal refusal);

// Of a body that the library could not read, whose connection has that refusal.
ApiError error_of_body(Refusal refusal, std::size_t most_bytes);

}  // namespace hearth::tools::serve
