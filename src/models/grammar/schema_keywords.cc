#include "models/grammar/schema_keywords.h"

#include <algorithm>
#include <iterator>

namespace hearth::models::grammar {

const Keyword* keyword_of(std::string_view name) noexcept {
  using enum KeywordUse;
  using enum KeywordMerge;
  static constexpr Keyword kKeywords[] = {
      {"type", "", written, types},
      {"enum", "", written, common},
      {"const", "", written, constants},
      {"anyOf", "", combined, products},
      {"not", "", combined, negations},
      {"oneOf", "", replaced},
      {"allOf", "", replaced},
      {"if", "", replaced},
      {"then", "", replaced},
      {"else", "", replaced},
      {"$ref", "", replaced},
      {"$dynamicRef", "", refused},
      {"$recursiveRef", "", refused},
      {"disallow", "", refused},
      {"extends", "", refused},

      {"properties", "object", written, declarations},
      {"patternProperties", "object", written, declarations},
      {"additionalProperties", "object", written, schemas},
      {"unevaluatedProperties", "object", written, schemas},
      {"propertyNames", "object", written, schemas},
      {"required", "object", written, joined},
      {"minProperties", "object", written, larger, "maxProperties"},
      {"maxProperties", "object", written, smaller, "minProperties"},
      {"dependencies", "object", replaced},
      {"dependentRequired", "object", replaced},
      {"dependentSchemas", "object", replaced},

      {"items", "array", written, schemas},
      {"prefixItems", "array", written, declarations},
      {"contains", "array", written},
      {"minContains", "array", written, larger},
      {"maxContains", "array", written, smaller},
      {"minItems", "array", written, larger, "maxItems"},
      {"maxItems", "array", written, smaller, "minItems"},
      {"uniqueItems", "array", written, either},
      {"additionalItems", "array", refused},
      {"unevaluatedItems", "array", refused},

      {"minLength", "string", written, larger, "maxLength"},
      {"maxLength", "string", written, smaller, "minLength"},
      {"pattern", "string", written, joined},
      {"format", "string", written, joined},
      {"formatMinimum", "string", refused},
      {"formatMaximum", "string", refused},
      {"formatExclusiveMinimum", "string", refused},
      {"formatExclusiveMaximum", "string", refused},

      {"minimum", "number", written, larger, "exclusiveMaximum"},
      {"maximum", "number", written, smaller, "exclusiveMinimum"},
      {"exclusiveMinimum", "number", written, larger, "maximum"},
      {"exclusiveMaximum", "number", written, smaller, "minimum"},
      {"multipleOf", "number", written, joined},
      {"divisibleBy", "number", refused},
  };
  const auto* found = std::find_if(std::begin(kKeywords), std::end(kKeywords),
                                   [&](const Keyword& one) { return one.name == name; });
  return found == std::end(kKeywords) ? nullptr : found;
}

}  // namespace hearth::models::grammar
