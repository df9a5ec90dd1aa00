// Shapes whose elements cannot be counted.
#include <gtest/gtest.h>

#include <vector>

#include "error_text.h"
#include "hearth/ops.h"

namespace hearth {
namespace {

constexpr std::int64_t kLong = std::int64_t{1} << 32;

// Of one element in memory.
Array stretched(const Shape& shape, double value = 0) { return full(shape, value); }

template <class Call>
std::string error_of(Call call) {
  return check::error_of(ErrorCode::shape, call);
}

// The product of extents wrapped to 0: results were empty, and slices of them read beside them.
TEST(Extents, BroadcastResultsAreCounted) {
  const Array a = stretched({kLong, 1}, 2), b = stretched({1, kLong}, 3);
  const std::string text = error_of([&] { (void)mul(a, b); });
  EXPECT_EQ(text.rfind("mul: ", 0), 0u) << text;
  EXPECT_NE(text.find("[4294967296, 1] [1, 4294967296]"), std::string::npos) << text;
  error_of([&] { (void)add(a, b); });
  error_of([&] { (void)less(a, b); });
  error_of([&] { (void)lerp(a, b, 0.5); });
  error_of([&] { (void)where(less(a, 1.0), a, b); });
  EXPECT_EQ(mul(a, a).size(), kLong);
}

TEST(Extents, OfEveryFamilyAreCounted) {
  const auto expect_names = [](const char* op, const std::string& text) {
    EXPECT_EQ(text.rfind(std::string(op) + ": ", 0), 0u) << text;
  };
  const Array tall = stretched({kLong, 1}), flat = stretched({1, kLong});
  expect_names("matmul", error_of([&] { (void)matmul(tall, flat); }));
  expect_names("one_hot", error_of([&] { (void)one_hot(zeros({1000}, DType::i64), kLong << 26); }));
  const Array part = zeros({std::int64_t{1} << 59});
  expect_names("cat", error_of([&] { (void)cat(std::vector<Array>(32, part), 0); }));
  const Array q = stretched({1, 1, kLong, 1}), v = stretched({1, 1, 1, kLong});
  expect_names("attention", error_of([&] { (void)attention(q, q, q); }));
  expect_names("attention", error_of([&] { (void)attention(q, stretched({1, 1, 1, 1}), v); }));
}

// Strides are products of all other extents, so these count where another one is 0.
TEST(Extents, CountBesideAnExtentOfZero) {
  error_of([] { (void)zeros({0, kLong, kLong}); });
  error_of([] { (void)mul(zeros({0, kLong, 1}), zeros({1, 1, kLong})); });
  EXPECT_EQ(zeros({0, kLong, 1 << 20}).size(), 0);
}

// The bytes of a plan's arena wrapped: to a negative number, which was left out, or to a small one.
TEST(Extents, BytesOfAPlanAreCounted) {
  const std::int64_t count = std::int64_t{1} << 59;
  const auto refused = [](const Array& value) {
    const std::string text = check::error_of(ErrorCode::out_of_memory, [&] { (void)value.item(); });
    EXPECT_EQ(text.find("needs -"), std::string::npos) << text;
  };
  const Array x = full({count}, 1, DType::f64, Device::cpu());
  refused(sum(softmax(x, 0)));
  refused(sum(cumsum(x, 0)));
  refused(median(x, 0));
  refused(sum(softmax(x, 0)) + sum(cumsum(x, 0)) + sum(cumprod(x, 0)) + sum(cummax(x, 0)));
}

}  // namespace
}  // namespace hearth
