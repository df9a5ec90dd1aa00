#include "kernels/user/kernel_entries.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>

#include "codegen/dialect_types.h"
#include "codegen/msl/parameters.h"
#include "codegen/msl/preprocessor/preprocessor.h"
#include "codegen/msl/token_runs.h"

namespace hearth::gpu {
namespace {

// The names of a template's types up to the first parameter with a default; nothing where another
// one, such as an int, has to be given.
std::optional<std::vector<std::string>> type_parameters(const MetalEntry& entry) {
  const std::vector<Token> tokens = tokens_of(entry.text);
  const std::size_t end = after_template(tokens, 1);
  std::vector<std::string> names;
  for (const Tokens part : separated(Tokens(tokens).subspan(2, end - 3))) {
    const bool has_default =
        std::any_of(part.begin(), part.end(), [](const Token& token) { return token.text == "="; });
    if (has_default) break;
    if (part.size() != 2 || (part[0].text != "typename" && part[0].text != "class")) {
      return std::nullopt;
    }
    names.emplace_back(part[1].text);
  }
  return names;
}

std::string entry_name(const MetalEntry& entry) {
  return entry.host_name.empty() ? entry.name : entry.host_name;
}

// The argument as the language calls it: what stores an element, but bool is bool.
std::string type_of(DType dtype) { return is_bool(dtype) ? "bool" : dialect_type(dtype); }

// Compilers may use more registers where threadgroups are small; few steps, so that sizes of
// threadgroups alone make few kernels.
int max_threads(const KernelLaunch& launch) {
  const std::int64_t threads = launch.threads.product();
  return threads <= 256 ? 256 : threads <= 512 ? 512 : 1024;
}

}  // namespace

ParsedSource::ParsedSource(const std::string& text, const std::string& wanted)
    : source_(text), text_(preprocess(text, "kernel", {}, {})), read_(text_) {
  add_entry_points(wanted);
  if (!entry_points_.empty()) return;
  std::string known;
  for (const MetalEntry& entry : read_.entries) {
    known += (known.empty() ? "" : ", ") + entry_name(entry);
  }
  refuse("no entry point; got " +
         (known.empty() ? std::string("a text without kernel void f(...)") : "a text of " + known) +
         ", expected " +
         (!wanted.empty() ? "'" + wanted + "' in it"
          : known.empty() ? "one"
                          : "one whose template's arguments are types, or its instances"));
}

void ParsedSource::add_entry_points(const std::string& wanted) {
  const auto is_wanted = [&](const std::string& name) { return wanted.empty() || name == wanted; };
  for (const MetalEntry& entry : read_.entries) {
    if (entry.body.empty()) continue;
    if (!entry.is_template) {
      if (is_wanted(entry_name(entry))) entry_points_.push_back({entry_name(entry), &entry, {}});
      continue;
    }
    if (is_wanted(entry.name)) {
      if (auto parameters = type_parameters(entry)) {
        entry_points_.push_back({entry.name, &entry, std::move(*parameters)});
        continue;
      }
    }
    for (const MetalInstance& instance : read_.instances) {
      const std::string& name = instance.host_name.empty() ? instance.function : instance.host_name;
      if (instance.function.substr(0, instance.function.find('<')) != entry.name) continue;
      if (is_wanted(name) || wanted == entry.name) entry_points_.push_back({name, &entry, {}});
    }
  }
  if (!entry_points_.empty() || !wanted.ends_with('>')) return;
  const MetalEntry* const entry = read_.entry(wanted.substr(0, wanted.find('<')));
  if (entry != nullptr && entry->is_template && !entry->body.empty()) {
    entry_points_.push_back({wanted, entry, {}});
  }
}

runtime::KernelSource ParsedSource::kernel(const EntryPoint& entry_point,
                                           std::span<const UserParameter> parameters,
                                           std::span<const Slot> slots, const OperandTypes& types,
                                           const KernelLaunch& launch) const {
  std::string name = entry_point.name;
  for (const std::string& parameter : entry_point.parameters) {
    std::string argument;
    for (std::size_t i = 0; i < parameters.size() && argument.empty(); ++i) {
      if (parameters[i].type != parameter || slots[i].from == Slot::From::constant) continue;
      const auto at = static_cast<std::size_t>(slots[i].number);
      const bool is_input = slots[i].from == Slot::From::input;
      argument = type_of(is_input ? types.inputs[at].dtype : types.outputs[at].dtype);
    }
    if (argument.empty()) {
      refuse("a template's argument follows from no operand; got " + parameter +
             ", expected device const " + parameter +
             "* among the parameters, or the arguments in CustomOpSpec::kernel_entry");
    }
    name += (&parameter == entry_point.parameters.data() ? "<" : ", ") + argument;
  }
  if (!entry_point.parameters.empty()) name += ">";
  runtime::MetalOptions options;
  options.max_threads = max_threads(launch);
  std::map<std::string, std::int64_t> sizes = launch.threadgroup_bytes;
  for (const MetalParameter& parameter : parameters_of(read_, *entry_point.entry)) {
    if (parameter.kind != MetalParameter::Kind::threadgroup) continue;
    const auto size = sizes.find(parameter.name);
    if (size == sizes.end() || size->second < 1) {
      refuse("threadgroup memory has no size; got none for " + parameter.name +
             ", expected one in KernelLaunch::threadgroup_bytes");
    }
    options.threadgroup_bytes[parameter.index] = size->second;
    sizes.erase(size);
  }
  if (!sizes.empty()) {
    refuse("no such threadgroup memory; got a size for " + sizes.begin()->first +
           ", expected a parameter threadgroup T* of that name");
  }
  return runtime::metal_kernel(source_, name, options);
}

}  // namespace hearth::gpu
