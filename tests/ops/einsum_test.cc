// einsum against sums of products over all indices.
#include "hearth/ops/einsum.h"

#include <map>
#include <string>
#include <vector>

#include "check.h"
#include "devices_under_test.h"
#include "hearth/hearth.h"

namespace hearth {
namespace {

using namespace check;

// Of subscripts without an ellipsis and with "->": every combination of indices, one by one.
Values defined_sum(const std::string& text, const std::vector<Array>& arrays, Shape& shape) {
  const std::size_t arrow = text.find("->");
  std::vector<std::string> terms(1);
  for (const char letter : text.substr(0, arrow)) {
    if (letter == ',') {
      terms.emplace_back();
    } else {
      terms.back() += letter;
    }
  }
  const std::string result = text.substr(arrow + 2);
  std::map<char, std::int64_t> extents;
  std::vector<Values> values;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    values.push_back(arrays[i].to_doubles());
    for (std::size_t axis = 0; axis < terms[i].size(); ++axis) {
      std::int64_t& extent = extents.try_emplace(terms[i][axis], 1).first->second;
      const std::int64_t own = arrays[i].shape(static_cast<int>(axis));
      if (own != 1) extent = own;
    }
  }
  shape = Shape();
  for (const char letter : result) shape.push_back(extents.at(letter));
  Values out(static_cast<std::size_t>(element_count(shape)), 0);
  std::map<char, std::int64_t> at;
  for (const auto& [letter, extent] : extents) {
    if (extent == 0) return out;
    at[letter] = 0;
  }
  for (;;) {
    double product = 1;
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      std::int64_t offset = 0;
      for (std::size_t axis = 0; axis < terms[i].size(); ++axis) {
        const std::int64_t own = arrays[i].shape(static_cast<int>(axis));
        offset = offset * own + (own == 1 ? 0 : at[terms[i][axis]]);
      }
      product *= values[i][static_cast<std::size_t>(offset)];
    }
    std::int64_t place = 0;
    for (const char letter : result) place = place * extents[letter] + at[letter];
    out[static_cast<std::size_t>(place)] += product;
    auto next = at.begin();
    for (; next != at.end(); ++next) {
      if (++next->second < extents[next->first]) break;
      next->second = 0;
    }
    if (next == at.end()) return out;
  }
}

void expect_defined(const std::string& text, const std::vector<Array>& arrays) {
  Shape shape;
  const Values want = defined_sum(text, arrays, shape);
  const Array got = einsum(text, arrays);
  ASSERT_EQ(got.shape(), shape) << text;
  expect_close(got, want, 1e-12, text);
}

Array some(const Shape& shape, std::uint64_t seed = 1) {
  return random_array(shape, DType::f64, -1, 1, seed);
}

TEST(Einsum, FollowsItsDefinition) {
  const Array a = some({3, 4}), b = some({4, 5}, 2), c = some({5, 2}, 3), s = some({3, 3}, 4);
  const Array t = some({3, 4, 5}, 5), u = some({4, 5, 3}, 6), v = some({4}, 7), n = some({}, 8);
  expect_defined("ij,jk->ik", {a, b});
  expect_defined("ij,jk->ki", {a, b});
  expect_defined("ij,jk->", {a, b});
  expect_defined("ij,jk->j", {a, b});
  expect_defined("ij,jk->ijk", {a, b});
  expect_defined("ij,kl->ijkl", {a, c});
  expect_defined("ij,kl->il", {a, c});
  expect_defined("ij,jk,kl->il", {a, b, c});
  expect_defined("ij,jk,kl,i->l", {a, b, c, some({3}, 9)});
  expect_defined("ijk,jki->", {t, u});
  expect_defined("ijk,jki->i", {t, u});
  expect_defined("ijk,jki->kij", {t, u});
  expect_defined("ijk,jkl->il", {t, u});
  expect_defined("ijk,j->ik", {t, v});
  expect_defined("ii->i", {s});
  expect_defined("ii->", {s});
  expect_defined("ii,i->i", {s, some({3}, 10)});
  expect_defined("iji->j", {some({3, 4, 3}, 11)});
  expect_defined("iii->i", {some({3, 3, 3}, 12)});
  expect_defined("ijij->ji", {some({2, 3, 2, 3}, 13)});
  expect_defined("ij->ji", {a});
  expect_defined("ij->", {a});
  expect_defined("ijk->kj", {t});
  expect_defined(",ij->ij", {n, a});
  expect_defined(",->", {n, n});
  expect_defined("i,i,i->i", {v, v, v});
  expect_defined("i,i,i->", {v, v, v});
  expect_defined("ab,ab,ab->ba", {a, a, a});
  expect_defined("Ij,jK->KI", {a, b});
  expect_defined("ij,jk->ik", {transpose(some({4, 3}, 14)), flip(b, {0, 1})});
  expect_defined("abcd,cdef->abef", {some({2, 3, 2, 3}, 15), some({2, 3, 3, 2}, 16)});
  expect_defined("ij,jk,ki->", {a, b, some({5, 3}, 17)});
}

TEST(Einsum, StretchesExtentsOfOne) {
  expect_defined("ij,jk->ik", {some({3, 1}), some({4, 2}, 2)});
  expect_defined("ij,ij->ij", {some({3, 1}), some({1, 4}, 2)});
  expect_defined("ij,j->", {some({1, 4}), some({1}, 2)});
  expect_defined("ij,i->i", {some({1, 4}), some({5}, 2)});
}

TEST(Einsum, ExtentsOfZero) {
  expect_defined("ij,jk->ik", {some({3, 0}), some({0, 2})});
  expect_defined("ij,jk->ik", {some({0, 3}), some({3, 2})});
  expect_defined("ij->", {some({0, 3})});
  expect_defined("ii->i", {some({0, 0})});
}

TEST(Einsum, Ellipses) {
  const Array a = some({2, 3, 4}), b = some({4, 5}, 2), c = some({3, 4, 5}, 3);
  const auto same = [](const Array& got, const Array& want) {
    ASSERT_EQ(got.shape(), want.shape());
    expect_within(got, want, 1e-13);
  };
  same(einsum("...ij,jk->...ik", {a, b}), matmul(a, b));
  same(einsum("...ij,...jk->...ik", {a, some({2, 4, 6}, 4)}), matmul(a, some({2, 4, 6}, 4)));
  same(einsum("...ij,...jk", {some({3, 2, 4}, 5), c}), matmul(some({3, 2, 4}, 5), c));
  same(einsum("i...->...i", {a}), movedim(a, {0}, {-1}));
  same(einsum("...", {a}), a);
  same(einsum("...,...", {a, some({4}, 6)}), mul(a, some({4}, 6)));
  same(einsum("...i->...", {a}), sum(a, {-1}));
  same(einsum("...->", {a}), sum(a));
  same(einsum("i...i->...i", {some({3, 2, 3}, 7)}), diagonal(some({3, 2, 3}, 7), 0, 0, 2));
}

TEST(Einsum, WithoutAResultLettersAreInOrder) {
  const Array a = some({3, 4}), b = some({4, 5}, 2);
  const auto same = [](const Array& got, const Array& want) {
    ASSERT_EQ(got.shape(), want.shape());
    expect_within(got, want, 1e-13);
  };
  same(einsum("ij,jk", {a, b}), matmul(a, b));
  same(einsum("ba", {a}), transpose(a));
  same(einsum(" b a ", {a}), transpose(a));
  same(einsum("aB", {a}), transpose(a));
  same(einsum("ii", {some({3, 3}, 3)}), trace(some({3, 3}, 3)));
  same(einsum("ij,ij", {a, a}), sum(square(a)));
}

TEST(Einsum, Integers) {
  const Array a = ints({1, 2, 3, 4}, {2, 2});
  expect_values(einsum("ij,jk->ik", {a, a}), {2, 2}, {7, 10, 15, 22});
  expect_values(einsum("ii", {a}), {}, {5});
  EXPECT_EQ(einsum("ij->j", {cast(a, DType::u8)}).dtype(), DType::u8);
}

TEST(Einsum, Gradients) {
  const Array a = some({3, 4}), b = some({4, 2}, 2), c = some({2, 3}, 3), s = some({3, 3}, 4);
  check_gradients([](auto in) { return einsum("ij,jk,ki->i", {in[0], in[1], in[2]}); }, {a, b, c});
  check_second_gradients([](auto in) { return einsum("ij,jk,ki->i", {in[0], in[1], in[2]}); },
                         {a, b, c});
  check_gradients([](auto in) { return einsum("ii,ij->j", {in[0], in[1]}); }, {s, a});
  check_gradients([](auto in) { return einsum("ij,j->i", {in[0], in[1]}); },
                  {some({3, 1}), some({4})});
}

TEST(Einsum, RunsOnEveryDevice) {
  for (const Device& device : testing::devices_under_test()) {
    const Array a = random_array({2, 3, 4}, DType::f32), b = random_array({4, 5}, DType::f32);
    expect_within(einsum("bij,jk->kbi", {to_device(a, device), to_device(b, device)}),
                  einsum("bij,jk->kbi", {a, b}), 1e-6);
  }
}

TEST(Einsum, ErrorsNameTheSubscripts) {
  const Array a = some({3, 4}), b = some({5, 2}, 2);
  const auto refused = [](ErrorCode code, const std::string& text, const std::vector<Array>& in) {
    try {
      (void)einsum(text, in);
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code) << error.what();
      EXPECT_EQ(std::string(error.what()).rfind("einsum: ", 0), 0u) << error.what();
      EXPECT_NE(std::string(error.what()).find("\"" + text + "\""), std::string::npos)
          << error.what();
    }
  };
  refused(ErrorCode::shape, "ij,jk->ik", {a, b});
  refused(ErrorCode::shape, "ijk->i", {a});
  refused(ErrorCode::shape, "ii", {a});
  refused(ErrorCode::shape, "i...jk", {a});
  refused(ErrorCode::invalid_argument, "ij,jk", {a});
  refused(ErrorCode::invalid_argument, "ij->k", {a});
  refused(ErrorCode::invalid_argument, "ij->ii", {a});
  refused(ErrorCode::invalid_argument, "i1->i", {a});
  refused(ErrorCode::invalid_argument, "ij-i", {a});
  refused(ErrorCode::invalid_argument, "ij->i->j", {a});
  refused(ErrorCode::invalid_argument, "ij->i,j", {a});
  refused(ErrorCode::invalid_argument, "..ij", {a});
  refused(ErrorCode::invalid_argument, "...i...j", {a});
  refused(ErrorCode::invalid_argument, "ij->......", {a});
  refused(ErrorCode::shape, "", {a});
  refused(ErrorCode::dtype, "ij", {greater(a, 0.0)});
  refused(ErrorCode::shape, "abcde,fghij->abcdefghij",
          {some({1, 1, 1, 1, 1}), some({1, 1, 1, 1, 1})});
  expect_error(ErrorCode::invalid_argument, [] { (void)einsum("i", {Array()}); });
  expect_error(ErrorCode::dtype, [&] { (void)einsum("ij,ij", {a, cast(a, DType::f32)}); });
  expect_error(ErrorCode::invalid_argument, [] { (void)einsum("", {}); });
}

}  // namespace
}  // namespace hearth
