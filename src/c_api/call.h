// One call of a function by C: its inputs and parameters as C++ takes them, and its results.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "c_api/functions.h"
#include "c_api/objects.h"
#include "hearth/c_api.h"
#include "hearth/ops.h"

namespace hearth::c_api {

// What a call says, as hearth_apply() takes it.
struct Arguments {
  std::span<const hearth_value> inputs;
  std::span<const hearth_parameter> parameters;
};

// Whether an input stands for an array: not a number, and not one that is left out.
inline bool is_array(const hearth_value& input) {
  return input.type == HEARTH_ARRAY && input.as.array.id != 0;
}
// How messages name an input: "input 1 (b)".
std::string input_name(const Function& function, std::size_t input);
// The array of an input that is one. Throws InvalidHandle.
inline Arrays::Use use_input(const Function& function, const Arguments& arguments,
                             std::size_t input) {
  const std::uint64_t id = arguments.inputs[input].as.array.id;
  Arrays::Use found = Arrays::find(id);
  if (!found) [[unlikely]] {
    throw InvalidHandle(HandleKind::array, id, function.name, input_name(function, input).c_str());
  }
  return found;
}

// The names of an enum's values, from 0; defined beside the functions that take it.
template <class E>
std::span<const char* const> names_of();

// Reads in any order, then done(), then the function itself, then give(). Everything throws Error
// and InvalidHandle.
class Call {
 public:
  // `arguments` outlives the call. `substitutes`, one for each of its inputs that is an array, in
  // order, stand in their places.
  Call(const Function& function, const Arguments& arguments,
       std::span<const Array> substitutes = {});

  // The next input.
  const Array& input();
  const Array& input_or_none();  // undefined where it is not given
  // All that are left.
  std::vector<Array> inputs();
  // The same of inputs that are quantized.
  const QuantizedArray& quantized_input();
  std::vector<QuantizedArray> quantized_inputs();
  // Whether one of all inputs is quantized.
  bool has_quantized_inputs() const;

  // Whether a parameter is given; HEARTH_NONE is not.
  bool has(const char* name) { return take(name) != nullptr; }
  // Leaves `target` as it is where the parameter is not given.
  template <class T>
  void read(const char* name, T& target) {
    if (const hearth_value* value = take(name)) convert(name, *value, target);
  }
  template <class T>
  void require(const char* name, T& target) {
    static constexpr hearth_value kNone = {};
    const hearth_value* value = take(name);
    convert(name, value == nullptr ? kNone : *value, target);
  }
  // Throws where a parameter is given that has no meaning without `other`, which is not given.
  void refuse_without(const char* other, const char* name);
  // Throws where something was given that nothing has read.
  void done() const;

  template <class Result>
  void give(Result&& result) {
    using Plain = std::remove_cvref_t<Result>;
    if constexpr (std::is_same_v<Plain, Array>) {
      few_results_[0].array = std::forward<Result>(result);
      result_count_ = 1;
    } else if constexpr (std::is_same_v<Plain, QuantizedArray>) {
      few_results_[0].quantized =
          std::make_shared<const QuantizedArray>(std::forward<Result>(result));
      result_count_ = 1;
    } else if constexpr (std::is_same_v<Plain, std::vector<Array>>) {
      for (const Array& each : result) many_results_.push_back({each, nullptr});
      result_count_ = many_results_.size();
    } else {
      static_assert(std::tuple_size_v<Plain> <= kMostResults);
      std::apply(
          [this](auto&&... each) {
            ((few_results_[result_count_++].array = std::move(each)), ...);
          },
          std::forward<Result>(result));
    }
  }
  std::span<Value> results() {
    return {many_results_.empty() ? few_results_.data() : many_results_.data(), result_count_};
  }

 private:
  static constexpr std::size_t kMostResults = 4, kInPlace = 4, kMostParameters = 64;

  // An input: an array by its handle, a number as an array, or neither.
  struct Input {
    const Array* array = nullptr;
    const QuantizedArray* quantized = nullptr;
    Arrays::Use use;
    Array number;
  };
  const Input* next_input();                // null where there are no more
  [[noreturn]] void missing_input() const;  // the last that next_input() gave

  // Of a parameter that is given, which is read then; null for others.
  const hearth_value* take(const char* name) noexcept;
  [[noreturn]] void refuse(const char* name, const hearth_value& value, const char* expected) const;

  void convert(const char* name, const hearth_value& value, bool& target) const;
  void convert(const char* name, const hearth_value& value, std::int64_t& target) const;
  void convert(const char* name, const hearth_value& value, double& target) const;
  void convert(const char* name, const hearth_value& value, Dims& target) const;
  void convert(const char* name, const hearth_value& value,
               std::vector<std::int64_t>& target) const;
  void convert(const char* name, const hearth_value& value, std::vector<double>& target) const;
  void convert(const char* name, const hearth_value& value, std::vector<Slice>& target) const;
  void convert(const char* name, const hearth_value& value, std::string_view& target) const;
  void convert(const char* name, const hearth_value& value, DType& target) const;
  void convert(const char* name, const hearth_value& value, Device& target) const;
  void convert(const char* name, const hearth_value& value, Array& target) const;
  void convert(const char* name, const hearth_value& value, AllAxes& target) const;
  template <class T>
  void convert(const char* name, const hearth_value& value, std::optional<T>& target) const {
    T some{};
    convert(name, value, some);
    target = std::move(some);
  }
  template <class E>
    requires std::is_enum_v<E>
  void convert(const char* name, const hearth_value& value, E& target) const {
    target = static_cast<E>(index_of_name(name, value, names_of<E>()));
  }
  std::size_t index_of_name(const char* name, const hearth_value& value,
                            std::span<const char* const> names) const;
  std::span<const std::int64_t> integers(const char* name, const hearth_value& value) const;

  const Function& function_;
  const Arguments& arguments_;
  std::array<Input, kInPlace> few_inputs_;
  std::vector<Input> many_inputs_;
  std::span<Input> inputs_;
  std::size_t next_input_ = 0;
  std::uint64_t parameters_read_ = 0;  // bit i: parameter i
  std::array<Value, kMostResults> few_results_;
  std::vector<Value> many_results_;
  std::size_t result_count_ = 0;
};

}  // namespace hearth::c_api
