// Values of JSON objects that describe models, such as config.json and adapter_config.json.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/json.h"
#include "hearth/error.h"

namespace hearth::models {

// Where a value stands: the name that messages begin with, and the code of a value that is of the
// wrong type there.
struct JsonSource {
  std::string name;
  ErrorCode code = ErrorCode::corrupt_file;
};

// "a.b" is b of the object a. Null for what is absent or null.
const JsonValue* find_value(const JsonObject& object, std::string_view path);

// "source: path is of the wrong type; got ..., expected ...".
Error wrong_type(const JsonValue& got, std::string_view path, std::string_view expected,
                 const JsonSource& source);

// Nothing for null. Throw wrong_type() for values of another type.
std::optional<double> as_number(const JsonValue& value, std::string_view path,
                                const JsonSource& source);
std::optional<std::int64_t> as_integer(const JsonValue& value, std::string_view path,
                                       const JsonSource& source);

// Of the value at the path: nothing for what is absent or null, else as above. What the path goes
// through is absent, null or an object, or of the wrong type.
const JsonObject* find_object(const JsonObject& object, std::string_view path,
                              const JsonSource& source);
const JsonArray* find_array(const JsonObject& object, std::string_view path,
                            const JsonSource& source);
std::optional<double> find_number(const JsonObject& object, std::string_view path,
                                  const JsonSource& source);
std::optional<std::int64_t> find_integer(const JsonObject& object, std::string_view path,
                                         const JsonSource& source);
std::optional<bool> find_flag(const JsonObject& object, std::string_view path,
                              const JsonSource& source);
std::optional<std::string> find_text(const JsonObject& object, std::string_view path,
                                     const JsonSource& source);

}  // namespace hearth::models
