#include "codegen/msl/text.h"

#include <algorithm>
#include <vector>

#include "codegen/msl/absent_parameters.h"
#include "codegen/msl/address_spaces.h"
#include "codegen/msl/parameters.h"
#include "codegen/msl/plain_edits.h"
#include "codegen/text/text_builder.h"
#include "codegen/text/text_edits.h"
#include "hearth/error.h"

namespace hearth::gpu {
namespace {

using runtime::KernelSource;

std::string_view between(const Token& first, const Token& last) {
  const char* const begin = first.text.data();
  return {begin, static_cast<std::size_t>(last.text.data() + last.text.size() - begin)};
}

bool begins_statement(const Token& before) {
  return before.text == ";" || before.text == "{" || before.text == "}";
}

// Declarations `threadgroup T a[4], b;` within functions.
class ThreadgroupVariables {
 public:
  ThreadgroupVariables(const std::vector<Token>& tokens, Target target)
      : tokens_(tokens), target_(target) {}

  void rewrite(TextEdits& edits) {
    int parentheses = 0;
    std::size_t statement = 0;
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      const std::string_view text = tokens_[i].text;
      if (text == "(") ++parentheses;
      if (text == ")") --parentheses;
      if (parentheses == 0 && begins_statement(tokens_[i])) statement = i + 1;
      if (text == "threadgroup" && parentheses == 0) declaration(statement, i, edits);
    }
  }

 private:
  void declaration(std::size_t statement, std::size_t at, TextEdits& edits) {
    const bool aligned = tokens_[statement].text == "alignas";
    if (statement != at && !aligned && tokens_[statement].text != "static") return;
    const std::string prefix(aligned ? between(tokens_[statement], tokens_[at - 1]) : "");
    std::size_t name = at + 1;
    for (int depth = 0; name + 1 < tokens_.size(); ++name) {
      const std::string_view text = tokens_[name].text;
      if (text == ";" || text == "=" || text == "{" || text == "*" || text == "&") return;
      if (text == "<" || text == "(") ++depth;
      if (text == ">" || text == ")") --depth;
      if (depth == 0 && name > at + 1 && ends_name(name + 1)) break;
    }
    if (name + 1 >= tokens_.size()) return;
    std::string type(between(tokens_[at + 1], tokens_[name - 1]));
    std::string alignment = prefix;
    if (tokens_[at + 1].text == "alignas") {
      std::size_t end = at + 1;
      while (tokens_[end].text != ")") ++end;
      alignment = between(tokens_[at + 1], tokens_[end]);
      type = between(tokens_[end + 1], tokens_[name - 1]);
    }
    std::string made;
    std::size_t next = name;
    while (next + 1 < tokens_.size()) {
      const std::string variable(tokens_[next++].text);
      const std::size_t first = next;
      std::size_t end = 0;  // of the extents: memory of threadgroups has no initial value
      for (int depth = 0; next < tokens_.size(); ++next) {
        const std::string_view text = tokens_[next].text;
        if (text == "[" || text == "(" || text == "{") ++depth;
        if (text == "]" || text == ")" || text == "}") --depth;
        if (depth != 0) continue;
        if (end == 0 && (text == "=" || text == "," || text == ";")) end = next;
        if (text == "," || text == ";") break;
      }
      if (next == tokens_.size()) return;
      const std::string extents(first == end ? "" : between(tokens_[first], tokens_[end - 1]));
      made += declared(alignment, type, variable, extents);
      if (tokens_[next].text == ";") break;
      ++next;
    }
    edits.replace(between(tokens_[statement], tokens_[next]), made);
  }

  bool ends_name(std::size_t at) const {
    const std::string_view text = tokens_[at].text;
    return text == "[" || text == ";" || text == ",";
  }

  std::string declared(const std::string& alignment, const std::string& type,
                       const std::string& name, const std::string& extents) {
    if (target_ == Target::cuda) {
      return joined("__attribute__((shared)) __attribute__((aligned(16))) ", alignment, " static ",
                    type, " ", name, extents, "; ");
    }
    return joined("auto& ", name, " = threadgroup_variable<", count_++, ", ", type, extents,
                  ">(); ");
  }

  const std::vector<Token>& tokens_;
  Target target_;
  int count_ = 0;
};

// Loops are unrolled where the text says so; the other pragmas are Apple's compiler's.
std::string pragma_for(std::string_view pragma) {
  return pragma.find("unroll") == std::string_view::npos ||
                 pragma.find("disable") != std::string_view::npos
             ? ""
             : "unroll";
}

void rewrite_directives(std::string_view text, TextEdits& edits) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    if (line.substr(0, 10) == "#include <") edits.replace(line, "");
    if (line.substr(0, 7) == "#pragma") {
      const std::string kept = pragma_for(line);
      edits.replace(line, kept.empty() ? "" : "#pragma " + kept);
    }
    at = end + 1;
  }
}

void rewrite_pragmas(const std::vector<Token>& tokens, TextEdits& edits) {
  for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
    const std::string_view word = tokens[i].text;
    if (word == "_Pragma" && i + 3 < tokens.size()) {
      const std::string kept = pragma_for(tokens[i + 2].text);
      edits.replace(between(tokens[i], tokens[i + 3]),
                    kept.empty() ? "" : "_Pragma(\"" + kept + "\")");
    }
  }
}

// The name in front of template arguments.
std::string base_name(const std::string& function) {
  return function.substr(0, function.find('<'));
}

// As types of entry points are: decltype(f<float>).
bool is_named_elsewhere(const MetalText& text, const MetalEntry& entry) {
  return std::any_of(text.tokens.begin(), text.tokens.end(), [&](const Token& token) {
    const auto lies_in = [&](std::string_view part) {
      return token.text.data() >= part.data() && token.text.data() < part.data() + part.size();
    };
    const auto is_of = [&](const MetalEntry& other) {
      return other.name == entry.name && lies_in(other.text);
    };
    return token.text == entry.name &&
           std::none_of(text.entries.begin(), text.entries.end(), is_of) &&
           std::none_of(text.instances.begin(), text.instances.end(),
                        [&](const MetalInstance& instance) { return lies_in(instance.text); });
  });
}

const MetalEntry& entry_of(const MetalText& text, const KernelSource& source) {
  const MetalEntry* const entry = text.entry(base_name(source.function));
  if (entry == nullptr || entry->body.empty()) {
    throw Error(ErrorCode::invalid_argument, "kernel: " + source.name +
                                                 " is not in its text; got " + source.function +
                                                 ", expected an entry point");
  }
  return *entry;
}

// Whether a `constant T&` of the entry is passed as memory, whose first element it is.
bool is_in_memory(const KernelSource& source, const MetalParameter& parameter) {
  return std::any_of(source.parameters.begin(), source.parameters.end(), [&](const auto& passed) {
    return passed.name == parameter.name && passed.kind == runtime::KernelParameter::Kind::read;
  });
}

// What the call passes for a parameter of the entry, whose number is `i`.
std::string argument(const KernelSource& source, const MetalParameter& parameter, std::size_t i) {
  const std::string type = joined("hearth_type_", i);
  switch (parameter.kind) {
    case MetalParameter::Kind::memory:
      if (parameter.is_absent) return joined("static_cast<", type, "*>(nullptr)");
      return (parameter.is_reference ? "*" : "") + parameter.name;
    case MetalParameter::Kind::constant:
      if (parameter.is_absent) return type + "()";
      return (is_in_memory(source, parameter) ? "*" : "") + parameter.name;
    case MetalParameter::Kind::threadgroup:
      return joined(parameter.is_reference ? "*" : "", "reinterpret_cast<", type, "*>(",
                    parameter.name, ")");
    case MetalParameter::Kind::position:
      break;
  }
  return joined("hearth_position<", type, ">(hearth_place.", parameter.position, "())");
}

std::string callee(const KernelSource& source, const MetalText& text) {
  const std::vector<MetalParameter> parameters = parameters_of(text, entry_of(text, source));
  std::string made;
  std::string arguments;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    line(made, "using hearth_type_", i, " = entry_value<", i, ", decltype(", source.function,
         ")>;");
    arguments += (i == 0 ? "" : ",\n      ") + argument(source, parameters[i], i);
  }
  std::string declared;
  for (const runtime::KernelParameter& parameter : source.parameters) {
    using Kind = runtime::KernelParameter::Kind;
    const bool by_value = parameter.kind == Kind::constant;
    declared += joined(parameter.kind == Kind::read || by_value ? "const " : "", parameter.type,
                       by_value ? "& " : "* ", parameter.name, ", ");
  }
  return joined(made, "HEARTH_INLINE void ", kMetalCallee, "(", declared, "Ctx hearth_ctx) {\n",
                "  const EntryPlace hearth_place{hearth_ctx, hearth_grid};\n",
                "  if (!hearth_place.is_there()) return;\n  ", source.function, "(", arguments,
                ");\n}\n");
}

}  // namespace

std::string plain_text(const KernelSource& source, Target target) {
  const MetalText text(source.text);
  TextEdits edits(text.text);
  for (const std::string_view attribute : text.attributes) edits.replace(attribute, "");
  for (const std::string_view qualifier : text.qualifiers) edits.replace(qualifier, "");
  for (const MetalInstance& instance : text.instances) edits.replace(instance.text, "");
  const MetalEntry& wanted = entry_of(text, source);
  for (const MetalEntry& entry : text.entries) {
    if (entry.name == wanted.name) continue;
    if (is_named_elsewhere(text, entry)) {
      if (!entry.body.empty()) edits.replace(entry.body, ";");
    } else {
      edits.replace(entry.text, "");
    }
  }
  for (const std::string_view part : wrapper_parts(text.tokens)) edits.replace(part, "");
  rewrite_range_initialisers(text.tokens, edits);
  rewrite_member_specialisations(text.tokens, edits);
  rewrite_defaulted_constructors(text.tokens, edits);
  rewrite_metal_specialisations(text.tokens, edits);
  rewrite_swizzles(text.tokens, edits);
  rewrite_directives(text.text, edits);
  rewrite_pragmas(text.tokens, edits);
  erase_address_spaces(text.tokens, edits);
  ThreadgroupVariables(text.tokens, target).rewrite(edits);
  return edits.apply() + joined("\n#line 1 \"", source.name, " (parameters)\"\n") +
         callee(source, text);
}

std::string metal_text(const KernelSource& source) {
  const MetalText text(source.text);
  const bool has_instance = std::any_of(
      text.instances.begin(), text.instances.end(),
      [&](const MetalInstance& instance) { return instance.function == source.function; });
  TextEdits edits(text.text);
  drop_absent_parameters(text, edits);
  // As the prelude of other kernels has it. What the text says itself comes later, and counts.
  const std::string own =
      joined("#pragma METAL fp contract(off)\n#line 1 \"", source.name, "\"\n", edits.apply());
  if (!entry_of(text, source).is_template || has_instance) return own;
  return joined(own, "\ntemplate [[host_name(\"", source.name, "\")]] [[kernel]] decltype(",
                source.function, ") ", source.function, ";\n");
}

}  // namespace hearth::gpu
