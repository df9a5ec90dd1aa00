#include "kernels/user/kernel_parameters.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <utility>

#include "codegen/msl/parameters.h"
#include "codegen/value_types.h"

namespace hearth::gpu {
namespace {

std::string declared(const UserParameter& parameter) {
  if (parameter.is_value) return "constant " + parameter.type + "& " + parameter.name;
  return (parameter.is_written ? "device " : "device const ") + parameter.type + "* " +
         parameter.name;
}

std::string all_declared(std::span<const UserParameter> parameters) {
  std::string all;
  for (const UserParameter& each : parameters) all += (all.empty() ? "" : ", ") + declared(each);
  return "(" + all + ")";
}

std::string called(std::span<const std::string> names, int number, const char* what) {
  const auto at = static_cast<std::size_t>(number);
  return std::string(what) + " " + std::to_string(number) +
         (at < names.size() ? " ('" + names[at] + "')" : "");
}

// Hands out inputs, or results: by name, or one after the other.
class Operands {
 public:
  Operands(std::span<const std::string> names, std::span<const int> numbers, const char* what,
           const char* form)
      : names_(names), numbers_(numbers), what_(what), form_(form), taken_(numbers.size(), false) {}

  int take(const UserParameter& parameter) {
    std::size_t at = 0;
    if (names_.empty()) {
      at = next_++;
    } else {
      while (at < numbers_.size() && name_of(at) != parameter.name) ++at;
    }
    if (at >= numbers_.size()) {
      const auto absent = std::find(names_.begin(), names_.end(), parameter.name);
      if (absent != names_.end()) {
        refuse(called(names_, static_cast<int>(absent - names_.begin()), what_) +
               " was not given; got " + declared(parameter) +
               ", expected a call with it, or an entry point without that parameter");
      }
      refuse("a parameter gets nothing; got " + declared(parameter) + " and " +
             std::to_string(numbers_.size()) + " " + what_ + (numbers_.size() == 1 ? "" : "s") +
             ", expected " + (names_.empty() ? "one more" : "one of that name") +
             (parameter.is_value ? ", or a constant of KernelLaunch" : ""));
    }
    if (taken_[at]) refuse("two parameters are called " + parameter.name);
    taken_[at] = true;
    return static_cast<int>(at);
  }
  void check_all_are_taken(std::span<const UserParameter> parameters) const {
    const auto left = std::find(taken_.begin(), taken_.end(), false);
    if (left == taken_.end()) return;
    const auto at = static_cast<std::size_t>(left - taken_.begin());
    refuse("no parameter takes " + called(names_, numbers_[at], what_) + "; got " +
           all_declared(parameters) + ", expected " + form_ + " for it");
  }

 private:
  const std::string& name_of(std::size_t at) const {
    static const std::string kNone;
    const auto number = static_cast<std::size_t>(numbers_[at]);
    return number < names_.size() ? names_[number] : kNone;
  }

  std::span<const std::string> names_;
  std::span<const int> numbers_;
  const char* what_;
  const char* form_;
  std::vector<bool> taken_;
  std::size_t next_ = 0;
};

std::vector<int> counting(std::size_t count) {
  std::vector<int> numbers(count);
  for (std::size_t i = 0; i < count; ++i) numbers[i] = static_cast<int>(i);
  return numbers;
}

template <class T>
std::vector<std::byte> bytes_of(const T& value) {
  std::vector<std::byte> bytes(sizeof(T));
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

// The value as an integer of the dtype; fails beyond its range.
template <class T>
std::vector<std::byte> integer_bytes(const UserParameter& parameter, DType dtype, T value) {
  const auto bits = static_cast<int>(size_of(dtype) * 8);
  const bool is_signed = info(dtype).is_signed;
  // From -low to high.
  const std::uint64_t high = is_bool(dtype) ? 1 : ~std::uint64_t{0} >> (64 - bits + is_signed);
  const std::uint64_t low = is_signed ? high + 1 : 0;
  bool is_held = false;
  std::uint64_t held = 0;
  if constexpr (std::is_floating_point_v<T>) {
    // high + 1 is a power of two, which a double holds where it may not hold `high`.
    is_held = value >= -static_cast<double>(low) && value < 2 * static_cast<double>(high / 2 + 1);
    if (is_held) {
      held = value < 0 ? static_cast<std::uint64_t>(static_cast<std::int64_t>(value))
                       : static_cast<std::uint64_t>(value);
    }
  } else {
    held = static_cast<std::uint64_t>(value);
    is_held = std::cmp_less(value, 0) ? ~held < low : held <= high;
  }
  if (!is_held) {
    refuse("a constant is out of range; got " + std::to_string(value) + ", expected what " +
           declared(parameter) + " holds");
  }
  std::vector<std::byte> bytes = bytes_of(held);
  bytes.resize(static_cast<std::size_t>(size_of(dtype)));  // little-endian
  return bytes;
}

// Rounded to odd, so that a second rounding to a half gives what one rounding would have.
float odd_float(double value) {
  const auto nearest = static_cast<float>(value);
  if (static_cast<double>(nearest) == value || std::isnan(value)) return nearest;
  const float below = std::abs(nearest) > std::abs(value) ? std::nextafter(nearest, 0.0f) : nearest;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(below) | 1u);
}
template <class Integer>
float odd_float(Integer value) {
  const auto word = static_cast<std::uint64_t>(value);
  const bool is_negative = std::cmp_less(value, 0);
  std::uint64_t digits = is_negative ? 0 - word : word;
  int dropped = 0;
  for (; digits >> 24 != 0; ++dropped) digits = digits >> 1 | (digits & 1);
  const float magnitude = std::ldexp(static_cast<float>(digits), dropped);
  return is_negative ? -magnitude : magnitude;
}

// The value as a float of the dtype, rounded once.
template <class T>
std::vector<std::byte> float_bytes(DType dtype, T value) {
  if (dtype == DType::f64) return bytes_of(static_cast<double>(value));
  if (dtype == DType::f16) return bytes_of(float16(odd_float(value)));
  if (dtype == DType::bf16) return bytes_of(bfloat16(odd_float(value)));
  return bytes_of(static_cast<float>(value));
}

// The dtype of a parameter that is a plain number: vectors are none.
std::optional<DType> plain_dtype(const std::string& type) {
  const std::optional<NumberType> named = named_numbers(type);
  return named && named->lanes == 1 ? std::optional(named->dtype) : std::nullopt;
}

}  // namespace

void refuse(const std::string& what) { throw Error(ErrorCode::invalid_argument, what); }

std::vector<UserParameter> user_parameters(const MetalText& text, const MetalEntry& entry) {
  std::vector<MetalParameter> passed = parameters_of(text, entry);
  std::erase_if(passed, [](const MetalParameter& parameter) {
    return parameter.kind == MetalParameter::Kind::position ||
           parameter.kind == MetalParameter::Kind::threadgroup || parameter.is_absent;
  });
  std::sort(passed.begin(), passed.end(),
            [](const auto& a, const auto& b) { return a.index < b.index; });
  std::vector<UserParameter> all;
  for (const MetalParameter& each : passed) {
    all.push_back(
        {each.name, each.type, !each.is_const, each.kind == MetalParameter::Kind::constant});
  }
  return all;
}

std::vector<UserParameter> user_parameters(const runtime::KernelSource& source) {
  using Use = runtime::KernelParameter::Kind;
  const auto types = value_types(source);
  std::vector<UserParameter> all;
  for (const runtime::KernelParameter& each : source.parameters) {
    const auto type = types.find(each.name);
    if (each.kind == Use::threadgroup || type == types.end()) continue;  // hearth_grid has none
    all.push_back({each.name, type->second, each.kind == Use::write || each.kind == Use::read_write,
                   each.kind == Use::constant});
  }
  return all;
}

std::vector<Slot> slots_of(const CustomOpSpec& spec, std::span<const UserParameter> parameters,
                           const OperandTypes& types, const KernelLaunch& launch) {
  const std::vector<int> results = counting(types.outputs.size());
  Operands inputs(spec.input_names, types.numbers, "input", "device const T* or constant T&");
  Operands outputs(spec.output_names, results, "result", "device T*");
  std::vector<bool> used(launch.constants.size(), false);
  std::vector<Slot> slots;
  for (const UserParameter& parameter : parameters) {
    const auto constant =
        std::find_if(launch.constants.begin(), launch.constants.end(),
                     [&](const KernelConstant& each) { return each.name == parameter.name; });
    if (parameter.is_value && constant != launch.constants.end()) {
      const auto at = static_cast<std::size_t>(constant - launch.constants.begin());
      used[at] = true;
      slots.push_back({Slot::From::constant, static_cast<int>(at)});
    } else if (parameter.is_written) {
      slots.push_back({Slot::From::output, outputs.take(parameter)});
    } else {
      slots.push_back({Slot::From::input, inputs.take(parameter)});
    }
  }
  inputs.check_all_are_taken(parameters);
  outputs.check_all_are_taken(parameters);
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (used[i]) continue;
    refuse("no parameter takes a constant of KernelLaunch; got '" + launch.constants[i].name +
           "' and " + all_declared(parameters) + ", expected constant T& for it");
  }
  return slots;
}

void check_parameters(const CustomOpSpec& spec, std::span<const UserParameter> parameters) {
  const auto count = [&](auto is_wanted) {
    return static_cast<int>(std::count_if(parameters.begin(), parameters.end(), is_wanted));
  };
  const int written = count([](const UserParameter& each) { return each.is_written; });
  const int values = count([](const UserParameter& each) { return each.is_value; });
  const int read = static_cast<int>(parameters.size()) - written - values;
  const std::string got = "; got " + all_declared(parameters) + ", expected ";
  if (written != spec.outputs) {
    refuse("a kernel writes each result" + got + std::to_string(spec.outputs) + " of device T*");
  }
  if (read + values < spec.min_inputs) {
    refuse("no parameter takes " + called(spec.input_names, read + values, "input") + got +
           std::to_string(spec.min_inputs) + " of device const T* or constant T&");
  }
  // Constants of the launch are known when it is.
  const int inputs = spec.launch == nullptr ? read + values : read;
  if (inputs > spec.max_inputs) {
    refuse("more parameters are read than the op has inputs" + got + "at most " +
           std::to_string(spec.max_inputs) + " of device const T* or constant T&");
  }
}

void check_types(std::span<const UserParameter> parameters, std::span<const Slot> slots,
                 const OperandTypes& types) {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Slot& slot = slots[i];
    if (slot.from == Slot::From::constant) continue;
    const auto at = static_cast<std::size_t>(slot.number);
    const bool is_input = slot.from == Slot::From::input;
    const TensorType& operand = is_input ? types.inputs[at] : types.outputs[at];
    const std::string what = is_input ? "input " + std::to_string(types.numbers[at])
                                      : "result " + std::to_string(slot.number);
    const std::optional<DType> dtype = plain_dtype(parameters[i].type);
    if (!dtype) {
      refuse("the type of a parameter is no number's; got " + declared(parameters[i]) + " for " +
             what + " of " + std::string(name(operand.dtype)) + ", expected float and its like");
    }
    if (!gpu::holds(*dtype, operand.dtype)) {
      throw Error(ErrorCode::dtype, what + " has another dtype than its parameter; got " +
                                        std::string(name(operand.dtype)) + ", expected " +
                                        std::string(name(*dtype)) + " for " +
                                        declared(parameters[i]));
    }
    if (parameters[i].is_value && element_count(operand.shape) != 1) {
      throw Error(ErrorCode::shape, what + " is more than a number; got " +
                                        to_string(operand.shape) + ", expected one element for " +
                                        declared(parameters[i]));
    }
  }
}

std::vector<std::byte> constant_bytes(const UserParameter& parameter,
                                      const KernelConstant& constant) {
  if (const auto* bytes = std::get_if<std::vector<std::byte>>(&constant.value)) {
    if (const auto dtype = plain_dtype(parameter.type);
        dtype && size_of(*dtype) != static_cast<std::int64_t>(bytes->size())) {
      refuse("a constant has another size; got " + std::to_string(bytes->size()) +
             " bytes, expected " + std::to_string(size_of(*dtype)) + " for " + declared(parameter));
    }
    return *bytes;
  }
  const std::optional<DType> dtype = plain_dtype(parameter.type);
  if (!dtype) {
    refuse("a constant is no number; got one for " + declared(parameter) +
           ", expected a struct of its layout");
  }
  const auto bytes = [&]<class T>(const T& value) -> std::vector<std::byte> {
    if constexpr (std::is_arithmetic_v<T>) {
      if (is_float(*dtype)) return float_bytes(*dtype, value);
      if constexpr (std::is_floating_point_v<T>) {
        if (!std::isfinite(value) || value != std::trunc(value)) {
          refuse("a constant is no integer; got " + std::to_string(value) + ", expected one for " +
                 declared(parameter));
        }
      }
      return integer_bytes(parameter, *dtype, value);
    } else {
      return value;
    }
  };
  return std::visit(bytes, constant.value);
}

}  // namespace hearth::gpu
