// What a client is told of a request that is not taken.
#pragma once

#include <httplib.h>

#include <cstddef>
#include <optional>
#include <string>

#include "tools/serve/api_error.h"
#include "tools/serve/bounded_stream.h"

namespace hearth::tools::serve {

ApiError bad_request(int status, const std::string& message);
ApiError too_long_body(std::size_t most_bytes);

// Of a head that could not be read or understood, for which the library has this status, and its
// connection that refusal.
ApiError error_of_head(int status, Refusal refusal, std::size_t most_bytes);

bool has_body(const httplib::Request& request);
bool is_chunked(const httplib::Request& request);

// What is wrong with a body before it is read: where it ends must have one meaning, for those that
// pass requests on, too.
std::optional<ApiError> refusal_of_body(const httplib::Request& request, std::size_t most_bytes);

// Of a body that could not be read, for which the library has this status, and its connection that
// refusal.
ApiError error_of_body(const httplib::Request& request, int status, Refusal refusal,
                       std::size_t most_bytes);

}  // namespace hearth::tools::serve
