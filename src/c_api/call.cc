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

[[noreturn]] void refuse_call(const Function& function, const std::string& text) {
  throw Error(ErrorCode::invalid_argument, std::string(function.name) + ": " + text);
}

}  // namespace

std::string input_name(const Function& function, std::size_t input) {
  // Those of "name(a, b?, more...; parameters) -> 1"; the last stands for all of a list.
  std::string_view names = std::string_view(function.signature).substr(std::strlen(function.name));
  names = names.substr(1, names.find_first_of(";)") - 1);
  for (std::size_t i = 0; i < input && !names.ends_with("..."); ++i) {
    const std::size_t end = names.find(", ");
    names.remove_prefix(end == names.npos ? names.size() : end + 2);
  }
  const std::string name(names.substr(0, names.find_first_of("?,.")));
  return "input " + std::to_string(input) + (name.empty() ? "" : " (" + name + ")");
}

Call::Call(const Function& function, const Arguments& arguments, std::span<const Array> substitutes)
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
        if (!is_array(given[i])) break;
        if (!substitutes.empty()) {
          input.array = &substitutes[arrays++];
        } else {
          input.use = use_input(function, arguments, i);
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
        refuse(input_name(function, i).c_str(), given[i], "an array or a number");
    }
  }
  if (arguments.parameters.size() > kMostParameters) {
    refuse_call(function, "too many parameters; got " +
                              std::to_string(arguments.parameters.size()) + ", expected " +
                              std::to_string(kMostParameters) + " at most");
  }
  for (const hearth_parameter& parameter : arguments.parameters) {
    require_pointer(parameter.name, function.name, "a parameter's name");
  }
}

const Call::Input* Call::next_input() {
  const std::size_t next = next_input_++;
  return next < inputs_.size() ? &inputs_[next] : nullptr;
}

void Call::missing_input() const {
  const std::size_t input = next_input_ - 1;
  std::string got = std::to_string(inputs_.size()) + (inputs_.size() == 1 ? " input" : " inputs");
  if (input < inputs_.size()) {
    got = arguments_.inputs[input].type == HEARTH_ARRAY ? "a zero handle" : "nothing";
  }
  refuse_call(function_, input_name(function_, input) + ": missing; got " + got +
                             ", expected an array or a number");
}

const Array& Call::input() {
  const Array& array = input_or_none();
  if (!array.defined()) missing_input();
  return array;
}

const Array& Call::input_or_none() {
  const Input* const input = next_input();
  if (input == nullptr) return no_array();
  if (input->quantized != nullptr) {
    refuse_quantized(function_.name, input_name(function_, next_input_ - 1).c_str());
  }
  return input->array == nullptr ? no_array() : *input->array;
}

std::vector<Array> Call::inputs() {
  std::vector<Array> all;
  if (next_input_ < inputs_.size()) all.reserve(inputs_.size() - next_input_);
  while (next_input_ < inputs_.size()) all.push_back(input());
  return all;
}

const QuantizedArray& Call::quantized_input() {
  const Input* const input = next_input();
  if (input == nullptr || (input->quantized == nullptr && input->array == nullptr)) missing_input();
  if (input->quantized == nullptr) {
    throw Error(ErrorCode::dtype, std::string(function_.name) + ": " +
                                      input_name(function_, next_input_ - 1) +
                                      ": wrong kind of array; got one that is not quantized, "
                                      "expected one that is, beside another");
  }
  return *input->quantized;
}

std::vector<QuantizedArray> Call::quantized_inputs() {
  std::vector<QuantizedArray> all;
  while (next_input_ < inputs_.size()) all.push_back(quantized_input());
  return all;
}

bool Call::has_quantized_inputs() const {
  return std::any_of(inputs_.begin(), inputs_.end(),
                     [](const Input& input) { return input.quantized != nullptr; });
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

void Call::refuse_without(const char* other, const char* name) {
  if (!has(name)) return;
  refuse_call(function_, std::string(name) + ": no meaning without " + other +
                             "; got it alone, expected both or neither");
}

void Call::done() const {
  if (next_input_ < inputs_.size()) {
    refuse_call(function_, "too many inputs; got " + std::to_string(inputs_.size()) +
                               ", expected " + std::to_string(next_input_) + " at most");
  }
  for (std::size_t i = 0; i < arguments_.parameters.size(); ++i) {
    if ((parameters_read_ >> i & 1) != 0) continue;
    refuse_call(function_, "no such parameter, or given twice; got " +
                               quoted(arguments_.parameters[i].name) + ", expected those of " +
                               function_.signature);
  }
}

}  // namespace hearth::c_api
