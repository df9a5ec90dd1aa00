#include "tools/images/image_data.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "hearth/error.h"
#include "tools/training/draw.h"

namespace hearth::tools {
namespace {

// Draws of different uses have different keys.
constexpr std::uint64_t kOrderKey = 0x6f72646572u;
constexpr std::uint64_t kChangeKey = 0x6368616e6765u;

// Where an image goes.
struct Change {
  std::int64_t down = 0;
  std::int64_t right = 0;
  bool mirror = false;
};

// A number from -reach to reach out of 16 random bits.
std::int64_t shift(std::uint64_t bits, std::int64_t reach) {
  return static_cast<std::int64_t>((bits & 0xffff) * static_cast<std::uint64_t>(2 * reach + 1) >>
                                   16) -
         reach;
}

void append_changed(const ImageData& data, const std::uint8_t* image, const Change& change,
                    std::vector<std::uint8_t>& out) {
  for (std::int64_t channel = 0; channel < data.channels; ++channel) {
    const std::uint8_t* const plane = image + channel * data.height * data.width;
    for (std::int64_t y = 0; y < data.height; ++y) {
      const std::int64_t from_y = std::clamp<std::int64_t>(y - change.down, 0, data.height - 1);
      for (std::int64_t x = 0; x < data.width; ++x) {
        const std::int64_t place = change.mirror ? data.width - 1 - x : x;
        const std::int64_t from_x =
            std::clamp<std::int64_t>(place - change.right, 0, data.width - 1);
        out.push_back(plane[from_y * data.width + from_x]);
      }
    }
  }
}

}  // namespace

PixelStatistics pixel_statistics(const ImageData& data, const ImageSet& set) {
  PixelStatistics out;
  const auto plane = static_cast<std::size_t>(data.height * data.width);
  const std::size_t image = data.image_bytes();
  for (std::size_t channel = 0; channel < static_cast<std::size_t>(data.channels); ++channel) {
    std::uint64_t sum = 0;
    std::uint64_t squares = 0;
    for (std::size_t i = channel * plane; i < set.pixels.size(); i += image) {
      for (std::size_t at = i; at < i + plane; ++at) {
        const std::uint64_t value = set.pixels[at];
        sum += value;
        squares += value * value;
      }
    }
    const auto count = static_cast<double>(set.labels.size() * plane);
    const double mean = static_cast<double>(sum) / count;
    const double variance = static_cast<double>(squares) / count - mean * mean;
    out.mean.push_back(static_cast<float>(mean));
    out.deviation.push_back(static_cast<float>(std::sqrt(std::max(variance, 1.0))));
  }
  return out;
}

std::size_t TrainingBatches::image_at(std::uint64_t place) {
  const std::uint64_t count = data_.train.labels.size();
  const std::uint64_t pass = place / count;
  if (order_.empty() || pass != pass_) {
    pass_ = pass;
    order_.resize(count);
    std::iota(order_.begin(), order_.end(), 0u);
    for (std::uint64_t i = count; i > 1; --i) {
      std::swap(order_[i - 1], order_[draw(seed_ ^ kOrderKey, pass, i) % i]);
    }
  }
  return order_[place % count];
}

ImageBatch TrainingBatches::batch(std::int64_t step, std::int64_t rows) {
  if (step < 0 || rows < 1) {
    throw Error(ErrorCode::invalid_argument,
                "images: batch out of range; got " + std::to_string(rows) + " of step " +
                    std::to_string(step) + ", expected at least 1 of step 0 or later");
  }
  ImageBatch out;
  out.rows = rows;
  out.pixels.reserve(static_cast<std::size_t>(rows) * data_.image_bytes());
  out.labels.reserve(static_cast<std::size_t>(rows));
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::uint64_t place =
        static_cast<std::uint64_t>(step) * static_cast<std::uint64_t>(rows) +
        static_cast<std::uint64_t>(row);
    const std::size_t index = image_at(place);
    Change change;
    if (augmentation_ != Augmentation::none) {
      const std::uint64_t bits = draw(seed_ ^ kChangeKey, place, 0);
      change.down = shift(bits, data_.height / 8);
      change.right = shift(bits >> 16, data_.width / 8);
      change.mirror = augmentation_ == Augmentation::crop_mirror && (bits >> 32 & 1) != 0;
    }
    append_changed(data_, data_.train.pixels.data() + index * data_.image_bytes(), change,
                   out.pixels);
    out.labels.push_back(data_.train.labels[index]);
  }
  return out;
}

ImageBatch images_of(const ImageData& data, const ImageSet& set, std::size_t first,
                     std::size_t rows) {
  const auto at = [](const auto& all, std::size_t index) {
    return all.begin() + static_cast<std::ptrdiff_t>(index);
  };
  const std::size_t image = data.image_bytes();
  return {static_cast<std::int64_t>(rows),
          {at(set.pixels, first * image), at(set.pixels, (first + rows) * image)},
          {at(set.labels, first), at(set.labels, first + rows)}};
}

}  // namespace hearth::tools
