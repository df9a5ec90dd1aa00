// erode, dilate, connected components and nms: against loops, with special values, borders, waits
// and gradients. What SciPy gives is in order_golden_test.cc.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "check.h"
#include "devices_under_test.h"
#include "hearth/device.h"
#include "hearth/ops.h"

namespace hearth {
namespace {

using namespace check;
using testing::devices_under_test;

Array there(const Values& values, const Shape& shape, DType dtype, Device device) {
  return to_device(array(values, shape, dtype), device);
}
Array numbers(const Shape& shape, DType dtype, std::uint64_t seed, Device device) {
  Values values = random_values(element_count(shape), 0, is_bool(dtype) ? 2 : 50, seed);
  for (double& value : values) value = std::floor(value);
  return there(values, shape, dtype, device);
}

// Where position `at` of an axis lies; -1 beyond a constant border.
std::int64_t source_of(std::int64_t at, std::int64_t extent, MorphBorder border) {
  if (at >= 0 && at < extent) return at;
  const auto around = [at](std::int64_t period) { return (at % period + period) % period; };
  switch (border) {
    case MorphBorder::constant:
      return -1;
    case MorphBorder::replicate:
      return std::clamp<std::int64_t>(at, 0, extent - 1);
    case MorphBorder::wrap:
      return around(extent);
    case MorphBorder::reflect: {
      const std::int64_t place = around(2 * extent);
      return std::min(place, 2 * extent - 1 - place);
    }
    case MorphBorder::reflect101: {
      if (extent == 1) return 0;
      const std::int64_t place = around(2 * extent - 2);
      return std::min(place, 2 * extent - 2 - place);
    }
  }
  return -1;
}

// One image, one time; `outside` is beyond a constant border.
Values morphed(const Array& x, const Array& kernel, bool erodes, std::array<std::int64_t, 2> anchor,
               MorphBorder border, double outside) {
  const std::int64_t height = x.shape(0), width = x.shape(1);
  const Values values = x.to_doubles(), mask = kernel.to_doubles();
  Values out;
  for (std::int64_t y = 0; y < height; ++y) {
    for (std::int64_t column = 0; column < width; ++column) {
      double best = erodes ? kInf : -kInf;
      for (std::int64_t i = 0; i < kernel.shape(0); ++i) {
        for (std::int64_t j = 0; j < kernel.shape(1); ++j) {
          if (mask[static_cast<std::size_t>(i * kernel.shape(1) + j)] == 0) continue;
          const std::int64_t row = source_of(y + i - anchor[0], height, border);
          const std::int64_t col = source_of(column + j - anchor[1], width, border);
          const double value =
              row < 0 || col < 0 ? outside : values[static_cast<std::size_t>(row * width + col)];
          best = erodes ? std::min(best, value) : std::max(best, value);
        }
      }
      out.push_back(best);
    }
  }
  return out;
}

constexpr MorphBorder kBorders[] = {MorphBorder::constant, MorphBorder::replicate,
                                    MorphBorder::reflect, MorphBorder::reflect101,
                                    MorphBorder::wrap};

TEST(Morphology, EveryBorderAnchorAndKernel) {
  for (const Device& device : devices_under_test()) {
    const Array x = numbers({5, 6}, DType::f32, 1, device);
    for (const Shape& shape : {Shape({3, 3}), Shape({2, 4}), Shape({1, 5}), Shape({4, 1})}) {
      Array kernel = numbers(shape, DType::bool_, 2, device);
      const Array all_of_it = ones(shape, DType::bool_, device);
      for (const std::array<std::int64_t, 2> anchor : {std::array<std::int64_t, 2>{0, 0},
                                                       {shape[0] / 2, shape[1] / 2},
                                                       {shape[0] - 1, shape[1] - 1}}) {
        for (const MorphBorder border : kBorders) {
          const MorphOptions options = {
              .anchor = Dims(anchor), .border = border, .border_value = 20.0};
          const Shape same = x.shape();
          expect_values(erode(x, kernel, options), same,
                        morphed(x, kernel, true, anchor, border, 20));
          expect_values(dilate(x, kernel, options), same,
                        morphed(x, kernel, false, anchor, border, 20));
          expect_values(erode_rectangle(x, shape[0], shape[1], options), same,
                        morphed(x, all_of_it, true, anchor, border, 20));
          expect_values(dilate_rectangle(x, shape[0], shape[1], options), same,
                        morphed(x, all_of_it, false, anchor, border, 20));
        }
      }
    }
  }
}

TEST(Morphology, EveryDtypeAndLayout) {
  for (const Device& device : devices_under_test()) {
    for (const DType dtype :
         {DType::f64, DType::f32, DType::f16, DType::bf16, DType::i64, DType::i32, DType::i16,
          DType::i8, DType::u64, DType::u32, DType::u16, DType::u8, DType::bool_}) {
      const Array x = transpose(numbers({6, 5}, dtype, 3, device));
      const Array kernel = there({0, 1, 0, 1, 1, 1, 0, 1, 0}, {3, 3}, DType::bool_, device);
      const double least = is_bool(dtype) ? 0 : -kInf, most = is_bool(dtype) ? 1 : kInf;
      const Array eroded = erode(x, kernel), dilated = dilate(x, kernel);
      EXPECT_EQ(eroded.dtype(), dtype);
      EXPECT_EQ(dilated.dtype(), dtype);
      expect_values(eroded, {5, 6}, morphed(x, kernel, true, {1, 1}, MorphBorder::constant, most));
      expect_values(dilated, {5, 6},
                    morphed(x, kernel, false, {1, 1}, MorphBorder::constant, least));
      EXPECT_EQ(erode_rectangle(x, 3, 3).to_doubles(),
                erode(x, ones({3, 3}, DType::bool_, device)).to_doubles());
    }
    const Array largest = bitwise_not(zeros({2, 2}, DType::u64, device));
    EXPECT_TRUE(all(equal(erode_rectangle(largest, 3, 3), largest)).item<bool>());
  }
}

TEST(Morphology, ImagesAreApartAndTimesAddUp) {
  for (const Device& device : devices_under_test()) {
    const Array x = numbers({2, 3, 7, 8}, DType::i32, 4, device);
    const Array both = dilate_rectangle(x, 3, 3);
    const Array one = reshape(slice(x, {Slice{1, 2}, Slice{2, 3}}), {7, 8});
    EXPECT_EQ(reshape(slice(both, {Slice{1, 2}, Slice{2, 3}}), {56}).to_doubles(),
              dilate_rectangle(one, 3, 3).to_doubles());
    EXPECT_EQ(dilate_rectangle(x, 3, 3, {.iterations = 2}).to_doubles(),
              dilate_rectangle(x, 5, 5).to_doubles());
    EXPECT_EQ(dilate_rectangle(x, 3, 3, {.iterations = 0}).to_doubles(), x.to_doubles());
    EXPECT_EQ(dilate_rectangle(x, 30, 30).shape(), x.shape());
    EXPECT_EQ(erode_rectangle(zeros({2, 0, 4}, DType::f32, device), 3, 3).shape(),
              Shape({2, 0, 4}));
  }
}

TEST(Morphology, SpecialValues) {
  for (const Device& device : devices_under_test()) {
    const Array x = there({1, 2, 3, 4, kNan, -kInf, 5, 6}, {1, 8}, DType::f32, device);
    expect_values(dilate_rectangle(x, 1, 3), {1, 8}, {2, 3, 4, kNan, kNan, kNan, 6, 6});
    expect_values(erode_rectangle(x, 1, 3), {1, 8}, {1, 1, 2, kNan, kNan, kNan, -kInf, 5});
    // A kernel that covers nothing finds nothing.
    const Array nothing = zeros({3, 3}, DType::bool_, device);
    expect_values(dilate(ones({1, 2}, DType::f32, device), nothing), {1, 2}, {-kInf, -kInf});
  }
}

TEST(Morphology, Gradients) {
  const Array kernel = array({1, 0, 1, 1, 1, 0}, {2, 3}, DType::bool_);
  for (const MorphBorder border : kBorders) {
    const Many f = [&](std::span<const Array> in) {
      return add(square(dilate(in[0], kernel, {.border = border})),
                 square(erode_rectangle(in[0], 2, 2, {.border = border})));
    };
    check_gradients(f, {random_array({4, 3}, DType::f64, -1, 1, 9)});
  }
}

TEST(Morphology, RefusesWhatIsNoKernel) {
  const Array x = ones({4, 4}), kernel = ones({3, 3}, DType::bool_);
  expect_error(ErrorCode::shape, [&] { (void)erode(ones({4}), kernel); });
  expect_error(ErrorCode::shape, [&] { (void)dilate(x, ones({3}, DType::bool_)); });
  expect_error(ErrorCode::dtype, [&] { (void)dilate(x, ones({3, 3})); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)dilate_rectangle(x, 0, 3); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)erode_rectangle(x, 3, -1); });
  expect_error(ErrorCode::invalid_argument,
               [&] { (void)erode(x, kernel, {.anchor = Dims{3, 0}}); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)erode(x, kernel, {.iterations = -1}); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)erode(x, kernel, {.anchor = Dims{1}}); });
  expect_error(ErrorCode::dtype,
               [&] { (void)erode(ones({4, 4}, DType::i32), kernel, {.border_value = 0.5}); });
  expect_error(ErrorCode::shape, [&] { (void)erode_rectangle(x, std::int64_t{1} << 62, 3); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)erode(Array(), kernel); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)dilate(x, Array()); });
}

TEST(Components, FourAndEightNeighbours) {
  for (const Device& device : devices_under_test()) {
    const Array image = there({1, 0, 0, 1,  //
                               0, 1, 0, 1,  //
                               0, 0, 0, 0,  //
                               1, 1, 0, 1},
                              {4, 4}, DType::bool_, device);
    expect_values(connected_components(image, Connectivity::four), {4, 4},
                  {1, 0, 0, 2, 0, 3, 0, 2, 0, 0, 0, 0, 4, 4, 0, 5});
    expect_values(connected_components(image), {4, 4},
                  {1, 0, 0, 2, 0, 1, 0, 2, 0, 0, 0, 0, 3, 3, 0, 4});
    EXPECT_EQ(connected_components(image, Connectivity::four, DType::i32).dtype(), DType::i32);
  }
}

TEST(Components, Stats) {
  for (const Device& device : devices_under_test()) {
    const Array images = there({1, 0, 1, 0, 0, 1,  //
                                0, 0, 0, 0, 1, 0},
                               {2, 2, 3}, DType::bool_, device);
    const auto [labels, stats, counts] =
        connected_components_with_stats(images, Connectivity::four);
    expect_values(labels, {2, 2, 3}, {1, 0, 2, 0, 0, 2, 0, 0, 0, 0, 1, 0});
    expect_values(counts, {2}, {2, 1});
    expect_values(stats, {2, 3, 5}, {3, 0, 0, 1, 1,  //
                                     1, 0, 0, 0, 0,  //
                                     2, 0, 2, 1, 2,  //
                                     5, 0, 0, 1, 2,  //
                                     1, 1, 1, 1, 1,  //
                                     0, 0, 0, 0, 0});
    const auto none = connected_components_with_stats(zeros({0, 3}, DType::bool_, device));
    expect_values(std::get<1>(none), {1, 5}, {0, 0, 0, 0, 0});
    expect_values(std::get<2>(none), {}, {0});
    const auto no_images = connected_components_with_stats(zeros({0, 2, 2}, DType::bool_, device));
    EXPECT_EQ(std::get<1>(no_images).shape(), Shape({0, 1, 5}));
    EXPECT_EQ(std::get<2>(no_images).shape(), Shape({0}));
  }
}

// A spiral and a comb join late: labels of many first elements become one.
TEST(Components, WhatJoinsLateIsOne) {
  const std::int64_t n = 64;
  Values comb(static_cast<std::size_t>(n * n));
  for (std::int64_t y = 0; y < n; ++y) {
    for (std::int64_t x = 0; x < n; ++x) {
      comb[static_cast<std::size_t>(y * n + x)] = x % 2 == 0 || y == n - 1 ? 1 : 0;
    }
  }
  for (const Connectivity connectivity : {Connectivity::four, Connectivity::eight}) {
    const auto [labels, stats, count] =
        connected_components_with_stats(array(comb, {n, n}, DType::bool_), connectivity);
    EXPECT_EQ(count.item<std::int64_t>(), 1);
    EXPECT_EQ(labels.to_doubles(), comb);
  }
}

TEST(Components, RefusesWhatIsNoImage) {
  expect_error(ErrorCode::dtype, [] { (void)connected_components(ones({3, 3})); });
  expect_error(ErrorCode::shape, [] { (void)connected_components(ones({3}, DType::bool_)); });
  expect_error(ErrorCode::dtype, [] {
    (void)connected_components(ones({3, 3}, DType::bool_), Connectivity::four, DType::u8);
  });
  expect_error(ErrorCode::invalid_argument, [] { (void)connected_components(Array()); });
  expect_error(ErrorCode::invalid_argument, [] { (void)connected_components_with_stats(Array()); });
}

Array five_boxes(Device device) {
  return there(
      {0, 0, 100, 100, 0, 1, 100, 100, 0, 101, 200, 200, 0, 100, 200, 200, 0, 170, 300, 300},
      {5, 4}, DType::f32, device);
}

TEST(Nms, KeepsTheBestOfThoseThatOverlap) {
  for (const Device& device : devices_under_test()) {
    const Array boxes = five_boxes(device);
    const Array scores = there({0.1, 0.2, 0.4, 0.3, 0.5}, {5}, DType::f32, device);
    expect_values(nms(boxes, scores), {3}, {4, 2, 1});
    expect_values(nms(boxes, scores, {.inclusive = true}), {3}, {4, 2, 1});
    expect_values(nms(boxes, scores, {.score_threshold = 0.3}), {2}, {4, 2});
    expect_values(nms(boxes, scores, {.max_boxes = 1}), {1}, {4});
    expect_values(nms(boxes, scores, {.max_boxes = 0}), {0}, {});
    expect_values(nms(boxes, scores, {.iou_threshold = 1}), {5}, {4, 2, 3, 1, 0});
    expect_values(nms(cast(boxes, DType::f64), cast(scores, DType::f64)), {3}, {4, 2, 1});
  }
}

TEST(Nms, TiesAndSpecialValues) {
  for (const Device& device : devices_under_test()) {
    const Array boxes = expand(there({0, 0, 1, 1}, {1, 4}, DType::f32, device), {3, 4});
    expect_values(nms(boxes, ones({3}, DType::f32, device)), {1}, {0});
    expect_values(nms(boxes, there({kNan, -kInf, kInf}, {3}, DType::f32, device)), {1}, {2});
    // Boxes without area overlap nothing, nor do those that are no boxes.
    expect_values(nms(zeros({2, 4}, DType::f32, device), ones({2}, DType::f32, device)), {2},
                  {0, 1});
    expect_values(nms(full({2, 4}, kNan, DType::f32, device), ones({2}, DType::f32, device)), {2},
                  {0, 1});
    expect_values(nms(zeros({0, 4}, DType::f32, device), zeros({0}, DType::f32, device)), {0}, {});
    // One third of the union, which is not above the threshold.
    const Array half = there({0, 0, 2, 1, 1, 0, 3, 1}, {2, 4}, DType::f32, device);
    const Array scores = ones({2}, DType::f32, device);
    expect_values(nms(half, scores, {.iou_threshold = 1.0 / 3}), {2}, {0, 1});
    expect_values(nms(half, scores, {.iou_threshold = 0.33}), {1}, {0});
  }
}

TEST(Nms, RefusesWhatAreNoBoxes) {
  const Array boxes = ones({2, 4}), scores = ones({2});
  expect_error(ErrorCode::shape, [&] { (void)nms(ones({2, 5}), scores); });
  expect_error(ErrorCode::shape, [&] { (void)nms(boxes, ones({3})); });
  expect_error(ErrorCode::shape, [&] { (void)nms(scores, scores); });
  expect_error(ErrorCode::dtype, [&] { (void)nms(boxes, ones({2}, DType::f64)); });
  expect_error(ErrorCode::dtype, [&] { (void)nms(ones({2, 4}, DType::i32), scores); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)nms(boxes, Array()); });
  expect_error(ErrorCode::invalid_argument,
               [&] { (void)nms(boxes, scores, {.iou_threshold = kNan}); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)nms(boxes, scores, {.max_boxes = -1}); });
}

TEST(Vision, WaitsAreCounted) {
  const Array image = ones({3, 3}, DType::bool_);
  const auto waits_of = [](const std::function<void()>& call) {
    const std::int64_t before = statistics().syncs;
    call();
    return statistics().syncs - before;
  };
  EXPECT_EQ(waits_of([&] { (void)connected_components(image); }), 1);
  EXPECT_EQ(waits_of([&] { (void)connected_components_with_stats(image); }), 1);
  EXPECT_EQ(waits_of([&] { (void)nms(five_boxes(Device::cpu()), ones({5})); }), 1);
  EXPECT_EQ(waits_of([&] { (void)dilate(image, image); }), 0);
}

}  // namespace
}  // namespace hearth
