#include "models/files/float8_weights.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>

#include "core/float8.h"
#include "core/quoted.h"
#include "hearth/error.h"

namespace hearth::models::folders {
namespace {

// How rows and columns of a matrix share scales.
struct ScaleGrid {
  std::int64_t rows = 0, columns = 0;              // of a block
  std::int64_t block_rows = 1, block_columns = 1;  // how many blocks
};

std::int64_t rounded_up_quotient(std::int64_t a, std::int64_t b) { return a / b + (a % b != 0); }

[[noreturn]] void refuse_scale(const io::SafetensorsView& weight,
                               const io::SafetensorsView& scale) {
  throw Error(ErrorCode::corrupt_file,
              "read_model_folder: scales that do not fit; got " + hearth::quoted(scale.name) + " " +
                  to_string(scale.shape) + " for " + hearth::quoted(weight.name) + " " +
                  to_string(weight.shape) + ", expected one, one a row or one a block");
}

// `extents` are those of the scale behind its leading axes.
ScaleGrid scale_grid(const io::SafetensorsView& weight, const io::SafetensorsView& scale,
                     const Shape& extents, std::int64_t out, std::int64_t in,
                     const ScaleBlock& block) {
  if (element_count(extents) == 1) return {out, in, 1, 1};
  if (extents == Shape{out} || extents == Shape{out, 1}) return {1, in, out, 1};
  const std::int64_t rows = rounded_up_quotient(out, block.rows);
  const std::int64_t columns = rounded_up_quotient(in, block.columns);
  if (extents == Shape{rows, columns}) return {block.rows, block.columns, rows, columns};
  refuse_scale(weight, scale);
}

double scale_at(const io::SafetensorsView& scale, std::size_t index) {
  if (scale.float8 == io::Float8::none) {
    return stored_float(scale.bytes.data(), scale.dtype, index);
  }
  const int exponent = std::to_integer<int>(scale.bytes[index]);
  return exponent == 255 ? std::numeric_limits<double>::quiet_NaN()
                         : std::ldexp(1.0, exponent - 127);
}

}  // namespace

float float8_value(io::Float8 type, std::uint8_t byte) noexcept {
  if (type == io::Float8::e5m2) {
    float16 value;
    value.bits = static_cast<std::uint16_t>(byte << 8);  // the upper half of binary16
    return static_cast<float>(value);
  }
  constexpr unsigned kNotANumber = 0x7f;
  const unsigned code = byte & 0x7fu;
  const float value =
      code == kNotANumber ? std::numeric_limits<float>::quiet_NaN() : e4m3_magnitude(code);
  return byte >> 7 != 0 ? -value : value;
}

HostTensor decode_float8_weight(const io::SafetensorsView& weight, const io::SafetensorsView* scale,
                                const ScaleBlock& block) {
  if (weight.float8 == io::Float8::e8m0) {
    throw Error(ErrorCode::unsupported,
                "read_model_folder: a tensor of scales without a weight; got " +
                    hearth::quoted(weight.name) + " of F8_E8M0, expected F8_E4M3 or F8_E5M2");
  }
  if (weight.bytes.empty()) return {DType::bf16, weight.shape, {}};
  const int rank = weight.shape.rank();
  const std::int64_t in = rank > 0 ? weight.shape[rank - 1] : 1;
  const std::int64_t out = rank > 1 ? weight.shape[rank - 2] : 1;
  std::int64_t matrices = 1;
  for (int axis = 0; axis + 2 < rank; ++axis) matrices *= weight.shape[axis];
  ScaleGrid grid{out, in, 1, 1};
  bool has_leading_axes = false;
  if (scale != nullptr) {
    if (scale->float8 != io::Float8::e8m0 && scale->dtype != DType::f32 &&
        scale->dtype != DType::f16 && scale->dtype != DType::bf16) {
      throw Error(ErrorCode::unsupported, "read_model_folder: scales of another dtype; got " +
                                              hearth::quoted(scale->name) + " of " +
                                              std::string(name(scale->dtype)) +
                                              ", expected f32, f16, bf16 or F8_E8M0");
    }
    Shape extents = scale->shape;
    if (rank > 2 && element_count(extents) != 1) {
      has_leading_axes = true;
      extents = Shape{};
      for (int axis = 0; axis < scale->shape.rank(); ++axis) {
        if (axis >= rank - 2) {
          extents.push_back(scale->shape[axis]);
        } else if (scale->shape[axis] != weight.shape[axis]) {
          refuse_scale(weight, *scale);
        }
      }
      if (scale->shape.rank() < rank - 2) refuse_scale(weight, *scale);
    }
    grid = scale_grid(weight, *scale, extents, out, in, block);
  }
  // The 256 values that bytes stand for, times each scale of a row of blocks.
  using Table = std::array<std::uint16_t, 256>;
  std::vector<Table> tables(static_cast<std::size_t>(grid.block_columns));
  HostTensor made{DType::bf16, weight.shape, std::vector<std::byte>(weight.bytes.size() * 2)};
  const std::byte* from = weight.bytes.data();
  std::byte* to = made.bytes.data();
  for (std::int64_t matrix = 0; matrix < matrices; ++matrix) {
    const std::int64_t first = has_leading_axes ? matrix * grid.block_rows * grid.block_columns : 0;
    for (std::int64_t row = 0; row < out; ++row) {
      if (row % grid.rows == 0) {
        const std::int64_t places = first + row / grid.rows * grid.block_columns;
        for (std::size_t i = 0; i < tables.size(); ++i) {
          const double factor =
              scale == nullptr ? 1.0 : scale_at(*scale, static_cast<std::size_t>(places) + i);
          for (std::size_t byte = 0; byte < 256; ++byte) {
            const double value =
                float8_value(weight.float8, static_cast<std::uint8_t>(byte)) * factor;
            store_rounded(value, DType::bf16, reinterpret_cast<std::byte*>(&tables[i][byte]));
          }
        }
      }
      std::int64_t left = in;
      for (const Table& table : tables) {
        const std::int64_t count = std::min(left, grid.columns);
        for (std::int64_t i = 0; i < count; ++i, ++from, to += 2) {
          std::memcpy(to, &table[std::to_integer<std::size_t>(*from)], 2);
        }
        left -= count;
      }
    }
  }
  return made;
}

}  // namespace hearth::models::folders
