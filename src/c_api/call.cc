#include "c_api/call.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "core/quoted.h"

namespace hearth::c_api {
namespace {

const Array& no_array() {
  static const Array* const none = new Array;  // outlives every call
  return *none;
}

[[noreturn]] void quantized_is_wrong(const char* function, const char* name) {
  throw Error(ErrorCode::dtype,
              std::string(function) + ": " + name + " is quantized, expected an array that is not");
}

const char* type_name(std::int32_t type) {
  constexpr const char* kNames[] = {"nothing",           "an array", "a flag",
                                    "an integer",        "a number", "a list of integers",
                                    "a list of numbers", "a string"};
  return type >= 0 && static_cast<std::size_t>(type) < std::size(kNames)
             ? kNames[type]
             : "a value of no known type";
}

}  // namespace

Call::Call(const char* function, const Arguments& arguments, std::span<const Array> substitutes)
    : function_(function), arguments_(arguments) {
  const std::span<const hearth_value> given = arguments.inputs;
  if (given.size() > kInPlace) many_inputs_.resize(given.size());
  inputs_ = given.size() > kInPlace ? std::span(many_inputs_)
                                    : std::span(few_inputs_).first(given.size());
  std::size_t arrays = 0;
  for (std::size_t i = 0; i < given.size(); ++i) {
    Input& input = inputs_[i];
    switch (given[i].type) {
      case HEARTH_NONE:
        break;
      case HEARTH_ARRAY:
        if (given[i].as.array.id == 0) break;
        if (!substitutes.empty()) {
          input.array = &substitutes[arrays++];
        } else {
          input.use = use(given[i].as.array);
          input.quantized = input.use->quantized.get();
          if (input.quantized == nullptr) input.array = &input.use->array;
        }
        break;
      case HEARTH_FLAG:
        input.number = Array(given[i].as.integer != 0);
        input.array = &input.number;
        break;
      case HEARTH_INT:
        input.number = Array(given[i].as.integer);
        input.array = &input.number;
        break;
      case HEARTH_FLOAT:
        input.number = Array(given[i].as.number);
        input.array = &input.number;
        break;
      default:
        refuse(("input " + std::to_string(i)).c_str(), given[i], "an array or a number");
    }
  }
  if (arguments.parameters.size() > kMostParameters) {
    throw Error(ErrorCode::invalid_argument, std::string(function) + ": too many parameters; got " +
                                                 std::to_string(arguments.parameters.size()) +
                                                 ", expected " + std::to_string(kMostParameters) +
                                                 " at most");
  }
  for (const hearth_parameter& parameter : arguments.parameters) {
    require_pointer(parameter.name, function, "a parameter's name");
  }
}

Call::Input* Call::next_input() {
  return next_input_ < inputs_.size() ? &inputs_[next_input_++] : nullptr;
}

void Call::missing_input(const char* name) const {
  throw Error(ErrorCode::invalid_argument, std::string(function_) + ": input " + name +
                                               " is missing; got " +
                                               std::to_string(inputs_.size()) + " inputs");
}

const Array& Call::input(const char* name) {
  const Array& array = input_or_none(name);
  if (!array.defined()) missing_input(name);
  return array;
}

const Array& Call::input_or_none(const char* name) {
  const Input* const input = next_input();
  if (input == nullptr || input->array == nullptr) {
    if (input != nullptr && input->quantized != nullptr) quantized_is_wrong(function_, name);
    return no_array();
  }
  return *input->array;
}

std::vector<Array> Call::inputs() {
  std::vector<Array> all;
  all.reserve(inputs_.size() - next_input_);
  while (next_input_ < inputs_.size()) all.push_back(input("of the list"));
  return all;
}

const QuantizedArray& Call::quantized_input(const char* name) {
  const Input* const input = next_input();
  if (input == nullptr) missing_input(name);
  if (input->quantized == nullptr) {
    throw Error(ErrorCode::dtype, std::string(function_) + ": input " + name +
                                      " is not quantized, expected all or none");
  }
  return *input->quantized;
}

std::vector<QuantizedArray> Call::quantized_inputs() {
  std::vector<QuantizedArray> all;
  while (next_input_ < inputs_.size()) all.push_back(quantized_input("of the list"));
  return all;
}

bool Call::has_quantized_inputs() const {
  return std::any_of(inputs_.begin(), inputs_.end(),
                     [](const Input& input) { return input.quantized != nullptr; });
}

const hearth_value* Call::find(const char* name) const noexcept {
  for (const hearth_parameter& parameter : arguments_.parameters) {
    if (std::strcmp(parameter.name, name) == 0) {
      return parameter.value.type == HEARTH_NONE ? nullptr : &parameter.value;
    }
  }
  return nullptr;
}

const hearth_value* Call::take(const char* name) noexcept {
  for (std::size_t i = 0; i < arguments_.parameters.size(); ++i) {
    const hearth_parameter& parameter = arguments_.parameters[i];
    if (std::strcmp(parameter.name, name) != 0) continue;
    parameters_read_ |= std::uint64_t{1} << i;
    return parameter.value.type == HEARTH_NONE ? nullptr : &parameter.value;
  }
  return nullptr;
}

void Call::missing(const char* name) const {
  throw Error(ErrorCode::invalid_argument,
              std::string(function_) + ": parameter " + name + " is missing");
}

void Call::refuse(const char* name, const hearth_value& value, const char* expected) const {
  throw Error(ErrorCode::invalid_argument, std::string(function_) + ": " + name + " is " +
                                               type_name(value.type) + ", expected " + expected);
}

void Call::done(const char* expected) const {
  if (next_input_ < inputs_.size()) {
    throw Error(ErrorCode::invalid_argument, std::string(function_) + ": too many inputs; got " +
                                                 std::to_string(inputs_.size()) + ", expected " +
                                                 std::to_string(next_input_) + " at most");
  }
  for (std::size_t i = 0; i < arguments_.parameters.size(); ++i) {
    if ((parameters_read_ >> i & 1) != 0) continue;
    throw Error(ErrorCode::invalid_argument,
                std::string(function_) + ": no such parameter, or given twice; got " +
                    quoted(arguments_.parameters[i].name) + ", expected one of " + expected);
  }
}

void Call::convert(const char* name, const hearth_value& value, bool& target) const {
  if (value.type != HEARTH_FLAG) refuse(name, value, "a flag");
  target = value.as.integer != 0;
}

void Call::convert(const char* name, const hearth_value& value, std::int64_t& target) const {
  if (value.type != HEARTH_INT) refuse(name, value, "an integer");
  target = value.as.integer;
}

void Call::convert(const char* name, const hearth_value& value, double& target) const {
  if (value.type == HEARTH_INT) {
    target = static_cast<double>(value.as.integer);
  } else if (value.type == HEARTH_FLOAT) {
    target = value.as.number;
  } else {
    refuse(name, value, "a number");
  }
}

std::span<const std::int64_t> Call::integers(const char* name, const hearth_value& value) const {
  if (value.type == HEARTH_INT) return {&value.as.integer, 1};
  if (value.type != HEARTH_INTS) refuse(name, value, "a list of integers");
  return span_of(value.as.integers, value.count, function_, name);
}

void Call::convert(const char* name, const hearth_value& value, Dims& target) const {
  const std::span<const std::int64_t> all = integers(name, value);
  if (all.size() > static_cast<std::size_t>(kMaxRank)) {
    throw Error(ErrorCode::shape, std::string(function_) + ": " + name + " is too long; got " +
                                      std::to_string(all.size()) + " integers, expected " +
                                      std::to_string(kMaxRank) + " at most");
  }
  target = Dims(all);
}

void Call::convert(const char* name, const hearth_value& value,
                   std::vector<std::int64_t>& target) const {
  const std::span<const std::int64_t> all = integers(name, value);
  target.assign(all.begin(), all.end());
}

void Call::convert(const char* name, const hearth_value& value, std::vector<double>& target) const {
  if (value.type == HEARTH_FLOAT) {
    target = {value.as.number};
  } else if (value.type == HEARTH_FLOATS) {
    const auto all = span_of(value.as.numbers, value.count, function_, name);
    target.assign(all.begin(), all.end());
  } else {
    refuse(name, value, "a list of numbers");
  }
}

void Call::convert(const char* name, const hearth_value& value, std::vector<Slice>& target) const {
  if (value.type != HEARTH_INTS || value.count % 3 != 0) {
    refuse(name, value, "a list of integers, three for each axis");
  }
  const auto all = span_of(value.as.integers, value.count, function_, name);
  target.clear();
  for (std::size_t i = 0; i < all.size(); i += 3) {
    Slice slice{all[i], all[i + 1], all[i + 2]};
    if (all[i + 1] == HEARTH_TO_END) slice.end.reset();
    target.push_back(slice);
  }
}

void Call::convert(const char* name, const hearth_value& value, std::string_view& target) const {
  if (value.type != HEARTH_STRING) refuse(name, value, "a string");
  require_pointer(value.as.string, function_, name);
  target = value.as.string;
}

void Call::convert(const char* name, const hearth_value& value, DType& target) const {
  if (value.type == HEARTH_STRING) {
    std::string_view text;
    convert(name, value, text);
    target = dtype_from_name(text);
  } else if (value.type == HEARTH_INT) {
    target = dtype_of(value.as.integer, function_);
  } else {
    refuse(name, value, "a dtype");
  }
}

void Call::convert(const char* name, const hearth_value& value, Device& target) const {
  if (value.type == HEARTH_STRING) {
    std::string_view text;
    convert(name, value, text);
    target = Device::named(text);
  } else if (value.type == HEARTH_INT) {
    target = device_of(value.as.integer, function_);
  } else {
    refuse(name, value, "a device");
  }
}

void Call::convert(const char* name, const hearth_value& value, Array& target) const {
  if (value.type != HEARTH_ARRAY) refuse(name, value, "an array");
  if (value.as.array.id == 0) return;
  const Arrays::Use used = use(value.as.array);
  if (used->quantized != nullptr) quantized_is_wrong(function_, name);
  target = used->array;
}

void Call::convert(const char* name, const hearth_value& value, AllAxes& target) const {
  Dims axes;
  convert(name, value, axes);
  target = AllAxes(axes);
}

std::size_t Call::index_of_name(const char* name, const hearth_value& value,
                                std::span<const char* const> names) const {
  std::string_view word;
  convert(name, value, word);
  std::string expected;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (word == names[i]) return i;
    expected += (i == 0 ? "" : ", ") + std::string(names[i]);
  }
  throw Error(ErrorCode::invalid_argument, std::string(function_) + ": " + name + " is " +
                                               quoted(word) + ", expected one of " + expected);
}

}  // namespace hearth::c_api
