// What oneOf says beyond anyOf.
#pragma once

#include "core/json.h"
#include "models/grammar/schema_document.h"

namespace hearth::models::grammar {

// Alternatives of an anyOf for those of a oneOf. An object of each is none of the others: it lacks
// a property that the other requires, or has one whose types or listed values the other excludes.
// Not all such objects are left, but some for each other alternative. One that no property tells
// from another, or only many together do, is as it was, as are values of other types than objects.
// Throws as SchemaDocument::target().
JsonArray exclusive_schemas(const JsonArray& alternatives, const SchemaDocument& document);

}  // namespace hearth::models::grammar
