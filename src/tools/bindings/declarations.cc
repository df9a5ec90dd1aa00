#include "tools/bindings/declarations.h"

#include <algorithm>
#include <cctype>
#include <span>
#include <sstream>

#include "codegen/embedded_texts.h"

namespace hearth::tools {

// Written by the build (cmake/HearthEmbed.cmake).
std::span<const gpu::EmbeddedText> embedded_texts() noexcept;

namespace {

std::string without_spaces(std::string_view text) {
  const auto is_space = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return std::string(text);
}

void append_words(std::string& text, const std::string& more) {
  if (!text.empty() && !more.empty()) text += ' ';
  text += more;
}

// At commas outside of brackets.
std::vector<std::string> at_commas(std::string_view list) {
  std::vector<std::string> parts;
  int depth = 0;
  std::string part;
  for (const char c : list) {
    if (std::string_view("(<{[").find(c) != std::string_view::npos) ++depth;
    if (std::string_view(")>}]").find(c) != std::string_view::npos) --depth;
    if (c == ',' && depth == 0) {
      parts.push_back(without_spaces(part));
      part.clear();
    } else {
      part += c;
    }
  }
  if (!without_spaces(part).empty()) parts.push_back(without_spaces(part));
  return parts;
}

bool is_of_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// "const Array& x = Array()".
Parameter declared_parameter(const std::string& text) {
  Parameter parameter;
  const std::size_t equals = text.find('=');
  const std::string head = without_spaces(text.substr(0, equals));
  if (equals != std::string::npos)
    parameter.default_value = without_spaces(text.substr(equals + 1));
  std::size_t start = head.size();
  while (start > 0 && is_of_word(head[start - 1])) --start;
  parameter.name = head.substr(start);
  parameter.type = without_spaces(head.substr(0, start));
  return parameter;
}

// "Array sum(const Array& x)", without HEARTH_API and semicolon.
Function declared_function(const std::string& text) {
  const std::size_t open = text.find('(');
  std::size_t start = open;
  while (start > 0 && is_of_word(text[start - 1])) --start;
  Function function;
  function.text = text;
  function.name = text.substr(start, open - start);
  function.result = without_spaces(text.substr(0, start));
  const std::string list = text.substr(open + 1, text.rfind(')') - open - 1);
  for (const std::string& part : at_commas(list))
    function.parameters.push_back(declared_parameter(part));
  return function;
}

// Lines of a header, one statement with its comment after the other.
class HeaderReader {
 public:
  explicit HeaderReader(std::string_view header) : lines_(std::string(header)) {}

  Declarations read() {
    for (std::string line; next(line);) {
      if (line.empty()) {
        comment_.clear();
        in_heading_ = false;
      } else if (line.starts_with("// --")) {
        section_.clear();
        in_heading_ = true;
      } else if (line.starts_with("// ")) {
        append_words(in_heading_ ? section_ : comment_, line.substr(3));
      } else if (line.starts_with("HEARTH_API ")) {
        read_function(line);
      } else if (line.starts_with("struct ") || line.starts_with("enum class ")) {
        read_type(line);
      }
    }
    return std::move(found_);
  }

 private:
  // Without the comment behind it, which is kept.
  bool next(std::string& line) {
    if (!std::getline(lines_, line)) return false;
    const std::size_t slashes = line.find("  //");
    behind_.clear();
    if (slashes != std::string::npos && line.find_first_not_of(' ') < slashes) {
      behind_ = without_spaces(line.substr(slashes + 4));
      line.resize(line.find_last_not_of(' ', slashes) + 1);
    }
    return true;
  }

  void read_function(std::string line) {
    std::string text = line;
    std::string doc = comment_;
    append_words(doc, behind_);
    while (!text.ends_with(';') && next(line)) {
      append_words(text, without_spaces(line));
      append_words(doc, behind_);
    }
    text.pop_back();
    Function function =
        declared_function(without_spaces(text.substr(std::string("HEARTH_API").size())));
    if (doc.empty() && !found_.functions.empty() && found_.functions.back().name == function.name) {
      doc = found_.functions.back().doc;
    }
    function.doc = doc;
    function.section = section_;
    found_.functions.push_back(std::move(function));
    comment_.clear();
  }

  void read_type(std::string line) {
    Type type;
    type.is_enum = line.starts_with("enum");
    type.doc = comment_;
    comment_.clear();
    std::istringstream words(line.substr(type.is_enum ? 10 : 6));
    std::string colon, base;
    words >> type.name >> colon >> base;
    if (type.is_enum) {
      for (std::string more; line.find('}') == std::string::npos && next(more);)
        append_words(line, without_spaces(more));
      const std::size_t open = line.find('{');
      const std::string values = line.substr(open + 1, line.rfind('}') - open - 1);
      for (const std::string& value : at_commas(values)) {
        const bool is_other_name = value.find('=') != std::string::npos;
        if (!is_other_name) type.fields.push_back({"", value, {}, ""});
      }
    } else {
      if (colon == ":") {
        for (const Type& known : found_.types)
          if (known.name == base) type.fields = known.fields;
      }
      while (next(line) && line != "};") {
        if (!line.ends_with(';') || line.find('(') != std::string::npos) continue;
        type.fields.push_back(declared_parameter(without_spaces(line.substr(0, line.size() - 1))));
        type.fields.back().doc = behind_;
      }
    }
    found_.types.push_back(std::move(type));
  }

  std::istringstream lines_;
  std::string comment_;  // above the next statement
  std::string section_;
  std::string behind_;  // the line that was read last
  bool in_heading_ = false;
  Declarations found_;
};

}  // namespace

Declarations parse_declarations(std::string_view header) { return HeaderReader(header).read(); }

Declarations op_declarations() {
  Declarations all;
  for (const gpu::EmbeddedText& header : embedded_texts()) {
    Declarations own = parse_declarations(header.text);
    for (Function& function : own.functions) function.header = header.path;
    std::move(own.functions.begin(), own.functions.end(), std::back_inserter(all.functions));
    std::move(own.types.begin(), own.types.end(), std::back_inserter(all.types));
  }
  return all;
}

}  // namespace hearth::tools
