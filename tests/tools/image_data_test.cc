#include "tools/images/image_data.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <string>

#include "hearth/error.h"
#include "tools/images/drawn_images.h"

namespace hearth::tools {
namespace {

std::vector<std::string> rows_of(const ImageData& data, const ImageSet& set) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < set.labels.size(); ++i) {
    out.emplace_back(reinterpret_cast<const char*>(set.pixels.data()) + i * data.image_bytes(),
                     data.image_bytes());
  }
  return out;
}

TEST(DrawnImages, RepeatAndShareNothing) {
  const ImageData data = draw_images(7, 300, 100);
  EXPECT_EQ(data.classes, 10);
  EXPECT_EQ(data.image_bytes(), 3u * 32 * 32);
  ASSERT_EQ(data.train.pixels.size(), 300 * data.image_bytes());
  ASSERT_EQ(data.held_out.labels.size(), 100u);
  EXPECT_EQ(std::count(data.train.labels.begin(), data.train.labels.end(), 4), 30);

  const ImageData again = draw_images(7, 200, 100);
  EXPECT_EQ(again.held_out.pixels, data.held_out.pixels);
  EXPECT_TRUE(
      std::equal(again.train.pixels.begin(), again.train.pixels.end(), data.train.pixels.begin()));
  EXPECT_NE(draw_images(8, 1, 1).train.pixels, draw_images(7, 1, 1).train.pixels);

  std::set<std::string> seen;
  for (const ImageSet* set : {&data.train, &data.held_out}) {
    for (const std::string& image : rows_of(data, *set)) EXPECT_TRUE(seen.insert(image).second);
  }
}

TEST(DrawnImages, RefuseNumbersOutOfRange) {
  EXPECT_THROW(draw_images(0, 0, 1), Error);
  EXPECT_THROW(draw_images(0, 1, -1), Error);
  EXPECT_THROW(draw_images(0, (std::int64_t{1} << 24) + 1, 1), Error);
}

// Images whose pixels count up, so that each is known by its first one.
ImageData counted(int images, std::int64_t height = 2, std::int64_t width = 3) {
  ImageData data;
  data.channels = 2;
  data.height = height;
  data.width = width;
  data.classes = 5;
  data.train.pixels.resize(static_cast<std::size_t>(images) * data.image_bytes());
  std::iota(data.train.pixels.begin(), data.train.pixels.end(), std::uint8_t{0});
  for (int i = 0; i < images; ++i) {
    data.train.labels.push_back(static_cast<std::uint8_t>(i % 5));
  }
  return data;
}

TEST(TrainingBatches, SeeEachImageOnceAPass) {
  const ImageData data = counted(10);
  TrainingBatches batches(data, 3, Augmentation::none);
  std::vector<std::vector<std::uint8_t>> passes(2);
  for (std::int64_t step = 0; step < 5; ++step) {
    const ImageBatch batch = batches.batch(step, 4);
    ASSERT_EQ(batch.pixels.size(), 4 * data.image_bytes());
    for (std::size_t row = 0; row < 4; ++row) {
      const std::uint8_t first = batch.pixels[row * data.image_bytes()];
      EXPECT_EQ(batch.labels[row], first / 12 % 5);
      passes[(static_cast<std::size_t>(step) * 4 + row) / 10].push_back(first);
    }
  }
  EXPECT_NE(passes[0], passes[1]);
  for (std::vector<std::uint8_t>& pass : passes) {
    std::sort(pass.begin(), pass.end());
    for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(pass[i], 12 * i);
  }
}

TEST(TrainingBatches, DependOnSeedAndStepAlone) {
  const ImageData data = draw_images(1, 50, 1);
  TrainingBatches straight(data, 3, Augmentation::crop_mirror);
  for (std::int64_t step = 0; step < 6; ++step) straight.batch(step, 16);
  TrainingBatches resumed(data, 3, Augmentation::crop_mirror);
  EXPECT_EQ(straight.batch(6, 16).pixels, resumed.batch(6, 16).pixels);
  EXPECT_NE(TrainingBatches(data, 4, Augmentation::crop_mirror).batch(6, 16).pixels,
            resumed.batch(6, 16).pixels);
  EXPECT_THROW(resumed.batch(0, 0), Error);
  EXPECT_THROW(resumed.batch(-1, 1), Error);
}

// Moved by one of sixteen pixels' eighth, either way, with edges repeated, and mirrored.
TEST(TrainingBatches, MoveAndMirror) {
  const ImageData data = counted(1, 1, 16);
  TrainingBatches batches(data, 5, Augmentation::crop_mirror);
  std::set<std::pair<int, bool>> seen;
  for (std::int64_t step = 0; step < 200; ++step) {
    const ImageBatch batch = batches.batch(step, 1);
    bool found = false;
    for (int shift = -2; shift <= 2; ++shift) {
      for (const bool mirror : {false, true}) {
        bool fits = true;
        for (int i = 0; i < 32; ++i) {
          const int x = i % 16;
          const int from = std::clamp((mirror ? 15 - x : x) - shift, 0, 15) + i / 16 * 16;
          fits = fits && batch.pixels[static_cast<std::size_t>(i)] == from;
        }
        if (fits) {
          found = true;
          seen.insert({shift, mirror});
        }
      }
    }
    EXPECT_TRUE(found) << step;
  }
  EXPECT_EQ(seen.size(), 10u);
}

TEST(PixelStatistics, AreThoseOfEachChannel) {
  const ImageData data = counted(2);
  const PixelStatistics got = pixel_statistics(data, data.train);
  // 0..5 and 12..17; 6..11 and 18..23.
  EXPECT_FLOAT_EQ(got.mean[0], 8.5f);
  EXPECT_FLOAT_EQ(got.mean[1], 14.5f);
  EXPECT_NEAR(got.deviation[0], std::sqrt(36 + 35.0 / 12), 1e-5);
}

}  // namespace
}  // namespace hearth::tools
