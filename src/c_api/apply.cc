#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "c_api/call.h"
#include "c_api/functions.h"
#include "c_api/status.h"
#include "core/require.h"
#include "hearth/c_api.h"
#include "hearth/grad.h"
#include "hearth/quantization/flow.h"

namespace hearth::c_api {
namespace {

// Null where there is none of that number.
const Function* find(hearth_function function) {
  const std::span<const Function> all = functions();
  return function == 0 || function > all.size() ? nullptr : &all[function - 1];
}

const Function& function_of(hearth_function function, const char* caller) {
  const Function* const found = find(function);
  if (found == nullptr) {
    throw Error(ErrorCode::invalid_argument, std::string(caller) + ": no such function; got " +
                                                 std::to_string(function) +
                                                 ", expected one of hearth_function_named()");
  }
  return *found;
}

Arguments arguments_of(const hearth_value* inputs, std::size_t input_count,
                       const hearth_parameter* parameters, std::size_t parameter_count,
                       const char* caller) {
  return {span_of(inputs, input_count, caller, "inputs"),
          span_of(parameters, parameter_count, caller, "parameters")};
}

void require_room(std::size_t count, std::size_t capacity, const char* caller) {
  if (count <= capacity) return;
  throw Error(ErrorCode::invalid_argument, std::string(caller) + ": no room for the results; got " +
                                               std::to_string(capacity) + ", expected " +
                                               std::to_string(count));
}

// Gives all handles, with their descriptions where `infos` is not null. Where it throws `results`
// are as they were: handles wait until there are all.
void give_all(std::span<Value> values, hearth_array* results, hearth_array_info* infos) {
  const auto is_there = [](const Value& value) {
    return value.array.defined() || value.quantized != nullptr;
  };
  for (std::size_t i = 0; infos != nullptr && i < values.size(); ++i) {
    if (is_there(values[i])) describe(values[i], infos[i]);
  }
  std::array<hearth_array, 8> few;
  std::vector<hearth_array> many(values.size() > few.size() ? values.size() : 0);
  hearth_array* const handles = many.empty() ? few.data() : many.data();
  std::size_t given = 0;
  try {
    for (; given < values.size(); ++given) {
      Value& value = values[given];
      handles[given] = is_there(value) ? give(std::move(value)) : hearth_array{0};
    }
  } catch (...) {
    while (given > 0) Arrays::release(handles[--given].id, "hearth_apply", "results");
    throw;
  }
  std::copy_n(handles, given, results);
}

// All array inputs, as flow() takes them.
std::vector<FloatOrQuantized> operands_of(const Function& function, const Arguments& arguments) {
  std::vector<FloatOrQuantized> operands;
  for (std::size_t i = 0; i < arguments.inputs.size(); ++i) {
    if (!is_array(arguments.inputs[i])) continue;
    const Arrays::Use used = use_input(function, arguments, i);
    if (used->quantized != nullptr) {
      operands.emplace_back(*used->quantized);
    } else {
      operands.emplace_back(used->array);
    }
  }
  return operands;
}

// The results of a function of which an input is quantized, and that moves no codes: inputs are
// dequantized, and results quantized again where the first of them propagates.
std::vector<Value> flow(const Function& function, const Arguments& arguments) {
  const std::vector<FloatOrQuantized> operands = operands_of(function, arguments);
  const std::vector<Array> floats = dequantized(operands);
  Call call(function, arguments, floats);
  function.call(call);
  std::vector<Value> results;
  for (const Value& made : call.results()) {
    FloatOrQuantized flown = flowed(made.array, operands);
    if (auto* const again = std::get_if<QuantizedArray>(&flown)) {
      results.push_back({Array(), std::make_shared<const QuantizedArray>(std::move(*again))});
    } else {
      results.push_back(made);
    }
  }
  return results;
}

}  // namespace
}  // namespace hearth::c_api

namespace c_api = hearth::c_api;
using c_api::guarded;

extern "C" {

hearth_function hearth_function_named(const char* name) {
  if (name == nullptr) return 0;
  const auto all = c_api::functions();
  const auto at = std::lower_bound(
      all.begin(), all.end(), name,
      [](const c_api::Function& one, const char* key) { return std::strcmp(one.name, key) < 0; });
  if (at == all.end() || std::strcmp(at->name, name) != 0) return 0;
  return static_cast<hearth_function>(at - all.begin()) + 1;
}

uint32_t hearth_function_count(void) { return static_cast<uint32_t>(c_api::functions().size()); }

const char* hearth_function_name(hearth_function function) {
  const c_api::Function* const found = c_api::find(function);
  return found == nullptr ? nullptr : found->name;
}

const char* hearth_function_signature(hearth_function function) {
  const c_api::Function* const found = c_api::find(function);
  return found == nullptr ? nullptr : found->signature;
}

hearth_status hearth_apply(hearth_function function, const hearth_value* inputs, size_t input_count,
                           const hearth_parameter* parameters, size_t parameter_count,
                           hearth_array* results, hearth_array_info* infos, size_t capacity,
                           size_t* count) {
  return guarded(__func__, [&, caller = __func__] {
    const c_api::Function& called = c_api::function_of(function, caller);
    const c_api::Arguments arguments =
        c_api::arguments_of(inputs, input_count, parameters, parameter_count, caller);
    if (capacity > 0) c_api::require_pointer(results, caller, "results");
    c_api::Call call(called, arguments);
    std::vector<c_api::Value> flown;
    std::span<c_api::Value> made;
    if (!call.has_quantized_inputs()) {
      called.call(call);
      made = call.results();
    } else if (called.move != nullptr) {
      called.move(call);
      made = call.results();
    } else {
      flown = c_api::flow(called, arguments);
      made = flown;
    }
    if (count != nullptr) *count = made.size();
    c_api::require_room(made.size(), capacity, caller);
    c_api::give_all(made, results, infos);
  });
}

hearth_status hearth_apply_vjp(hearth_function function, const hearth_value* inputs,
                               size_t input_count, const hearth_parameter* parameters,
                               size_t parameter_count, size_t result, hearth_array gradient,
                               hearth_array* results, size_t capacity) {
  return guarded(__func__, [&, caller = __func__] {
    const c_api::Function& called = c_api::function_of(function, caller);
    const c_api::Arguments arguments =
        c_api::arguments_of(inputs, input_count, parameters, parameter_count, caller);
    c_api::require_room(input_count, capacity, caller);
    c_api::require_pointer(results, caller, "results");
    // All arrays, and which inputs those are that have gradients.
    std::vector<hearth::Array> arrays, operands;
    std::vector<std::size_t> places, inputs_of_operands;
    for (std::size_t i = 0; i < input_count; ++i) {
      if (!c_api::is_array(arguments.inputs[i])) continue;
      const auto used = c_api::use_input(called, arguments, i);
      if (used->quantized != nullptr) {
        c_api::refuse_quantized(called.name, c_api::input_name(called, i).c_str());
      }
      arrays.push_back(used->array);
      if (!hearth::is_float(arrays.back().dtype())) continue;
      operands.push_back(arrays.back());
      places.push_back(arrays.size() - 1);
      inputs_of_operands.push_back(i);
    }
    const auto f = [&](std::span<const hearth::Array> substitutes) {
      for (std::size_t i = 0; i < places.size(); ++i) arrays[places[i]] = substitutes[i];
      c_api::Call call(called, arguments, arrays);
      called.call(call);
      const std::span<c_api::Value> made = call.results();
      hearth::require_in_range(result < made.size(), caller, "result", result,
                               "the number of one of " + std::to_string(made.size()));
      return made[result].array;
    };
    const hearth::Array of_result = c_api::plain(gradient, caller, "gradient");
    std::vector<hearth::Array> gradients = hearth::vjp(f, operands, of_result);
    std::vector<c_api::Value> of_inputs(input_count);
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      of_inputs[inputs_of_operands[i]].array = std::move(gradients[i]);
    }
    c_api::give_all(of_inputs, results, nullptr);
  });
}

}  // extern "C"
