// runtime::metal_kernel(): a kernel of a text in Metal's own form.
#include <algorithm>
#include <map>

#include "codegen/dialect_text.h"
#include "codegen/msl/parameters.h"
#include "codegen/msl/plain_edits.h"
#include "codegen/msl/preprocessor/preprocessor.h"
#include "codegen/text/tokens.h"
#include "hearth/error.h"
#include "hearth/runtime.h"

namespace hearth {
inline namespace v0 {
namespace runtime {
namespace {

using gpu::MetalEntry;
using gpu::MetalParameter;
using gpu::MetalText;

[[noreturn]] void fail(const std::string& what) {
  throw Error(ErrorCode::invalid_argument, "metal_kernel: " + what);
}

std::vector<std::string> names_of(const MetalText& text) {
  std::vector<std::string> names;
  for (const gpu::MetalInstance& instance : text.instances) {
    names.push_back(instance.host_name.empty() ? instance.function : instance.host_name);
  }
  for (const MetalEntry& entry : text.entries) {
    if (entry.is_template || entry.body.empty()) continue;
    names.push_back(entry.host_name.empty() ? entry.name : entry.host_name);
  }
  return names;
}

// The function that a kernel of this name calls: "f", "f<float>".
std::string function_named(const MetalText& text, const std::string& name) {
  for (const gpu::MetalInstance& instance : text.instances) {
    if (instance.host_name == name) return instance.function;
  }
  for (const MetalEntry& entry : text.entries) {
    if (!entry.is_template && !entry.body.empty() &&
        (entry.host_name.empty() ? entry.name : entry.host_name) == name) {
      return entry.name;
    }
  }
  const MetalEntry* const entry = text.entry(name.substr(0, name.find('<')));
  if (entry != nullptr && entry->is_template && name.back() == '>') return name;
  std::string known;
  int count = 0;
  for (const std::string& each : names_of(text)) {
    if (++count <= 8) known += (known.empty() ? "" : ", ") + each;
  }
  if (count > 8) known += " and " + std::to_string(count - 8) + " others";
  if (entry != nullptr && entry->is_template) {
    fail("the entry point is a template; got " + name + ", expected its arguments as well: " +
         name + "<...>" + (known.empty() ? "" : ", or one of " + known));
  }
  fail("no such entry point; got " + name + ", expected " +
       (known.empty() ? "a text that has one" : "one of " + known));
}

// Pastes the values of function constants.
std::string with_constants(const std::string& text,
                           const std::map<std::string, std::string>& values) {
  const MetalText read(text);
  std::map<std::string, std::string> left = values;
  const auto position = [&](std::string_view part) {
    return static_cast<std::size_t>(part.data() - text.data());
  };
  std::vector<std::pair<std::string_view, std::string>> edits;
  for (const gpu::MetalConstant& constant : read.constants) {
    const auto value = values.find(constant.name);
    left.erase(constant.name);
    edits.emplace_back(constant.attribute,
                       "= " + (value == values.end() ? constant.type + "()" : value->second));
  }
  if (!left.empty()) {
    fail("no such function constant; got " + left.begin()->first + ", expected one of the text");
  }
  const std::vector<gpu::Token>& tokens = read.tokens;
  for (std::size_t i = 0; i + 3 < tokens.size(); ++i) {
    if (tokens[i].text != "is_function_constant_defined") continue;
    const char* const begin = tokens[i].text.data();
    const char* const end = tokens[i + 3].text.data() + 1;
    edits.emplace_back(std::string_view(begin, static_cast<std::size_t>(end - begin)),
                       values.count(std::string(tokens[i + 2].text)) > 0 ? "true" : "false");
  }
  std::sort(edits.begin(), edits.end(),
            [](const auto& a, const auto& b) { return a.first.data() < b.first.data(); });
  std::string made;
  std::size_t at = 0;
  for (const auto& [part, by] : edits) {
    made += text.substr(at, position(part) - at) + by;
    at = position(part) + part.size();
  }
  return made += text.substr(at);
}

// Constants without a value may be named where the text asks whether they have one.
void check_constants(const std::string& text, const std::string& function,
                     const MetalOptions& options) {
  const MetalText read(text);
  const MetalEntry* const entry = read.entry(function.substr(0, function.find('<')));
  for (const gpu::MetalConstant& constant : read.constants) {
    if (options.function_constants.count(constant.name) > 0) continue;
    const std::vector<gpu::Token>& tokens = read.tokens;
    bool asked = false;
    bool used = false;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      if (tokens[i].text != constant.name) continue;
      asked |= i > 1 && tokens[i - 2].text == "is_function_constant_defined";
      const char* const at = tokens[i].text.data();
      const auto lies_in = [at](std::string_view part) {
        return at >= part.data() && at < part.data() + part.size();
      };
      used |= !lies_in(constant.text) &&
              std::none_of(read.entries.begin(), read.entries.end(), [&](const MetalEntry& other) {
                return &other != entry && lies_in(other.text);
              });
    }
    if (used && !asked) {
      fail("a function constant has no value; got none for " + constant.type + " " + constant.name +
           ", expected one in MetalOptions::function_constants");
    }
  }
}

// Functions that Apple's headers are made of are no part of the language.
void check_builtins(const MetalText& text) {
  const std::vector<std::string_view> wrappers = gpu::wrapper_parts(text.tokens);
  for (const gpu::Token& token : text.tokens) {
    const bool is_wrapped =
        std::any_of(wrappers.begin(), wrappers.end(), [&](std::string_view part) {
          return token.text.data() >= part.data() && token.text.data() < part.data() + part.size();
        });
    if (is_wrapped) continue;
    if (token.text.substr(0, 8) != "__metal_" && token.text.substr(0, 8) != "__METAL_") continue;
    throw Error(ErrorCode::unsupported,
                "metal_kernel: the text uses what Apple's headers are made of; got " +
                    std::string(token.text) + ", expected the language's own functions");
  }
}

std::vector<KernelParameter> launch_parameters(const MetalText& text, const MetalEntry& entry,
                                               const MetalOptions& options) {
  using Kind = KernelParameter::Kind;
  std::multimap<int, KernelParameter> all;  // by index; threadgroup memory comes last
  const std::vector<MetalParameter> parameters = parameters_of(text, entry);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const MetalParameter& parameter = parameters[i];
    if (parameter.kind == MetalParameter::Kind::position || parameter.is_absent) continue;
    KernelParameter made{Kind::read, "hearth_type_" + std::to_string(i), parameter.name};
    int order = parameter.index;
    if (parameter.kind == MetalParameter::Kind::constant) {
      made.kind = Kind::constant;
    } else if (parameter.kind == MetalParameter::Kind::threadgroup) {
      const auto bytes = options.threadgroup_bytes.find(parameter.index);
      if (bytes == options.threadgroup_bytes.end() || bytes->second < 1) {
        fail(entry.name + ": threadgroup memory has no size; got none for " + parameter.name +
             " [[threadgroup(" + std::to_string(parameter.index) +
             ")]], expected one in MetalOptions::threadgroup_bytes");
      }
      made.kind = Kind::threadgroup;
      made.type = "uchar";
      made.count = bytes->second;
      order += 1 << 20;
    } else if (!parameter.is_const) {
      made.kind = Kind::read_write;
    }
    all.emplace(order, made);
  }
  std::vector<KernelParameter> made;
  for (auto& [order, parameter] : all) made.push_back(std::move(parameter));
  made.push_back({Kind::constant, "EntryGrid", "hearth_grid"});
  return made;
}

std::string identifier(const std::string& name) {
  std::string made;
  for (const char c : name) {
    if (gpu::is_word_character(c)) {
      made += c;
    } else if (!made.empty() && made.back() != '_') {
      made += '_';
    }
  }
  while (!made.empty() && made.back() == '_') made.pop_back();
  const bool is_free = gpu::is_identifier(made) && made != "main";
  return is_free ? made : "kernel_" + made;
}

}  // namespace

std::vector<std::string> metal_kernel_names(const std::string& text, const MetalOptions& options) {
  const std::string read = gpu::preprocess(text, "text", options.files, options.defines);
  return names_of(MetalText(read));
}

KernelSource metal_kernel(const std::string& text, const std::string& name,
                          const MetalOptions& options) {
  if (name.empty()) fail("no name; got an empty one, expected that of an entry point");
  const std::string read = gpu::preprocess(text, name, options.files, options.defines);
  KernelSource made;
  made.metal = true;
  made.name = identifier(name);
  made.max_threads = options.max_threads;
  const MetalText all(read);
  check_builtins(all);
  made.function = function_named(all, name);
  check_constants(read, made.function, options);
  made.text = with_constants(read, options.function_constants);
  const MetalText final(made.text);
  const MetalEntry* const entry = final.entry(made.function.substr(0, made.function.find('<')));
  if (entry == nullptr || entry->body.empty()) {
    fail("the entry point is not defined; got " + name + ", expected it in the text");
  }
  made.parameters = launch_parameters(final, *entry, options);
  return made;
}

}  // namespace runtime
}  // namespace v0
}  // namespace hearth
