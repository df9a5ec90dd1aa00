#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "hearth/grad.h"
#include "hearth/ops.h"
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

NamedArrays joined(const std::vector<std::pair<std::string, NamedArrays>>& parts) {
  NamedArrays out;
  for (const auto& [name, arrays] : parts) {
    for (const NamedArray& each : arrays) out.push_back({name + "." + each.name, each.array});
  }
  return out;
}

NamedArrays part(const NamedArrays& arrays, std::string_view name, CallSite site) {
  return located(site, [&] {
    const std::string prefix = std::string(name) + ".";
    NamedArrays out;
    for (const NamedArray& each : arrays) {
      if (each.name.starts_with(prefix)) {
        out.push_back({each.name.substr(prefix.size()), each.array});
      }
    }
    if (out.empty()) {
      throw Error(ErrorCode::invalid_argument, "part: none of that name; got " + std::string(name) +
                                                   " of " + std::to_string(arrays.size()) +
                                                   " arrays, expected one that was joined");
    }
    return out;
  });
}

std::int64_t parameter_count(const NamedArrays& parameters) {
  std::unordered_set<const void*> values;
  std::int64_t count = 0;
  for (const NamedArray& each : parameters) {
    if (values.insert(each.array.identity()).second) count += each.array.size();
  }
  return count;
}

std::string summary(const NamedArrays& parameters) {
  std::size_t widest = 5, widest_shape = 2;
  for (const NamedArray& each : parameters) {
    widest = std::max(widest, each.name.size());
    widest_shape = std::max(widest_shape, to_string(each.array.shape()).size());
  }
  std::string text;
  std::int64_t bytes = 0;
  std::unordered_map<const void*, const std::string*> first_names;
  for (const auto& [label, array] : parameters) {
    const auto [first, is_new] = first_names.try_emplace(array.identity(), &label);
    if (is_new) bytes += bytes_of(array.dtype(), array.size());
    text += padded(label, widest) + "  " + padded(std::string(name(array.dtype())), 4) + "  " +
            padded(to_string(array.shape()), widest_shape) + "  " +
            (is_new ? std::to_string(array.size()) : "tied to " + *first->second) + "\n";
  }
  return text + padded("total", widest) + "  " + std::to_string(first_names.size()) + " arrays, " +
         std::to_string(parameter_count(parameters)) + " elements, " + std::to_string(bytes) +
         " bytes\n";
}

void unfreeze(const std::vector<Parameter>& parameters) {
  std::unordered_map<const void*, Array> leaves;
  for (const Parameter& parameter : parameters) {
    Array& array = *parameter.array;
    if (parameter.is_buffer || !is_float(array.dtype())) continue;
    const auto [leaf, is_new] = leaves.try_emplace(array.identity());
    if (is_new) leaf->second = array.is_require_grad() ? array : array.require_grad();
    array = leaf->second;
  }
}

void to_device(const std::vector<Parameter>& parameters, Device device) {
  const NoGrad no_grad;
  std::unordered_map<const void*, Array> moved;
  std::vector<Array> values;
  for (const Parameter& parameter : parameters) {
    const auto [value, is_new] = moved.try_emplace(parameter.array->identity());
    if (is_new) value->second = to_device(parameter.array->detach(), device);
    values.push_back(value->second);
  }
  for (std::size_t i = 0; i < values.size(); ++i) parameters[i].array->assign(values[i]);
}

void load_state_dict(const std::vector<Parameter>& parameters, const NamedArrays& values,
                     bool allow_unexpected, CallSite site) {
  located(site, [&] {
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
      throw Error(
          ErrorCode::invalid_argument,
          message + ", expected the " + std::to_string(parameters.size()) + " of the module");
    }
    for (std::size_t i = 0; i < chosen.size(); ++i)
      parameters[i].array->assign(chosen[i]->detach());
  });
}

}  // namespace v0
}  // namespace hearth
