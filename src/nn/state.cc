#include <algorithm>
#include <unordered_map>

#include "hearth/parameter.h"

namespace hearth {
inline namespace v0 {
namespace {

// "a, b, c, ... (12 in all)".
std::string list(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 8;
  std::string out;
  for (std::size_t i = 0; i < names.size() && i < kShown; ++i) {
    if (i > 0) out += ", ";
    out += names[i];
  }
  if (names.size() > kShown) out += ", ... (" + std::to_string(names.size()) + " in all)";
  return out;
}

std::string padded(std::string text, std::size_t width) {
  text.resize(std::max(text.size(), width), ' ');
  return text;
}

}  // namespace

std::string summary(const NamedArrays& parameters) {
  std::size_t widest = 5, widest_shape = 2;
  for (const NamedArray& each : parameters) {
    widest = std::max(widest, each.name.size());
    widest_shape = std::max(widest_shape, to_string(each.array.shape()).size());
  }
  std::string text;
  std::int64_t elements = 0, bytes = 0;
  for (const auto& [label, array] : parameters) {
    elements += array.size();
    bytes += array.size() * size_of(array.dtype());
    text += padded(label, widest) + "  " + padded(std::string(name(array.dtype())), 4) + "  " +
            padded(to_string(array.shape()), widest_shape) + "  " + std::to_string(array.size()) +
            "\n";
  }
  return text + padded("total", widest) + "  " + std::to_string(parameters.size()) + " arrays, " +
         std::to_string(elements) + " elements, " + std::to_string(bytes) + " bytes\n";
}

void load_state_dict(const std::vector<Parameter>& parameters, const NamedArrays& values,
                     bool allow_unexpected) {
  std::unordered_map<std::string_view, const Array*> by_name;
  for (const NamedArray& value : values) by_name.emplace(value.name, &value.array);

  std::vector<const Array*> chosen;
  std::vector<std::string> missing;
  for (const Parameter& parameter : parameters) {
    const auto found = by_name.find(parameter.name);
    if (found == by_name.end()) {
      missing.push_back(parameter.name);
      continue;
    }
    const Array& value = *found->second;
    if (!(value.shape() == parameter.array->shape())) {
      throw Error(ErrorCode::shape, "load_state_dict: " + parameter.name +
                                        " has another shape; got " + to_string(value.shape()) +
                                        ", expected " + to_string(parameter.array->shape()));
    }
    if (value.dtype() != parameter.array->dtype()) {
      throw Error(ErrorCode::dtype, "load_state_dict: " + parameter.name +
                                        " has another dtype; got " +
                                        std::string(name(value.dtype())) + ", expected " +
                                        std::string(name(parameter.array->dtype())));
    }
    chosen.push_back(&value);
    by_name.erase(found);
  }
  std::vector<std::string> unexpected;
  for (const NamedArray& value : values) {
    if (!allow_unexpected && by_name.count(value.name) != 0) unexpected.push_back(value.name);
  }
  if (!missing.empty() || !unexpected.empty()) {
    std::string message = "load_state_dict: names do not match; got";
    if (!missing.empty()) message += " none for " + list(missing);
    if (!unexpected.empty()) {
      message += std::string(missing.empty() ? "" : " and") + " unexpected " + list(unexpected);
    }
    throw Error(ErrorCode::invalid_argument,
                message + ", expected the " + std::to_string(parameters.size()) + " of the module");
  }
  for (std::size_t i = 0; i < chosen.size(); ++i) parameters[i].array->assign(chosen[i]->detach());
}

}  // namespace v0
}  // namespace hearth
