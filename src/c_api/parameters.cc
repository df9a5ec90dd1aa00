// What C gives for a parameter, as C++ takes it.
#include <string>

#include "c_api/call.h"
#include "core/quoted.h"

namespace hearth::c_api {
namespace {

const char* type_name(std::int32_t type) {
  constexpr const char* kNames[] = {"nothing",           "an array", "a flag",
                                    "an integer",        "a number", "a list of integers",
                                    "a list of numbers", "a string"};
  return type >= 0 && static_cast<std::size_t>(type) < std::size(kNames)
             ? kNames[type]
             : "a value of no known type";
}

}  // namespace

void Call::refuse(const char* name, const hearth_value& value, const char* expected) const {
  throw Error(ErrorCode::invalid_argument,
              std::string(function_.name) + ": " + name +
                  (value.type == HEARTH_NONE ? ": missing; got " : ": wrong type; got ") +
                  type_name(value.type) + ", expected " + expected);
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
  return span_of(value.as.integers, value.count, function_.name, name);
}

void Call::convert(const char* name, const hearth_value& value, Dims& target) const {
  const std::span<const std::int64_t> all = integers(name, value);
  if (all.size() > static_cast<std::size_t>(kMaxRank)) {
    throw Error(ErrorCode::shape, std::string(function_.name) + ": " + name + ": too long; got " +
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
    const auto all = span_of(value.as.numbers, value.count, function_.name, name);
    target.assign(all.begin(), all.end());
  } else {
    refuse(name, value, "a list of numbers");
  }
}

void Call::convert(const char* name, const hearth_value& value, std::vector<Slice>& target) const {
  if (value.type != HEARTH_INTS || value.count % 3 != 0) {
    refuse(name, value, "a list of integers, three for each axis");
  }
  const auto all = span_of(value.as.integers, value.count, function_.name, name);
  target.clear();
  for (std::size_t i = 0; i < all.size(); i += 3) {
    Slice slice{all[i], all[i + 1], all[i + 2]};
    if (all[i + 1] == HEARTH_TO_END) slice.end.reset();
    target.push_back(slice);
  }
}

void Call::convert(const char* name, const hearth_value& value, std::string_view& target) const {
  if (value.type != HEARTH_STRING) refuse(name, value, "a string");
  require_pointer(value.as.string, function_.name, name);
  target = value.as.string;
}

void Call::convert(const char* name, const hearth_value& value, DType& target) const {
  if (value.type == HEARTH_STRING) {
    std::string_view text;
    convert(name, value, text);
    target = dtype_from_name(text);
  } else if (value.type == HEARTH_INT) {
    target = dtype_of(value.as.integer, function_.name);
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
    target = device_of(value.as.integer, function_.name);
  } else {
    refuse(name, value, "a device");
  }
}

void Call::convert(const char* name, const hearth_value& value, Array& target) const {
  if (value.type != HEARTH_ARRAY) refuse(name, value, "an array");
  if (value.as.array.id == 0) return;
  target = plain(value.as.array, function_.name, name);
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
  throw Error(ErrorCode::invalid_argument, std::string(function_.name) + ": " + name +
                                               ": no such value; got " + quoted(word) +
                                               ", expected one of " + expected);
}

}  // namespace hearth::c_api
