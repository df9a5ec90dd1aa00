// Images with classes as training and held-out data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace hearth::tools {

struct ImageSet {
  std::vector<std::uint8_t> pixels;  // [images, channels, height, width]
  std::vector<std::uint8_t> labels;  // [images]
};

struct ImageData {
  std::string name;  // for people
  std::int64_t channels = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t classes = 0;  // labels are below
  bool mirrors = true;       // whether an image and its mirror image are of one class
  ImageSet train;
  ImageSet held_out;

  std::size_t image_bytes() const noexcept {
    return static_cast<std::size_t>(channels * height * width);
  }
};

// Of each channel, over all images.
struct PixelStatistics {
  std::vector<float> mean;       // [channels]
  std::vector<float> deviation;  // [channels], at least 1
};
PixelStatistics pixel_statistics(const ImageData& data, const ImageSet& set);

// Images and labels as they go to a device.
struct ImageBatch {
  std::int64_t rows = 0;
  std::vector<std::uint8_t> pixels;  // [rows, channels, height, width]
  std::vector<std::int32_t> labels;  // [rows]
};

// How images of a training batch are changed, each in its own way; on the host, while the device
// computes.
enum class Augmentation : std::uint8_t {
  none,
  crop,         // moved by up to an eighth of the extents, edges repeated
  crop_mirror,  // and mirrored, half of them
};

// Batches of the training images, each a pure function of the seed and the step, so that a run that
// resumes at a step sees exactly what an uninterrupted one would. Every image is seen once before
// any is seen again, in an order that each pass draws anew.
class TrainingBatches {
 public:
  // `data` must live as long as the object.
  TrainingBatches(const ImageData& data, std::uint64_t seed, Augmentation augmentation)
      : data_(data), seed_(seed), augmentation_(augmentation) {}

  // Error{invalid_argument} unless rows > 0 and step >= 0.
  ImageBatch batch(std::int64_t step, std::int64_t rows);

 private:
  std::size_t image_at(std::uint64_t place);

  const ImageData& data_;
  std::uint64_t seed_;
  Augmentation augmentation_;
  std::uint64_t pass_ = 0;
  std::vector<std::uint32_t> order_;  // of the pass; empty before the first
};

// Images [first, first + rows) as they are.
ImageBatch images_of(const ImageData& data, const ImageSet& set, std::size_t first,
                     std::size_t rows);

}  // namespace hearth::tools
