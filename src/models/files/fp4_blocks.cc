#include "models/files/fp4_blocks.h"

#include "core/quoted.h"
#include "hearth/error.h"

namespace hearth::models::folders {
namespace {

constexpr std::size_t kCodeBytes = 16;   // of a group
constexpr std::size_t kBlockBytes = 17;  // its scale before them

}  // namespace

HostTensor mxfp4_of_pairs(std::span<const std::byte> codes, std::span<const std::byte> scales,
                          const Shape& shape) {
  HostTensor made{DType::mxfp4, shape, std::vector<std::byte>(scales.size() * kBlockBytes)};
  for (std::size_t group = 0; group < scales.size(); ++group) {
    const std::byte* from = codes.data() + group * kCodeBytes;
    std::byte* to = made.bytes.data() + group * kBlockBytes;
    *to = scales[group];
    halves_of_pairs(from, to + 1);
  }
  return made;
}

HostTensor mxfp4_of_blocks(const io::SafetensorsView& blocks, const io::SafetensorsView& scales) {
  const int rank = blocks.shape.rank();
  bool fits = blocks.dtype == DType::u8 && scales.dtype == DType::u8 && rank >= 2 &&
              scales.shape.rank() == rank - 1 &&
              blocks.shape[rank - 1] == static_cast<std::int64_t>(kCodeBytes) &&
              blocks.bytes.size() == scales.bytes.size() * kCodeBytes;
  Shape shape;
  for (int axis = 0; fits && axis + 1 < rank; ++axis) {
    fits = blocks.shape[axis] == scales.shape[axis];
    shape.push_back(axis + 2 < rank ? blocks.shape[axis] : blocks.shape[axis] * kFp4Group);
  }
  if (!fits) {
    throw Error(ErrorCode::corrupt_file,
                "read_model_folder: blocks and scales that do not fit; got " +
                    hearth::quoted(blocks.name) + " " + to_string(blocks.shape) + " and " +
                    to_string(scales.shape) +
                    ", expected bytes [..., groups, 16] and [..., groups]");
  }
  return mxfp4_of_pairs(blocks.bytes, scales.bytes, shape);
}

}  // namespace hearth::models::folders
