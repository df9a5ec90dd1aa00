// Images that need no download: ten shapes in any place, size and colour, turned a little, under
// noise.
#pragma once

#include <cstdint>

#include "tools/images/image_data.h"

namespace hearth::tools {

// 32 x 32 in RGB, as many of each class; image i of a part depends on the seed, the part and i
// alone. Parts are drawn from streams of their own, so that no image is in both. Throws
// Error{invalid_argument} unless both numbers are from 1 to 2^24.
ImageData draw_images(std::uint64_t seed, std::int64_t train, std::int64_t held_out);

}  // namespace hearth::tools
