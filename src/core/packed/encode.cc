#include "core/packed/encode.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "core/packed/encoders.h"

namespace hearth {
namespace {

constexpr float kLargestHalf = 65504.0f;
constexpr float kLargestWeight = 0x1p56f;

// The largest magnitude that is encoded as it is.
float largest_value(DType dtype) {
  switch (dtype) {
    case DType::q1_0:
    case DType::q2_0:
    case DType::q4_1:
    case DType::q5_1:
    case DType::tq1_0:
    case DType::tq2_0:
      return kLargestHalf;
    case DType::q4_0:
      return 8 * kLargestHalf;
    case DType::q5_0:
      return 16 * kLargestHalf;
    case DType::q8_0:
    case DType::q8_1:
      return 127 * kLargestHalf;
    case DType::q8_k:
      return 0x1p127f;
    case DType::mxfp4:
    case DType::nvfp4:
      return std::numeric_limits<float>::max();
    default:
      return 15 * kLargestHalf;
  }
}

// The numbers limited to [low, high], NaN as 0: in `storage` if that changes one.
const float* limited(const float* numbers, std::int64_t count, float low, float high,
                     std::vector<float>& storage) {
  const auto is_kept = [=](float number) { return number >= low && number <= high; };
  if (std::all_of(numbers, numbers + count, is_kept)) return numbers;
  storage.assign(numbers, numbers + count);
  for (float& number : storage) number = number != number ? 0 : std::clamp(number, low, high);
  return storage.data();
}

}  // namespace

void encode(DType dtype, const float* values, std::int64_t elements, const float* importance,
            std::byte* blocks) {
  std::vector<float> limited_values, limited_importance;
  const float largest = largest_value(dtype);
  packed::Row row{limited(values, elements, -largest, largest, limited_values), elements, nullptr};
  if (importance != nullptr) {
    row.importance = limited(importance, elements, 0, kLargestWeight, limited_importance);
  }
  switch (dtype) {
    case DType::q1_0:
    case DType::q2_0:
    case DType::q4_0:
    case DType::q4_1:
    case DType::q5_0:
    case DType::q5_1:
    case DType::q8_0:
    case DType::q8_1:
      return packed::encode_codes(dtype, row, blocks);
    case DType::q2_k:
    case DType::q3_k:
    case DType::q4_k:
    case DType::q5_k:
    case DType::q6_k:
    case DType::q8_k:
      return packed::encode_superblocks(dtype, row, blocks);
    case DType::iq4_nl:
    case DType::iq4_xs:
      return packed::encode_tables(dtype, row, blocks);
    case DType::mxfp4:
    case DType::nvfp4:
      return packed::encode_floats(dtype, row, blocks);
    case DType::tq1_0:
    case DType::tq2_0:
      return packed::encode_ternary(dtype, row, blocks);
    default:
      return packed::encode_codebooks(dtype, row, blocks);
  }
}

}  // namespace hearth
