// Types of C++ and their default arguments as the document of ops has them.
#pragma once

#include <map>
#include <string>

#include "core/json.h"

namespace hearth::tools {

// By types of C++, without const, & and *, the words that the document has for them; a type of its
// `types` stands there under its own name.
const std::map<std::string, std::string>& type_words();
// The word for a type of C++; another type's own name, without const, & and *.
std::string type_word(std::string type);
// Whether the word is that of an array, or of a list of them.
bool is_array_word(const std::string& word);

// The value of a default argument, in C++, of a type in the document's words; null for what stands
// for none. Throws Error{invalid_argument} for a text that is neither.
JsonValue default_value(const std::string& text, const std::string& type);

}  // namespace hearth::tools
