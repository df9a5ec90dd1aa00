#include "tools/check/kernel_values.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <limits>
#include <optional>
#include <string_view>

#include "codegen/value_types.h"
#include "core/float_limits.h"
#include "hearth/dtype.h"
#include "hearth/error.h"
#include "io/file.h"

namespace hearth::tools {
namespace {

constexpr std::int64_t kMaxBytes = std::int64_t{1} << 30;

class Values {
 public:
  Values(const std::string& argument, const std::string& type)
      : argument_(argument), type_(type), expected_(gpu::named_numbers(type)) {}

  void add(std::string_view part) {
    const std::size_t colon = part.find(':');
    const std::string_view value =
        colon == std::string_view::npos ? std::string_view() : part.substr(colon + 1);
    std::string_view type = part.substr(0, colon);
    const std::size_t bracket = type.find('[');
    std::int64_t count = 1;
    const bool is_array = bracket != std::string_view::npos;
    if (is_array) {
      const std::string_view digits = type.substr(bracket + 1);
      if (!digits.ends_with(']')) refuse(part);
      count = number<std::int64_t>(digits.substr(0, digits.size() - 1), part);
      type = type.substr(0, bracket);
    } else if (value.empty()) {
      refuse(part);
    }
    DType dtype = DType::f32;
    try {
      dtype = dtype_from_name(type);
    } catch (const Error&) {
      refuse(part);
    }
    if (expected_ && !gpu::holds(expected_->dtype, dtype)) {
      throw Error(ErrorCode::invalid_argument,
                  "check-kernel: the value of " + argument_ + " has another dtype; got \"" +
                      std::string(part) + "\" for " + type_ + ", expected " +
                      std::string(name(expected_->dtype)));
    }
    const std::int64_t size = size_of(dtype);
    if (count < 0 || count > (kMaxBytes - static_cast<std::int64_t>(bytes_.size())) / size) {
      refuse(part);
    }
    bytes_.resize((bytes_.size() + static_cast<std::size_t>(size) - 1) /
                  static_cast<std::size_t>(size) * static_cast<std::size_t>(size));
    if (is_array) {
      fill(dtype, count, value.empty() ? "random" : value, part);
    } else if (is_float(dtype)) {
      const double given = number<double>(value, part);
      if (std::isfinite(given) && std::abs(given) > largest_finite(dtype))
        refuse_number(dtype, part);
      append(dtype, given);
    } else if (dtype == DType::u64) {
      append_bytes(number<std::uint64_t>(value, part), 8);
    } else {
      const auto given = number<std::int64_t>(value, part);
      const bool is_signed = info(dtype).is_signed;
      const std::int64_t bits = is_bool(dtype) ? 1 : 8 * size - (is_signed ? 1 : 0);
      const std::int64_t last =
          bits >= 63 ? std::numeric_limits<std::int64_t>::max() : (std::int64_t{1} << bits) - 1;
      if (given > last || given < (is_signed ? -last - 1 : 0)) refuse_number(dtype, part);
      append_integer(dtype, given);
    }
  }

  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  [[noreturn]] void refuse_number(DType dtype, std::string_view part) const {
    throw Error(ErrorCode::invalid_argument,
                "check-kernel: the value of " + argument_ + " is out of range; got \"" +
                    std::string(part) + "\", expected a number of " + std::string(name(dtype)));
  }
  [[noreturn]] void refuse(std::string_view part) const {
    throw Error(ErrorCode::invalid_argument,
                "check-kernel: the value of " + argument_ + " has another form; got \"" +
                    std::string(part) +
                    "\", expected TYPE:VALUE, TYPE[COUNT], or TYPE[COUNT] with :random, :zeros, "
                    ":ones, :iota or :poison, such as f32[1024]:zeros; at most 1 GB");
  }

  template <class T>
  T number(std::string_view text, std::string_view part) const {
    T value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) refuse(part);
    return value;
  }

  template <class T>
  void append_bytes(T value, std::int64_t count) {
    const auto* const begin = reinterpret_cast<const std::byte*>(&value);
    bytes_.insert(bytes_.end(), begin, begin + count);
  }
  // The low bytes, on machines that have those first.
  void append_integer(DType dtype, std::int64_t value) { append_bytes(value, size_of(dtype)); }
  void append(DType dtype, double value) {
    switch (dtype) {
      case DType::f64:
        return append_bytes(value, 8);
      case DType::f32:
        return append_bytes(static_cast<float>(value), 4);
      case DType::f16:
        return append_bytes(float16(static_cast<float>(value)).bits, 2);
      case DType::bf16:
        return append_bytes(bfloat16(static_cast<float>(value)).bits, 2);
      default:
        return append_integer(dtype, static_cast<std::int64_t>(value));
    }
  }

  void fill(DType dtype, std::int64_t count, std::string_view how, std::string_view part) {
    if (how == "poison") {
      bytes_.resize(bytes_.size() + static_cast<std::size_t>(count * size_of(dtype)), kPoison);
      return;
    }
    if (how != "random" && how != "zeros" && how != "ones" && how != "iota") refuse(part);
    for (std::int64_t i = 0; i < count; ++i) {
      double value = how == "ones" ? 1 : how == "iota" ? static_cast<double>(i) : 0;
      if (how == "random") {
        state_ = state_ * 6364136223846793005u + 1442695040888963407u;
        const auto bits = static_cast<double>(state_ >> 40);  // 24 of them
        value = is_float(dtype) ? bits / (1 << 23) - 1 : static_cast<double>(state_ >> 60);
      }
      append(dtype, is_bool(dtype) && value != 0 ? 1 : value);
    }
  }

  const std::string& argument_;
  const std::string& type_;
  const std::optional<gpu::NumberType> expected_;
  std::vector<std::byte> bytes_;
  std::uint64_t state_ = 1;
};

}  // namespace

std::vector<std::byte> values_of(const std::string& description, const std::string& argument,
                                 const std::string& type) {
  if (description.starts_with('@')) {
    const std::string path = description.substr(1);
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(path, ignored)) {
      throw Error(ErrorCode::io, "check-kernel: cannot read the value of " + argument + "; got '" +
                                     path + "', expected a regular file");
    }
    return io::read_file(path, kMaxBytes);
  }
  Values values(argument, type);
  for (std::size_t at = 0; at <= description.size();) {
    const std::size_t end = std::min(description.find(',', at), description.size());
    values.add(std::string_view(description).substr(at, end - at));
    at = end + 1;
  }
  return values.take();
}

}  // namespace hearth::tools
