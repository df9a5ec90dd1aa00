#include "hearth/tensor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <set>

#include "error_text.h"

namespace hearth {
namespace {

using Values = std::vector<double>;

template <int R, class K>
Values values(const Tensor<R, K>& tensor) {
  return tensor.array().to_doubles();
}

TEST(Tensor, MakesValuesFromNestedLists) {
  const auto x = Tensor<2>::from_data({{1, 2, 3}, {4, 5, 6}});
  EXPECT_EQ(x.dims(), (std::array<std::int64_t, 2>{2, 3}));
  EXPECT_EQ(x.dtype(), DType::f32);
  EXPECT_EQ(values(x), (Values{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ((Tensor<2, Int>::from_ints({{1}, {2}}).dtype()), DType::i64);
  EXPECT_EQ(values(Tensor<1, Bool>::from_bool({true, false})), (Values{1, 0}));
  EXPECT_THROW((void)(Tensor<2>::from_data({{1, 2}, {3}})), Error);
  EXPECT_EQ(values(Tensor<1, Bool>::from_data(std::vector<bool>{true, false}, {2})),
            (Values{1, 0}));
}

TEST(Tensor, CreatesWithDtypes) {
  EXPECT_EQ(values(Tensor<2>::zeros({1, 2})), (Values{0, 0}));
  EXPECT_EQ(values(Tensor<2, Int>::ones({1, 2})), (Values{1, 1}));
  EXPECT_EQ(values(Tensor<1>::full({2}, 1.5, DType::f64)), (Values{1.5, 1.5}));
  EXPECT_EQ((Tensor<1, Int>::arange(2, 5).to_data<std::int64_t>()),
            (std::vector<std::int64_t>{2, 3, 4}));
  EXPECT_THROW((void)Tensor<1>::zeros({2}, DType::i32), Error);
  EXPECT_THROW((void)(Tensor<1, Int>::zeros({2}).cast(DType::f32)), Error);
  // Bounds were truncated, so that 0 was drawn and 3 was not.
  const Values between = values(Tensor<1, Int>::random({200}, Uniform(0.5, 3.7)));
  EXPECT_EQ(std::set<double>(between.begin(), between.end()), (std::set<double>{1, 2, 3}));
  const Values around = values(Tensor<1, Int>::random({200}, Uniform(-1.5, 1.5)));
  EXPECT_EQ(std::set<double>(around.begin(), around.end()), (std::set<double>{-1, 0, 1}));
  EXPECT_THROW((void)(Tensor<1, Int>::random({2}, Uniform(0, 1e300))), Error);
  EXPECT_THROW((void)(Tensor<1, Int>::random({2}, Uniform(std::nan(""), 3))), Error);
  EXPECT_THROW((void)(Tensor<1, Int>::random({2}, Uniform(0, 300), DType::u8)), Error);
  const Values die = values(Tensor<1, Int>::random({200}, Uniform(1, 7)));
  for (const double face : die) {
    EXPECT_GE(face, 1);
    EXPECT_LE(face, 6);
  }
}

TEST(Tensor, WrappingChecksRankAndKind) {
  const Array x = zeros({2, 3});
  EXPECT_NO_THROW((void)Tensor<2>{x});
  EXPECT_THROW((void)Tensor<1>{x}, Error);
  EXPECT_THROW((void)(Tensor<2, Int>{x}), Error);
}

TEST(Tensor, ArithmeticWithTensorsAndNumbers) {
  const auto x = Tensor<1>::from_data({1, 2, 4});
  EXPECT_EQ(values((1 - x) * 2 + x / x), (Values{1, -1, -5}));
  EXPECT_EQ(values(x.add_scalar(1).sub(x).mul_scalar(3)), (Values{3, 3, 3}));
  EXPECT_EQ(values(8 / x), (Values{8, 4, 2}));
  EXPECT_EQ(values(-x % 3), (Values{2, 1, 2}));
  EXPECT_EQ(values(x.powf_scalar(0.5).square()), (Values{1, std::sqrt(2.0f) * std::sqrt(2.0f), 4}));
  EXPECT_EQ(values(x.sqrt()), (Values{1, std::sqrt(2.0f), 2}));
  const auto i = Tensor<1, Int>::from_ints({-7, 7});
  EXPECT_EQ(values(i / 2), (Values{-3, 3}));
  EXPECT_EQ(values(i % 4), (Values{1, 3}));
  EXPECT_EQ(values(x.clamp(1.5, 3)), (Values{1.5, 2, 3}));
}

TEST(Tensor, ReductionsOverEverythingHaveRankOne) {
  const auto x = Tensor<2>::from_data({{1, 2}, {3, 6}});
  EXPECT_EQ(x.sum().dims(), (std::array<std::int64_t, 1>{1}));
  EXPECT_EQ(x.sum().into_scalar(), 12);
  EXPECT_EQ(x.mean().item(), 3);
  EXPECT_EQ(x.max().item(), 6);
  EXPECT_EQ(values(x.sum_dim(0)), (Values{4, 8}));
  EXPECT_EQ(x.sum_dim(0).dims(), (std::array<std::int64_t, 2>{1, 2}));
  EXPECT_EQ(values(x.mean_dim(-1)), (Values{1.5, 4.5}));
  const auto [largest, where] = x.max_dim_with_indices(1);
  EXPECT_EQ(values(largest), (Values{2, 6}));
  EXPECT_EQ(values(where), (Values{1, 1}));
  EXPECT_TRUE(x.greater(5).any().item());
  EXPECT_FALSE(x.greater(5).all().item());
  EXPECT_EQ(values(x.greater(2).all_dim(1)), (Values{0, 1}));
}

TEST(Tensor, ShapesAndParts) {
  const auto x = Tensor<2>::from_data({{1, 2, 3}, {4, 5, 6}});
  EXPECT_EQ(values(x.transpose()), (Values{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(x.reshape({3, -1}).dims(), (std::array<std::int64_t, 2>{3, 2}));
  EXPECT_EQ(x.unsqueeze<4>().dims(), (std::array<std::int64_t, 4>{1, 1, 2, 3}));
  EXPECT_EQ((x.flatten<1>(0, 1).dims()), (std::array<std::int64_t, 1>{6}));
  EXPECT_EQ(values(x.slice({{0, 2}, {0, std::nullopt, -2}})), (Values{3, 1, 6, 4}));
  EXPECT_EQ(values(x.slice_dim(1, {1, 2})), (Values{2, 5}));
  EXPECT_EQ(values(x.slice_fill({{0, 1}, {0, 2}}, 9)), (Values{9, 9, 3, 4, 5, 6}));
  EXPECT_EQ(values(x.slice_fill({{0, 2}, {0, 3, -2}}, 9)), (Values{9, 2, 9, 9, 5, 9}));
  EXPECT_EQ(values(x.narrow(1, 1, 2)), (Values{2, 3, 5, 6}));
  EXPECT_EQ(x.chunk(2, 1).size(), 2u);
  EXPECT_EQ(x.split(2, 1)[1].dims(), (std::array<std::int64_t, 2>{2, 1}));
  EXPECT_THROW(x.split(0, 1), Error);
  EXPECT_EQ(values(Tensor<2>::cat({x, x}, 1)), (Values{1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6}));
  EXPECT_EQ(Tensor<2>::stack({x, x}, 1).dims(), (std::array<std::int64_t, 3>{2, 2, 3}));
  EXPECT_EQ(values(x.repeat_dim(0, 2)), (Values{1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6}));
}

TEST(Tensor, IndexingAndMasks) {
  const auto x = Tensor<2>::from_data({{1, 2, 3}, {4, 5, 6}});
  EXPECT_EQ(values(x.gather(1, Tensor<2, Int>::from_ints({{2}, {0}}))), (Values{3, 4}));
  EXPECT_EQ(values(x.select(0, Tensor<1, Int>::from_ints({1, 1}))), (Values{4, 5, 6, 4, 5, 6}));
  EXPECT_EQ(values(x.select_assign(1, Tensor<1, Int>::from_ints({0, 0}), Tensor<2>::ones({2, 2}))),
            (Values{3, 2, 3, 6, 5, 6}));
  EXPECT_EQ(values(x.scatter(1, Tensor<2, Int>::from_ints({{1}, {1}}), Tensor<2>::ones({2, 1}))),
            (Values{1, 3, 3, 4, 6, 6}));
  EXPECT_EQ(values(x.mask_fill(x.greater(4), 0)), (Values{1, 2, 3, 4, 0, 0}));
  EXPECT_EQ(values(x.mask_where(x.lower(2), x.neg())), (Values{-1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(values(Tensor<1, Int>::from_ints({1, 0}).one_hot(2)), (Values{0, 1, 1, 0}));
}

TEST(Tensor, OperatorsCompareAndCombine) {
  const Tensor<1> x{1, 2, 3};
  EXPECT_EQ(values(x > 1.5), (Values{0, 1, 1}));
  EXPECT_EQ(values(2 < x), (Values{0, 0, 1}));
  EXPECT_EQ(values(x == x.flip({0})), (Values{0, 1, 0}));
  EXPECT_EQ(values(x != 2), (Values{1, 0, 1}));
  EXPECT_EQ(values((x >= 2) & !(x == 3)), (Values{0, 1, 0}));
  EXPECT_EQ(values((x < 2) | (x > 2)), (Values{1, 0, 1}));
  EXPECT_EQ(values((x <= 2) ^ (x >= 2)), (Values{1, 0, 1}));
  Tensor<1> y = x;
  y += 1;
  y *= y;
  y -= x;
  y /= 2;
  EXPECT_EQ(values(y), (Values{1.5, 3.5, 6.5}));
  EXPECT_EQ(values(x), (Values{1, 2, 3}));
}

TEST(Tensor, IndexedByWords) {
  const Tensor<2> x{{1, 2, 3}, {4, 5, 6}};
  EXPECT_EQ(values(x[1]), (Values{4, 5, 6}));
  EXPECT_EQ(values(x[-1][0]), (Values{4}));
  EXPECT_EQ(x[0][0].dims(), (std::array<std::int64_t, 1>{1}));
  EXPECT_EQ(values(x[from(1)]), (Values{4, 5, 6}));
  EXPECT_EQ(values(x[Tensor<1, Int>{1, 0, 1}]), (Values{4, 5, 6, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(values(x.slice(all, at(1))), (Values{2, 5}));
  EXPECT_EQ(values(x.slice(all, range(0, 3, 2))), (Values{1, 3, 4, 6}));
  EXPECT_EQ(values(x.slice(to(1), from(-2))), (Values{2, 3}));
  EXPECT_EQ(values(x.slice(ellipsis, 2)), (Values{3, 6}));
  EXPECT_EQ(x.slice(all, new_axis).dims(), (std::array<std::int64_t, 3>{2, 1, 3}));
  EXPECT_EQ(x.slice(new_axis, 0, ellipsis, new_axis).dims(),
            (std::array<std::int64_t, 3>{1, 3, 1}));
  EXPECT_EQ(values(x.set({0}, 9)), (Values{9, 9, 9, 4, 5, 6}));
  EXPECT_EQ(values(x.set({all, at(1)}, Tensor<1>{7, 8})), (Values{1, 7, 3, 4, 8, 6}));
  EXPECT_EQ(values(x.set({all, from(1)}, Tensor<2>{{0}, {1}})), (Values{1, 0, 0, 4, 1, 1}));
  EXPECT_EQ(values(x.set(x > 4, 0)), (Values{1, 2, 3, 4, 0, 0}));
  EXPECT_EQ(values(x[0].set({1}, x[1][2])), (Values{1, 6, 3}));
  EXPECT_EQ(values(x[0].set({0}, 9)), (Values{9, 2, 3}));
  EXPECT_EQ(values(x.set(x > 4, -x)), (Values{1, 2, 3, 4, -5, -6}));
  EXPECT_EQ(values(x.select(0, {1, 0})), (Values{4, 5, 6, 1, 2, 3}));
  std::vector<double> sums;
  for (const auto& row : x) sums.push_back(row.sum().item());
  EXPECT_EQ(sums, (Values{6, 15}));
}

// What the Error says, without the caller's line (graph/call_site_test.cc).
template <class Work>
std::string error_of(Work work) {
  const std::string text = check::error_of(work);
  return text.substr(0, text.find(std::string(" at ") + __FILE__));
}

TEST(Tensor, ListsOfIntegersArePositions) {
  const Tensor<2> x{{1, 2}, {3, 4}, {5, 6}};
  EXPECT_EQ(values(x[{2, 0}]), (Values{5, 6, 1, 2}));
  EXPECT_EQ(values(x[{-1}]), (Values{5, 6}));
  EXPECT_EQ(values(x.set({{0, 1}}, 9)), (Values{9, 9, 9, 9, 5, 6}));
  EXPECT_EQ(values(x.set({{1, -1}}, Tensor<1>{7, 8})), (Values{1, 2, 7, 8, 7, 8}));
  EXPECT_EQ(values(x.set({{1, 1}}, Tensor<2>{{7, 8}, {0, 9}})), (Values{1, 2, 0, 9, 5, 6}));
  const Tensor<1> v{1, 2, 3};
  EXPECT_EQ(values(v.set({{0, 1}}, 9)), (Values{9, 9, 3}));
  EXPECT_EQ(values(v.set({{0, 1}}, Tensor<1>{7, 8})), (Values{7, 8, 3}));
  EXPECT_EQ(values(v.set({{true, false, true}}, 9)), (Values{9, 2, 9}));
  const Tensor<1> w = v.require_grad();
  EXPECT_EQ(values(w.set({{0, 2}}, 9).square().sum().backward().at(w)), (Values{0, 4, 0}));
  EXPECT_EQ(error_of([&] { (void)x[{0, 3}]; }),
            "index: position out of range; got 3 of axis 0, expected one of 3 elements");
  EXPECT_EQ(error_of([&] { (void)x.set({{0, -4}}, 1); }),
            "set: position out of range; got -4 of axis 0, expected one of 3 elements");
  EXPECT_EQ(error_of([&] { (void)x.set({{0, 1}}, Tensor<2>::ones({3, 2})); }).rfind("set: ", 0),
            0u);
}

TEST(Tensor, MasksAndValuesDoNotEnlargeWhatTheyChange) {
  const Tensor<2> x{{1, 2, 3}};
  const Tensor<2, Bool> large{{true, false, true}, {false, true, false}};
  const Tensor<2> two = Tensor<2>::zeros({2, 3});
  const Tensor<2, Bool> row = x > 1;
  const std::string mask =
      ": mask does not broadcast to the tensor; got [2, 3] for [1, 3], "
      "expected equal extents or 1";
  const std::string value =
      ": value does not broadcast to the tensor; got [2, 3] for [1, 3], "
      "expected equal extents or 1";
  EXPECT_EQ(error_of([&] { (void)x.set(large, 0); }), "set" + mask);
  EXPECT_EQ(error_of([&] { (void)x.set(large, -x); }), "set" + mask);
  EXPECT_EQ(error_of([&] { (void)x.mask_fill(large, 0); }), "mask_fill" + mask);
  EXPECT_EQ(error_of([&] { (void)x.mask_where(large, -x); }), "mask_where" + mask);
  EXPECT_EQ(error_of([&] { (void)x.set(row, two); }), "set" + value);
  EXPECT_EQ(values(two.set(row, -x)), (Values{0, -2, -3, 0, -2, -3}));
  EXPECT_EQ(values(two.set(Tensor<2, Bool>{{true}, {false}}, 5)), (Values{5, 5, 5, 0, 0, 0}));
}

TEST(Tensor, HabitsOfOtherLibraries) {
  const Tensor<2> x{{1, 2, 3}, {4, 5, 6}};
  EXPECT_EQ(x.reshape(3, 2).dims(), (std::array<std::int64_t, 2>{3, 2}));
  EXPECT_EQ(values(x.slice_dim(0, {0, 1}).squeeze(0)), (Values{1, 2, 3}));
  EXPECT_EQ(x.to(DType::f64).dtype(), DType::f64);
  EXPECT_EQ(values(x.to(Device::cpu())), values(x));
  EXPECT_NEAR(x.softmax(1).sum().item(), 2, 1e-6);
  EXPECT_NEAR(x.sigmoid().mean().item(), activation::sigmoid(x).mean().item(), 1e-7);
  EXPECT_EQ(values((-x).relu()), (Values{0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(values(x.lerp(-x, 0.5)), (Values{0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(loss::mse(x, x + 2).item(), 4);
}

TEST(Tensor, SetTakesListsForValues) {
  const Tensor<1> w{5, 6, 7};
  EXPECT_EQ(w.set({{0}}, {9.0}).to_data<float>(), (std::vector<float>{9, 6, 7}));
  EXPECT_EQ(w.set({1}, {9.0}).to_data<float>(), (std::vector<float>{5, 9, 7}));
  EXPECT_EQ(w.set({{2, 0}}, {1.0, 2.0}).to_data<float>(), (std::vector<float>{2, 6, 1}));
  const Tensor<2> x{{1, 2}, {3, 4}};
  EXPECT_EQ(x.set({{1, 0}}, {{10, 20}, {30, 40}}).to_data<float>(),
            (std::vector<float>{30, 40, 10, 20}));
}

TEST(Tensor, LogicTakesTruths) {
  const Tensor<1, Bool> m{true, false};
  EXPECT_EQ(logical_and(m, true).to_data<bool>(), (std::vector<bool>{true, false}));
  EXPECT_EQ(logical_or(true, m).to_data<bool>(), (std::vector<bool>{true, true}));
}

TEST(Tensor, ANumberMayComeFirst) {
  const Tensor<1> x{-1, 2};
  EXPECT_EQ(maximum(0, x).to_data<float>(), (std::vector<float>{0, 2}));
  EXPECT_EQ(minimum(0.5, x).to_data<float>(), (std::vector<float>{-1, 0.5}));
  EXPECT_EQ(pow(2, x).to_data<float>(), (std::vector<float>{0.5, 4}));
  EXPECT_EQ(sub(1, x).to_data<float>(), (std::vector<float>{2, -1}));
  EXPECT_EQ(less(0, x).to_data<bool>(), (std::vector<bool>{false, true}));
  EXPECT_EQ((~(x > 0)).to_data<bool>(), (std::vector<bool>{true, false}));
}

TEST(Tensor, ExtentsInARow) {
  EXPECT_EQ(Tensor<2>::zeros(2, 3).dims(), (std::array<std::int64_t, 2>{2, 3}));
  EXPECT_EQ(Tensor<3>::ones(1, 2, 3).permute(2, 0, 1).dims(),
            (std::array<std::int64_t, 3>{3, 1, 2}));
  EXPECT_EQ(Tensor<2>::ones(2, 3).repeat(2, 1).dims(), (std::array<std::int64_t, 2>{4, 3}));
  EXPECT_EQ(Tensor<1>::ones({3}).expand(4, 3).dims(), (std::array<std::int64_t, 2>{4, 3}));
}

TEST(Tensor, ExtentsOfSeveralIntegerTypes) {
  const auto x = Tensor<1, Int>::arange(0, 6).float_();
  const std::size_t columns = 3;
  const int rows = 2;
  EXPECT_EQ(x.reshape({columns, rows}).dims(), (std::array<std::int64_t, 2>{3, 2}));
  EXPECT_EQ(reshape(x, {columns, -1}).dims(), (std::array<std::int64_t, 2>{3, 2}));
  EXPECT_EQ(x.expand({columns, 6}).dims(), (std::array<std::int64_t, 2>{3, 6}));
  EXPECT_EQ(broadcast_to(x, {rows, 6L}).dims(), (std::array<std::int64_t, 2>{2, 6}));
}

TEST(Tensor, WhereOfTwoNumbers) {
  const auto mask = Tensor<2, Bool>::from_bool({{true, false}, {false, true}});
  const Tensor<2, Int> whole = where(mask, 1, -7);
  EXPECT_EQ(whole.dtype(), DType::i64);
  EXPECT_EQ(values(whole), (Values{1, -7, -7, 1}));
  const Tensor<2> half = where(mask, 0.5, 2);
  EXPECT_EQ(half.dtype(), DType::f32);
  EXPECT_EQ(values(half), (Values{0.5, 2, 2, 0.5}));
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(values(where(mask, -infinity, 0.0)), (Values{-infinity, 0, 0, -infinity}));
}

TEST(Tensor, GoesToADeviceByItsName) {
  const auto x = Tensor<1>::from_data({1, 2});
  EXPECT_EQ(x.to("cpu").device(), Device::cpu());
  EXPECT_THROW((void)x.to("no such device"), Error);
}

TEST(Tensor, BatchesOfAPermutationCoverAllRows) {
  std::vector<std::int64_t> seen;
  for (const auto& batch : Tensor<1, Int>::random_permutation(10).split(4, 0)) {
    for (const std::int64_t row : batch.to_data<std::int64_t>()) seen.push_back(row);
  }
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(seen, (std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

TEST(Tensor, TemporariesAndExtremes) {
  double total = 0;
  for (const auto& row : Tensor<2>{{1, 2}, {3, 4}}.eval()) total += row.sum().item();
  EXPECT_EQ(total, 10);
  const Tensor<2> x{{1, 2}, {3, 4}};
  EXPECT_EQ(values(x.slice(1, 0)), (Values{3}));
  EXPECT_THROW((void)x[std::size_t{0} - 1], Error);
  EXPECT_THROW((void)(Tensor<1, Int>{5} < (std::uint64_t{1} << 63)), Error);
  Tensor<1, Int> n{5, 6};
  n %= 4;
  EXPECT_EQ(values(n), (Values{1, 2}));
  Tensor<1, Bool> mask{true, false};
  mask &= Tensor<1, Bool>{true, true};
  mask |= !mask;
  EXPECT_EQ(values(mask), (Values{1, 1}));
  EXPECT_EQ(values(Tensor<1>{4, 9}.powf(0.5)), (Values{2, 3}));
  const Tensor<1> w = Tensor<1>{1, 2}.require_grad();
  Tensor<1> y = w * 2;
  EXPECT_THROW(y.assign(Tensor<1>{1, 1}), Error);
}

TEST(Tensor, GradientsAreThereOrSayWhyNot) {
  const Tensor<1> w = Tensor<1>{1, 2}.require_grad();
  const Tensor<1> other = Tensor<1>{1}.require_grad();
  const auto loss = w.square().sum();
  const Gradients gradients = loss.backward({.retain = true});
  EXPECT_EQ(values(gradients.at(w)), (Values{2, 4}));
  EXPECT_EQ(values(loss.backward().at(w)), (Values{2, 4}));
  EXPECT_FALSE(other.grad(gradients).has_value());
  const auto reason = [&](const Tensor<1>& leaf) {
    return error_of([&] { (void)gradients.at(leaf); });
  };
  EXPECT_NE(reason(other).find("does not depend on it"), std::string::npos);
  EXPECT_NE(reason(w.exp()).find("not a leaf"), std::string::npos);
  Tensor<1> updated = w;
  updated.assign(w - 0.5 * gradients.at(w));
  EXPECT_EQ(values(updated), (Values{0, 0}));
  EXPECT_EQ(values(updated.square().sum().backward().at(w)), (Values{0, 0}));
  EXPECT_THROW(updated.assign(Tensor<1>{1}), Error);
}

TEST(Tensor, DifferentiatesAndForgets) {
  const auto w = Tensor<1>::from_data({1, 2}).require_grad();
  Gradients gradients = w.square().sum().backward();
  ASSERT_TRUE(w.grad(gradients).has_value());
  EXPECT_EQ(values(*w.grad(gradients)), (Values{2, 4}));
  w.grad_replace(gradients, Tensor<1>::ones({2}));
  EXPECT_EQ(values(*w.grad_remove(gradients)), (Values{1, 1}));
  EXPECT_FALSE(w.grad(gradients).has_value());
  EXPECT_TRUE(w.is_require_grad());
  EXPECT_FALSE(w.inner().is_require_grad());
}

TEST(Tensor, AssignKeepsTheLeaf) {
  Array w = Array::from_data(std::vector<float>{1, 2}, {2}).require_grad();
  const std::uint64_t id = gradient_id(w);
  w.assign(w.detach() * 3.0);
  EXPECT_EQ(gradient_id(w), id);
  EXPECT_EQ(w.to_doubles(), (Values{3, 6}));
  EXPECT_EQ(backward(sum(square(w))).get(id).to_doubles(), (Values{6, 12}));
}

// Functions on tensors, by references in f64 on fresh numbers.
TEST(Tensor, HasFunctionsToo) {
  const Tensor<2> x = Tensor<2>::random({3, 4}, Uniform(0.1, 2), DType::f64);
  const Tensor<2> y = Tensor<2>::random({3, 4}, Uniform(0.1, 2), DType::f64);
  const Tensor<2> w = Tensor<2>::random({4, 2}, Normal(), DType::f64);
  const Values a = values(x), b = values(y), c = values(w);
  const auto expect_each = [&](const Tensor<2>& got, auto reference) {
    const Values out = values(got);
    ASSERT_EQ(out.size(), a.size());
    for (std::size_t i = 0; i < out.size(); ++i) EXPECT_NEAR(out[i], reference(a[i], b[i]), 1e-12);
  };
  expect_each(exp(x), [](double p, double) { return std::exp(p); });
  expect_each(relu(1 - x), [](double p, double) { return p < 1 ? 1 - p : 0; });
  expect_each(maximum(x, y), [](double p, double q) { return std::max(p, q); });
  expect_each(add(x, 2), [](double p, double) { return p + 2; });
  expect_each(pow(x, y), [](double p, double q) { return std::pow(p, q); });
  expect_each(pow(x, 2.5), [](double p, double) { return std::pow(p, 2.5); });
  expect_each(clamp(x, 0.5, 1), [](double p, double) { return std::clamp(p, 0.5, 1.0); });
  expect_each(where(less(x, y), x, y), [](double p, double q) { return std::min(p, q); });
  expect_each(where(x < y, 0, y), [](double p, double q) { return p < q ? 0 : q; });
  expect_each(where(x < y, x, 0), [](double p, double q) { return p < q ? p : 0; });
  const Values product = values(matmul(x, w));
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 2; ++j) {
      double expected = 0;
      for (std::size_t k = 0; k < 4; ++k) expected += a[i * 4 + k] * c[k * 2 + j];
      EXPECT_NEAR(product[i * 2 + j], expected, 1e-12);
    }
  }
  double total = 0;
  for (const double each : a) total += each;
  EXPECT_NEAR(sum(x).item(), total, 1e-12);
  EXPECT_NEAR(mean(x).item(), total / 12, 1e-12);
  EXPECT_NEAR(sum(softmax(x, 1)).item(), 3, 1e-12);
  EXPECT_NEAR(sum(exp(log_softmax(x, 0))).item(), 4, 1e-12);
  EXPECT_TRUE(any(x > 0).item());
  Values joined = a;
  joined.insert(joined.end(), b.begin(), b.end());
  EXPECT_EQ(values(cat({x, y}, 0)), joined);
  EXPECT_EQ(stack({x, y}, 0).dims(), (std::array<std::int64_t, 3>{2, 3, 4}));
  EXPECT_EQ(values(stack(std::vector{x, y}, 0)), joined);
  EXPECT_EQ(values(linear(x, transpose(w))), product);
  EXPECT_NEAR(sum(layer_norm(x)).item(), 0, 1e-9);
  EXPECT_EQ(values(embedding(x, Tensor<1, Int>{2})), Values(a.begin() + 8, a.end()));
  EXPECT_EQ(values(select(x, {2}, 0)), Values(a.begin() + 8, a.end()));
  const double picked = values(log_softmax(x, 1))[2];
  EXPECT_NEAR(cross_entropy(x[from(0)].slice(to(1)), Tensor<1, Int>{2}).item(), -picked, 1e-12);
  EXPECT_EQ(values(logical_not(Tensor<1, Bool>{true, false} & true)), (Values{0, 1}));
}

TEST(Tensor, ScansGoBackToo) {
  const Tensor<2> x{{1, 2, 3}, {4, 5, 6}};
  const auto same = [](const auto& typed, const Array& array) {
    EXPECT_EQ(typed.array().to_doubles(), array.to_doubles());
  };
  same(x.cumsum(1, true), cumsum(x.array(), 1, true));
  same(cumsum(x, 1, true), cumsum(x.array(), 1, true));
  same(x.cumprod(0, true), cumprod(x.array(), 0, true));
  same(cumprod(x, 0, true), cumprod(x.array(), 0, true));
  same(x.logcumsumexp(1, true), logcumsumexp(x.array(), 1, true));
  same(logcumsumexp(x, 1, true), logcumsumexp(x.array(), 1, true));
  EXPECT_EQ(x.cumsum(1, true).array().to_doubles(), (std::vector<double>{6, 5, 3, 15, 11, 6}));
  EXPECT_EQ(x.cumsum(1).array().to_doubles(), (std::vector<double>{1, 3, 6, 4, 9, 15}));
  EXPECT_LOCATED(x.cumsum(2, true));
}

TEST(Tensor, FunctionsTakeWhatMethodsTake) {
  const Tensor<2> x{{1, 2, 3}, {4, 5, 9}};
  EXPECT_EQ(movedim(x, 0, 1).array().to_doubles(), x.transpose().array().to_doubles());
  EXPECT_EQ(var(x, 1).array().to_doubles(), x.var(1).array().to_doubles());
  EXPECT_EQ(std(x, 0, 0).array().to_doubles(), x.std(0, 0).array().to_doubles());
  EXPECT_EQ(einsum<1>("ij->", x).array().to_doubles(), std::vector<double>{24});
  EXPECT_EQ(einsum<1>("ij->", x).shape(), Shape{1});
  EXPECT_EQ(einsum<1>("ij,ij->", x, x).shape(), Shape{1});
  EXPECT_EQ(einsum<1>("ij->i", x).array().to_doubles(), (std::vector<double>{6, 18}));
  const std::string message =
      check::error_of(ErrorCode::shape, [&] { (void)einsum<2>("ij->i", x); });
  EXPECT_EQ(message.find("einsum: "), 0u) << message;
  EXPECT_THROW((void)einsum<2>("ij->", x), Error);
  const auto sound = Tensor<1>(random_normal({32}));
  const auto window = Tensor<1>::ones({8});
  const Tensor<3> frames = stft(sound, window, {.n_fft = 8});
  EXPECT_EQ(frames.array().to_doubles(),
            stft(sound.array(), window.array(), {.n_fft = 8}).to_doubles());
  const Tensor<1> back = istft(frames, window, {.n_fft = 8}, 32);
  EXPECT_LT((back - sound).abs().max().item(), 1e-5);
}

TEST(Tensor, Activations) {
  const auto x = Tensor<2>::from_data({{-1, 0, 2}});
  EXPECT_EQ(values(activation::relu(x)), (Values{0, 0, 2}));
  EXPECT_NEAR(activation::softmax(x, 1).sum().item(), 1, 1e-6);
  EXPECT_NEAR(values(activation::silu(x))[2], 2 / (1 + std::exp(-2.0)), 1e-6);
}

}  // namespace
}  // namespace hearth
