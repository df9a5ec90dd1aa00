// The body of a request as the object that it is.
#pragma once

#include <string>

#include "core/json.h"

namespace hearth::tools::serve {

// The object that the body is. Refuses what is no JSON, is no object, nests deeply or has so many
// values that the document would be far larger than its text. Throws FieldError.
JsonObject parse_body(const std::string& body);

}  // namespace hearth::tools::serve
