// The keywords of schemas, and what grammars make of each.
#pragma once

#include <cstdint>
#include <string_view>

namespace hearth::models::grammar {

enum class KeywordUse : std::uint8_t {
  written,   // rules are written of it
  combined,  // of what SchemaDocument::expanded() makes of those of all schemas that must hold
  replaced,  // expanded() says it by others
  refused,   // no grammar holds to it
};

// What two values of a keyword that must both hold are together.
enum class KeywordMerge : std::uint8_t {
  equal,      // one of them, if they are equal; others are refused
  constants,  // one of them, if they are equal; others have no values
  larger,
  smaller,
  either,  // true where one of them is
  types,
  common,       // what both list
  joined,       // a list of all
  schemas,      // a schema of both
  products,     // a schema of each two alternatives
  negations,    // a schema of either
  declarations  // what else the schemas around them say of properties and items counts, too
};

struct Keyword {
  std::string_view name;
  std::string_view type;  // whose values it is about; empty: of all
  KeywordUse use;
  KeywordMerge merge = KeywordMerge::equal;
  // Of a limit: the one that all other values keep to, at the same number or, of what is counted,
  // at the next one. Empty: none.
  std::string_view opposite = {};
};

// One that restricts values in some draft; null for an annotation: drafts let any other name stand,
// and documents are full of them.
const Keyword* keyword_of(std::string_view name) noexcept;

inline bool is_annotation(std::string_view name) noexcept { return keyword_of(name) == nullptr; }

}  // namespace hearth::models::grammar
