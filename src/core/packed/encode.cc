#include "core/packed/encode.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "core/packed/encoders.h"

namespace hearth {
namespace {

constexpr float kLargestHalf = 65504.0f;
constexpr float kLargestFloat = std::numeric_limits<float>::max();
constexpr float kLargestWeight = 0x1p56f;

struct BlockEncoder {
  void (*encode)(DType dtype, const packed::Row& row, std::byte* blocks);
  float largest;
};

// In the order of their dtypes.
constexpr BlockEncoder kEncoders[] = {
#define BLOCK_FORMAT(dtype, name, number, elements, bytes, encoder, largest) \
  {packed::encode_##encoder, largest},
#include "core/packed/block_formats.def"
};

const BlockEncoder& encoder_of(DType dtype) noexcept {
  return kEncoders[static_cast<int>(dtype) - kDTypeCount];
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
  const BlockEncoder& encoder = encoder_of(dtype);
  const float largest = encoder.largest;
  packed::Row row{limited(values, elements, -largest, largest, limited_values), elements, nullptr};
  if (importance != nullptr) {
    row.importance = limited(importance, elements, 0, kLargestWeight, limited_importance);
  }
  encoder.encode(dtype, row, blocks);
}

float largest_encoded(DType dtype) noexcept { return encoder_of(dtype).largest; }

}  // namespace hearth
