// sort, argsort, topk and median: order, stability, special values, layouts, gradients.
#include <algorithm>
#include <bit>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "check.h"
#include "devices_under_test.h"
#include "hearth/hearth.h"
#include "runtime/device/worker_pool.h"

namespace hearth {
namespace {

using namespace check;
using testing::devices_under_test;
using Places = std::vector<std::int64_t>;

constexpr DType kAllDTypes[] = {DType::f64, DType::f32, DType::f16,  DType::bf16, DType::i64,
                                DType::i32, DType::i16, DType::i8,   DType::u64,  DType::u32,
                                DType::u16, DType::u8,  DType::bool_};

bool precedes(double a, double b) { return std::isnan(b) ? !std::isnan(a) : a < b; }

// Where the elements of a line come from.
Places order_of(const Values& line, bool descending) {
  Places order(line.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::int64_t i, std::int64_t j) {
    const double a = line[static_cast<std::size_t>(i)], b = line[static_cast<std::size_t>(j)];
    if (precedes(a, b) || precedes(b, a)) return precedes(a, b) != descending;
    return i < j;
  });
  return order;
}

// Values and indices of the lines along `axis`, in row-major order of the result.
std::pair<Values, Values> sorted(const Array& x, int axis, bool descending) {
  const Values all = x.to_doubles();
  Values values(all.size()), indices(all.size());
  const std::int64_t n = x.shape(axis);
  std::int64_t outer = 1, inner = 1;
  for (int i = 0; i < axis; ++i) outer *= x.shape(i);
  for (int i = axis + 1; i < x.rank(); ++i) inner *= x.shape(i);
  for (std::int64_t line = 0; line < outer * inner; ++line) {
    const auto place = [&](std::int64_t i) {
      return static_cast<std::size_t>((line / inner * n + i) * inner + line % inner);
    };
    Values elements;
    for (std::int64_t i = 0; i < n; ++i) elements.push_back(all[place(i)]);
    const Places order = order_of(elements, descending);
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t from = order[static_cast<std::size_t>(i)];
      values[place(i)] = elements[static_cast<std::size_t>(from)];
      indices[place(i)] = static_cast<double>(from);
    }
  }
  return {values, indices};
}

void expect_sorted(const Array& x, int axis, const std::string& what) {
  for (const bool descending : {false, true}) {
    const auto [values, indices] = sorted(x, axis, descending);
    const auto both = sort_with_indices(x, axis, descending);
    expect_close(both.first, values, 0, what);
    expect_close(both.second, indices, 0, what);
    expect_close(sort(x, axis, descending), values, 0, what + " alone");
    expect_close(argsort(x, axis, descending), indices, 0, what + " places");
    EXPECT_EQ(both.first.dtype(), x.dtype());
    EXPECT_EQ(both.second.dtype(), DType::i64);
    EXPECT_EQ(both.first.shape(), x.shape());
  }
}

// Few different values, so that there are ties; of floats some are special.
Array with_ties(const Shape& shape, DType dtype, std::uint64_t seed, Device device) {
  Values values = random_values(element_count(shape), 0, 30, seed);
  for (double& value : values) {
    value = std::floor(value) - (is_float(dtype) || info(dtype).is_signed ? 15 : 0);
    if (!is_float(dtype)) continue;
    if (value == 3) value = kNan;
    if (value == 4) value = kInf;
    if (value == 5) value = -kInf;
    if (value == 6) value = -0.0;
    if (value == -7) value = std::ldexp(1.0, -130);
  }
  return to_device(array(values, shape, dtype), device);
}

TEST(Sort, OrdersInfinitiesZerosAndNan) {
  for (const Device& device : devices_under_test()) {
    const Array x =
        to_device(array({0.0, kNan, -1, kInf, -0.0, -kInf, kNan, 2}, {8}, DType::f32), device);
    expect_values(sort(x), {8}, {-kInf, -1, 0.0, -0.0, 2, kInf, kNan, kNan});
    EXPECT_EQ(argsort(x).to_vector<std::int64_t>(), (Places{5, 2, 0, 4, 7, 3, 1, 6}));
    expect_values(sort(x, 0, true), {8}, {kNan, kNan, kInf, 2, 0.0, -0.0, -1, -kInf});
    EXPECT_EQ(argsort(x, 0, true).to_vector<std::int64_t>(), (Places{1, 6, 3, 7, 0, 4, 2, 5}));
  }
}

TEST(Sort, IsStableInEveryDtypeAlongEveryAxis) {
  const Shape shapes[] = {{1},
                          {2, 1},
                          {40},
                          {41, 3},
                          {3, 300},
                          {5, 33},
                          {48, 2},
                          {4, 49},
                          {2, 7, 9},
                          {4, 129},
                          {0, 4},
                          {3, 0},
                          {2, 64},
                          {65, 2},
                          {1, 512},
                          {2, 600},
                          {2, 3, 2, 2, 2, 1, 1, 2}};
  std::uint64_t seed = 1;
  for (const Device& device : devices_under_test()) {
    for (const DType dtype : kAllDTypes) {
      for (const Shape& shape : shapes) {
        const Array x = with_ties(shape, dtype, ++seed, device);
        for (int axis = 0; axis < shape.rank(); ++axis) {
          expect_sorted(x, axis,
                        std::string(name(dtype)) + to_string(shape) + std::to_string(axis));
        }
      }
    }
  }
}

// Beyond what is sorted at once anywhere.
TEST(Sort, LongLines) {
  std::uint64_t seed = 100;
  for (const Device& device : devices_under_test()) {
    for (const DType dtype : {DType::f32, DType::f64, DType::u16}) {
      expect_sorted(with_ties({2, 4100}, dtype, ++seed, device), 1, std::string(name(dtype)));
      expect_sorted(with_ties({4097, 3}, dtype, ++seed, device), 0, std::string(name(dtype)));
      const Array distinct =
          to_device(random_array({6000}, dtype, is_float(dtype) ? -1e4 : 0, 100, ++seed), device);
      expect_sorted(distinct, 0, std::string(name(dtype)));
    }
  }
}

// Lines that all threads of the CPU share, and the same by one.
TEST(Sort, LinesThatThreadsShare) {
  WorkerPool& pool = WorkerPool::global();
  const int before = pool.threads();
  for (const int threads : {1, 3}) {
    pool.set_threads(threads);
    for (const DType dtype : {DType::f32, DType::f64, DType::i16, DType::bool_}) {
      expect_sorted(with_ties({200001}, dtype, 7, Device::cpu()), 0, std::string(name(dtype)));
      expect_sorted(random_array({2, 140000}, dtype, 0, 1e4, 8), 1, std::string(name(dtype)));
      expect_sorted(random_array({140000, 2}, dtype, 0, 1e4, 9), 0, std::string(name(dtype)));
    }
  }
  pool.set_threads(before);
}

// The bits of each element survive: signs of zeros, payloads and signs of NaN.
TEST(Sort, MovesBits) {
  std::uint64_t state = 5;
  for (const std::int64_t n : {20, 700, 5000, 150000}) {
    std::vector<float> x;
    for (std::int64_t i = 0; i < n; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      const auto pick = static_cast<std::uint32_t>(state >> 33);
      const std::uint32_t sign = pick << 31;
      x.push_back(std::bit_cast<float>(pick % 3 == 0   ? sign
                                       : pick % 3 == 1 ? (0x7f800001u + pick % 1000) | sign
                                                       : pick));
    }
    for (const Device& device : devices_under_test()) {
      if (n > 10000 && device != Device::cpu()) continue;
      const Array array = to_device(Array::from_data(x, {n}), device);
      for (const bool descending : {false, true}) {
        const Places order = argsort(array, 0, descending).to_vector<std::int64_t>();
        const std::vector<float> alone = sort(array, 0, descending).to_vector<float>();
        const auto both = sort_with_indices(array, 0, descending);
        const std::vector<float> values = both.first.to_vector<float>();
        const Places indices = both.second.to_vector<std::int64_t>();
        EXPECT_EQ(indices, order);
        for (std::size_t i = 0; i < x.size(); ++i) {
          const auto bits = std::bit_cast<std::uint32_t>(x[static_cast<std::size_t>(order[i])]);
          ASSERT_EQ(std::bit_cast<std::uint32_t>(alone[i]), bits) << n << " at " << i;
          ASSERT_EQ(std::bit_cast<std::uint32_t>(values[i]), bits) << n << " at " << i;
        }
      }
    }
  }
}

TEST(Sort, WholeRangeOfIntegers) {
  const std::vector<std::int64_t> i64 = {INT64_MAX, -1, INT64_MIN, 0, 1, INT64_MIN, INT64_MAX - 1};
  const std::vector<std::uint64_t> u64 = {UINT64_MAX, 0, 1ull << 63, (1ull << 63) - 1, UINT64_MAX};
  const std::vector<std::int8_t> i8 = {127, -128, 0, -1, 1, -128};
  const auto check = [](auto values, const Device& device) {
    using T = typename decltype(values)::value_type;
    const auto n = static_cast<std::int64_t>(values.size());
    const Array x = to_device(Array::from_data(values, {n}), device);
    std::sort(values.begin(), values.end());
    EXPECT_EQ(hearth::sort(x).template to_vector<T>(), values);
    std::reverse(values.begin(), values.end());
    EXPECT_EQ(hearth::sort(x, -1, true).template to_vector<T>(), values);
  };
  for (const Device& device : devices_under_test()) {
    check(i64, device);
    check(u64, device);
    check(i8, device);
  }
}

TEST(Sort, ReadsAnyLayout) {
  for (const Device& device : devices_under_test()) {
    const Array x = with_ties({6, 50, 4}, DType::f32, 77, device).eval();
    const Array views[] = {transpose(x),
                           permute(x, {2, 0, 1}),
                           flip(x, {1}),
                           slice(x, {{1, 6, 2}, {3, 48, 3}, {0, 4, -1}}),
                           expand(narrow(x, 0, 2, 1), {3, 50, 4}),
                           expand(narrow(x, 1, 2, 1), {6, 9, 4})};
    for (const Array& view : views) {
      for (int axis = 0; axis < 3; ++axis) {
        expect_sorted(view, axis, to_string(view.shape()) + std::to_string(axis));
      }
    }
  }
}

// Any byte but 0 is true, and equal to any other.
TEST(Sort, Bool) {
  for (const Device& device : devices_under_test()) {
    const Array x = to_device(array({1, 0, 1, 0, 0}, {5}, DType::bool_), device);
    EXPECT_EQ(sort(x).to_doubles(), (Values{0, 0, 0, 1, 1}));
    EXPECT_EQ(argsort(x).to_doubles(), (Values{1, 3, 4, 0, 2}));
    EXPECT_EQ(argsort(x, 0, true).to_doubles(), (Values{0, 2, 1, 3, 4}));
  }
}

TEST(Sort, IndicesOfAnyIntegerDtype) {
  for (const Device& device : devices_under_test()) {
    const Array x = with_ties({3, 100}, DType::f32, 3, device);
    const Values expected = argsort(x, 1).to_doubles();
    for (const DType dtype : kAllDTypes) {
      if (!is_int(dtype)) {
        expect_error(ErrorCode::dtype, [&] { (void)argsort(x, 1, false, dtype); });
        continue;
      }
      const Array got = argsort(x, 1, false, dtype);
      EXPECT_EQ(got.dtype(), dtype);
      EXPECT_EQ(got.to_doubles(), expected) << name(dtype);
    }
  }
  expect_error(ErrorCode::dtype, [] { (void)argsort(zeros({2, 129}), 1, false, DType::i8); });
  EXPECT_EQ(argsort(zeros({129, 128}), 1, false, DType::i8).shape(), (Shape{129, 128}));
}

TEST(Sort, Refuses) {
  expect_error(ErrorCode::invalid_argument, [] { (void)sort(Array()); });
  expect_error(ErrorCode::invalid_argument, [] { (void)sort(zeros({2, 3}), 2); });
  expect_error(ErrorCode::invalid_argument, [] { (void)argsort(zeros({2, 3}), -3); });
  expect_error(ErrorCode::invalid_argument, [] { (void)topk(zeros({2, 3}), 4); });
  expect_error(ErrorCode::invalid_argument, [] { (void)topk(zeros({2, 3}), -1, 0); });
  expect_error(ErrorCode::invalid_argument, [] { (void)argtopk(zeros({2, 3}), 3, 0); });
  expect_error(ErrorCode::invalid_argument, [] { (void)median(zeros({2, 0}), 1); });
  expect_error(ErrorCode::dtype, [] { (void)median(zeros({2, 2}, DType::bool_), 1); });
}

TEST(Topk, LargestInDescendingOrder) {
  for (const Device& device : devices_under_test()) {
    const Array x = to_device(array({3, 7, 7, -1, kNan, 7, 2, 7, 9, 9}, {2, 5}), device);
    expect_values(topk(x, 3), {2, 3}, {kNan, 7, 7, 9, 9, 7});
    const auto [values, indices] = topk_with_indices(x, 3);
    expect_values(values, {2, 3}, {kNan, 7, 7, 9, 9, 7});
    EXPECT_EQ(indices.to_doubles(), (Values{4, 1, 2, 3, 4, 0}));
    EXPECT_EQ(argtopk(x, 1, 0, DType::i32).to_doubles(), (Values{1, 0, 0, 1, 0}));
    EXPECT_EQ(argtopk(x, 1, 0, DType::i32).dtype(), DType::i32);
    EXPECT_EQ(topk(x, 0).shape(), (Shape{2, 0}));
    expect_close(topk(x, 2, 0), sort(x, 0, true).to_doubles(), 0);
  }
}

TEST(Median, IsTheLowerOfTwoAndNanWins) {
  for (const Device& device : devices_under_test()) {
    const Array x = to_device(array({4, 1, 3, 2, 5, kNan, 0, kNan, 2, 2, 1, 1}, {3, 4}), device);
    expect_values(median(x, 1), {3}, {2, kNan, 1});
    expect_values(median(x, -1, true), {3, 1}, {2, kNan, 1});
    const auto [values, indices] = median_with_indices(x, 1);
    expect_values(values, {3}, {2, kNan, 1});
    EXPECT_EQ(indices.to_doubles(), (Values{3, 1, 3}));
    expect_values(median(x, 0), {4}, {4, kNan, 1, kNan});
    const Array odd = to_device(array({5, -3, 4, 0, 0}, {5}, DType::i32), device);
    EXPECT_EQ(median(odd, 0).to_doubles(), (Values{0}));
    EXPECT_EQ(median_with_indices(odd, 0).second.to_doubles(), (Values{4}));
    EXPECT_EQ(median(odd, 0).dtype(), DType::i32);
  }
}

TEST(Sort, Gradients) {
  const Values values = random_values(24, -2, 2, 11);
  const Array x = array(values, {2, 3, 4});
  for (const std::int64_t axis : {0, 1, 2}) {
    check_gradients([&](std::span<const Array> in) { return sort(in[0], axis); }, {x});
    check_gradients([&](std::span<const Array> in) { return topk(in[0], 2, axis); }, {x});
    check_gradients([&](std::span<const Array> in) { return median(in[0], axis); }, {x});
    check_second_gradients(
        [&](std::span<const Array> in) { return square(sort(in[0], axis, true)); }, {x});
  }
  // Each of equal elements gets its own.
  const Array ties = array({1, 1, 0, 1}, {4}).require_grad();
  const Gradients gradients = backward(sum(mul(sort(ties), array({1, 2, 3, 4}, {4}))));
  EXPECT_EQ(gradients.get(ties).to_doubles(), (Values{2, 3, 1, 4}));
}

TEST(Sort, TypedMethods) {
  const Tensor<2> x{{2, 3, 1}, {6, 5, 4}};
  const Array& a = x.array();
  EXPECT_EQ(x.sort(1).array().to_doubles(), (Values{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(x.sort_descending(-1).array().to_doubles(), (Values{3, 2, 1, 6, 5, 4}));
  EXPECT_EQ(x.argsort(1).array().to_doubles(), (Values{2, 0, 1, 2, 1, 0}));
  EXPECT_EQ(x.argsort_descending(0).array().to_doubles(), (Values{1, 1, 1, 0, 0, 0}));
  EXPECT_EQ(x.sort_with_indices(1).second.array().to_doubles(), argsort(a).to_doubles());
  EXPECT_EQ(x.sort_descending_with_indices(1).second.array().to_doubles(),
            argsort(a, 1, true).to_doubles());
  EXPECT_EQ(x.topk(2, 1).array().to_doubles(), (Values{3, 2, 6, 5}));
  EXPECT_EQ(x.argtopk(1, 1).array().to_doubles(), (Values{1, 0}));
  EXPECT_EQ(x.topk_with_indices(1, 0).first.array().to_doubles(), (Values{6, 5, 4}));
  EXPECT_EQ(x.median(1).array().shape(), (Shape{2, 1}));
  EXPECT_EQ(x.median_with_indices(1).first.array().to_doubles(), (Values{2, 5}));
}

}  // namespace
}  // namespace hearth
