// The functions and types that public headers declare, read from the headers' own text.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::tools {

struct Parameter {
  std::string type;  // as C++ spells it
  std::string name;
  std::optional<std::string> default_value;
  std::string doc;  // of fields
};

struct Function {
  std::string name;
  std::string text;  // the declaration in one line, without HEARTH_API and semicolon
  std::string result;
  std::vector<Parameter> parameters;
  std::string doc;      // the comment above or behind it; overloads share one
  std::string header;   // "hearth/ops/pool.h"
  std::string section;  // what the comment at the head of its section says of all in it
};

// Options: a struct of plain fields, or an enum, whose values are fields without a type.
struct Type {
  std::string name;
  bool is_enum = false;
  std::vector<Parameter> fields;
  std::string doc;
};

struct Declarations {
  std::vector<Function> functions;
  std::vector<Type> types;
};

// Of a header in the house's format: what stands behind HEARTH_API at the start of a line, and
// structs and enums that end in a line of their own.
Declarations parse_declarations(std::string_view header);

// Those of the headers of hearth/ops/ and of hearth/random.h, as the library was built with them.
Declarations op_declarations();

}  // namespace hearth::tools
