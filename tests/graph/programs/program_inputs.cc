// What random programs read: inputs, numbers, random shapes and dtypes.
#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/programs/program_maker.h"

namespace hearth::testing {
namespace {

// Appends `value` as one element.
void store(std::vector<std::byte>& bytes, DType dtype, double value) {
  const auto put = [&bytes]<class T>(T element) {
    const auto* raw = reinterpret_cast<const std::byte*>(&element);
    bytes.insert(bytes.end(), raw, raw + sizeof(T));
  };
  const auto whole =
      static_cast<std::int64_t>(std::abs(value) < 9.3e18 ? std::clamp(value, -9.2e18, 9.2e18) : 0);
  switch (dtype) {
    case DType::f64:
      return put(value);
    case DType::f32:
      return put(static_cast<float>(value));
    case DType::f16:
      return put(float16(static_cast<float>(value)));
    case DType::bf16:
      return put(bfloat16(static_cast<float>(value)));
    case DType::i64:
    case DType::u64:
      return put(whole);
    case DType::i32:
    case DType::u32:
      return put(static_cast<std::int32_t>(whole));
    case DType::i16:
    case DType::u16:
      return put(static_cast<std::int16_t>(whole));
    case DType::i8:
    case DType::u8:
      return put(static_cast<std::int8_t>(whole));
    case DType::bool_:
    default:
      return put(static_cast<std::uint8_t>(whole & 1));
  }
}

}  // namespace

Shape ProgramMaker::random_shape() {
  Shape shape;
  const int rank = one_in(8) ? 0 : 1 + below(one_in(4) ? 4 : 3);
  std::int64_t size = 1;
  for (int i = 0; i < rank; ++i) {
    constexpr std::int64_t kExtents[] = {1, 2, 3, 3, 4, 5, 7, 8, 16, 17, 33, 70};
    std::int64_t extent = kExtents[below(12)];
    if (one_in(60)) extent = 0;
    if (options_.large && one_in(3)) extent *= 37;
    while (size * extent > size_limit() / 8) extent = (extent + 1) / 2;
    shape.push_back(extent);
    size *= std::max<std::int64_t>(extent, 1);
  }
  return shape;
}

DType ProgramMaker::random_dtype() {
  constexpr DType kInts[] = {DType::i64, DType::i32, DType::i32, DType::i16, DType::i8,
                             DType::u64, DType::u32, DType::u16, DType::u8};
  const int roll = below(10);
  if (roll == 0) return DType::bool_;
  if (roll <= 2) return kInts[below(9)];
  if (roll == 3 && options_.jumps) return static_cast<DType>(below(4));
  return options_.float_dtype;
}

int ProgramMaker::add(std::shared_ptr<ProgramInput> input) {
  // Row-major: where elements lie teaches nothing, and evaluating would run what is recorded.
  input->variable =
      new_variable(Array::from_bytes(input->bytes, input->dtype, input->shape, Device::cpu()));
  facts_.back().segment = -1;
  facts_.back().shared = options_.lanes > 1;  // made before the lanes start
  program_.inputs.push_back(input);
  return input->variable;
}

int ProgramMaker::add_input(DType dtype, const Shape& shape) {
  auto input = std::make_shared<ProgramInput>();
  input->dtype = dtype;
  input->shape = shape;
  const bool special = options_.jumps && is_float(dtype) && one_in(6);
  for (std::int64_t i = 0; i < element_count(shape); ++i) {
    double value = static_cast<double>(next() % 4001) / 1000.0 - 2.0;
    if (is_int(dtype)) value = static_cast<double>(below(14)) - (info(dtype).is_signed ? 5 : 0);
    if (is_bool(dtype)) value = below(2);
    if (special && one_in(8)) {
      constexpr double kInfinity = std::numeric_limits<double>::infinity();
      constexpr double kSpecial[] = {0.0, -0.0, 1.0, 1e30, kInfinity, -kInfinity};
      value = one_in(4) ? std::nan("") : kSpecial[below(6)];
    }
    if (is_int(dtype) && one_in(50)) value = one_in(2) ? 9.0e18 : -9.2e18;
    store(input->bytes, dtype, value);
  }
  // Where convolutions keep them, beside row-major ones of the same shape.
  input->channels_last = shape.rank() >= 4 && one_in(2);
  return add(std::move(input));
}

int ProgramMaker::add_indices(const Shape& shape, std::int64_t extent) {
  auto input = std::make_shared<ProgramInput>();
  input->dtype = one_in(2) ? DType::i64 : DType::i32;
  input->shape = shape;
  for (std::int64_t i = 0; i < element_count(shape); ++i) {
    store(input->bytes, input->dtype,
          static_cast<double>(next() % static_cast<std::uint64_t>(extent)));
  }
  return add(std::move(input));
}

Array ProgramMaker::scalar(DType dtype, std::string& text) {
  if (is_bool(dtype)) {
    const bool value = one_in(2);
    text = value ? "true" : "false";
    return Array(value);
  }
  if (is_int(dtype) || one_in(4)) {
    const std::int64_t value = below(7) - (info(dtype).is_signed ? 2 : 0);
    text = std::to_string(value);
    return Array(value);
  }
  const double value = static_cast<double>(below(33)) / 8.0 - 2.0;
  text = std::to_string(value);
  return Array(value);
}

bool ProgramMaker::fresh_input() {
  const DType dtype = random_dtype();
  add_input(dtype, random_shape());
  return true;
}

}  // namespace hearth::testing
