// JSON documents that are one object, as configurations are.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "core/python_json.h"
#include "hearth/error.h"

namespace hearth {

// Of files that Python writes, with its words for numbers that are not finite.
// Throws Error{corrupt_file} "source: not what; got ..., expected one JSON object; at byte ..." for
// any other text.
inline JsonObject parse_json_object(const std::string& text, const std::string& source,
                                    const std::string& what) {
  JsonFault fault;
  std::optional<JsonValue> document = parse_python_json(text, &fault);
  if (!document || !std::holds_alternative<JsonObject>(*document)) {
    const char* const got = document ? "another value" : fault_name(fault.kind);
    throw Error(ErrorCode::corrupt_file, source + ": not " + what + "; got " + got +
                                             ", expected one JSON object; at byte " +
                                             std::to_string(fault.byte));
  }
  return std::get<JsonObject>(std::move(*document));
}

}  // namespace hearth
