// The document of a schema, whose parts may refer to each other.
#pragma once

#include <cstddef>
#include <string>

#include "core/json.h"

namespace hearth::models::grammar {

inline constexpr int kMaxSchemaDepth = 128;

class SchemaDocument {
 public:
  // `root` must outlive this.
  explicit SchemaDocument(const JsonValue& root) : root_(root) {}

  const JsonValue& root() const { return root_; }
  // What a pointer like #/$defs/a names. Throws Error{invalid_argument} where there is nothing.
  const JsonValue& target(const std::string& reference) const;
  // `schema` with neither $ref, allOf, oneOf and conditions at its top, nor a `not` that is not
  // plain (schema_negation.h). Throws Error{unsupported} for what is nested
  // too deep or, of all calls together, too large.
  JsonObject expanded(const JsonValue& schema, int depth);
  // Of a schema that is looked at; throws as expanded() for too many.
  void count_expansion();

 private:
  const JsonValue& root_;
  std::size_t expansions_ = 0;
};

}  // namespace hearth::models::grammar
