// random_permutation(): every order equally likely, the same on all devices.
#include <algorithm>
#include <map>
#include <numeric>
#include <vector>

#include "check.h"
#include "devices_under_test.h"
#include "hearth/random.h"

namespace hearth {
namespace {

using check::expect_error;
using Order = std::vector<std::int64_t>;

Order permutation(std::int64_t count, Generator* source, Device device = Device()) {
  return random_permutation(count, DType::i64, device, source).to_vector<std::int64_t>();
}

TEST(RandomPermutation, HasEachNumberOnce) {
  for (const std::int64_t count : {0, 1, 2, 3, 17, 1000, 100003}) {
    Generator source{3, 7};
    const Array drawn = random_permutation(count, DType::i64, Device(), &source);
    EXPECT_EQ(drawn.shape(), Shape{count});
    Order order = drawn.to_vector<std::int64_t>();
    Order sorted(static_cast<std::size_t>(count));
    std::iota(sorted.begin(), sorted.end(), 0);
    if (count > 10) {
      EXPECT_NE(order, sorted);
    }
    std::sort(order.begin(), order.end());
    EXPECT_EQ(order, sorted);
  }
}

// Pearson's statistic of 23 degrees of freedom: above 49.7 in one of 1000 sets of draws.
TEST(RandomPermutation, EveryOrderIsEquallyLikely) {
  constexpr int kDraws = 24000;
  std::map<Order, int> counts;
  Generator source{11, 0};
  for (int i = 0; i < kDraws; ++i) ++counts[permutation(4, &source)];
  ASSERT_EQ(counts.size(), 24u);
  double statistic = 0;
  for (const auto& [order, count] : counts) {
    const double off = count - kDraws / 24.0;
    statistic += off * off / (kDraws / 24.0);
  }
  EXPECT_LT(statistic, 49.7);
}

TEST(RandomPermutation, FollowsItsGenerator) {
  Generator source{5, 9};
  Generator equal = source;
  const Order first = permutation(50, &source);
  EXPECT_EQ(source, (Generator{5, 10}));
  EXPECT_NE(permutation(50, &source), first);
  EXPECT_EQ(permutation(50, &equal), first);
  Generator other{6, 9};
  EXPECT_NE(permutation(50, &other), first);
  Generator narrow{5, 9};
  const Array drawn = random_permutation(50, DType::i32, Device(), &narrow);
  EXPECT_EQ(drawn.dtype(), DType::i32);
  EXPECT_EQ(drawn.to_doubles(), std::vector<double>(first.begin(), first.end()));
  seed(8);
  const Order of_thread = random_permutation(50).to_vector<std::int64_t>();
  EXPECT_EQ(generator(), (Generator{8, 1}));
  seed(8);
  EXPECT_EQ(random_permutation(50).to_vector<std::int64_t>(), of_thread);
}

// The bits are part of what a seed promises.
TEST(RandomPermutation, GoldenValues) {
  Generator zero;
  EXPECT_EQ(permutation(8, &zero), (Order{2, 6, 0, 7, 1, 4, 3, 5}));
}

TEST(RandomPermutation, DevicesAgree) {
  Generator first{4, 4};
  const Order expected = permutation(1000, &first, Device::cpu());
  std::vector<Device> devices = testing::devices_under_test();
  devices.push_back(testing::kernel_device_under_test());
  for (const Device device : devices) {
    Generator source{4, 4};
    const Array drawn = random_permutation(1000, DType::i64, device, &source);
    EXPECT_EQ(drawn.device(), device);
    EXPECT_EQ(drawn.to_vector<std::int64_t>(), expected) << device.name();
  }
}

TEST(RandomPermutation, Errors) {
  Generator source{1, 2};
  const auto drawn = [&](std::int64_t count, DType dtype) {
    return [&source, count, dtype] { (void)random_permutation(count, dtype, Device(), &source); };
  };
  expect_error(ErrorCode::invalid_argument, drawn(-1, DType::i64));
  expect_error(ErrorCode::dtype, drawn(4, DType::f32));
  expect_error(ErrorCode::dtype, drawn(4, DType::u32));
  expect_error(ErrorCode::dtype, drawn((std::int64_t{1} << 31) + 1, DType::i32));
  expect_error(ErrorCode::out_of_memory, drawn(INT64_MAX, DType::i64));
  EXPECT_EQ(source, (Generator{1, 2}));
}

}  // namespace
}  // namespace hearth
