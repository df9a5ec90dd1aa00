#include "models/sampling/token_mask.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "hearth/ops.h"

namespace hearth::models {
namespace {

using Mask = std::vector<std::uint32_t>;

TEST(TokenMask, ForbidsWhatItsBitsLeaveOut) {
  std::mt19937 random(9);
  std::normal_distribution<float> normal;
  for (const std::int64_t vocabulary : {1, 31, 32, 33, 1000, 262'144}) {
    const std::int64_t words = (vocabulary + 31) / 32;
    std::vector<std::shared_ptr<const Mask>> masks(3);
    for (const std::size_t i : {std::size_t{0}, std::size_t{2}}) {
      Mask mask(static_cast<std::size_t>(words));
      for (auto& word : mask) word = static_cast<std::uint32_t>(random());
      masks[i] = std::make_shared<const Mask>(mask);
    }
    std::vector<float> values(static_cast<std::size_t>(3 * vocabulary));
    for (float& value : values) value = normal(random);
    values[0] = std::numeric_limits<float>::quiet_NaN();
    const auto out =
        masked_logits(Array::from_data(values, {3, vocabulary}), token_mask_bits(masks, vocabulary))
            .to_vector<float>();
    for (std::size_t i = 0; i < out.size(); ++i) {
      const std::size_t row = i / static_cast<std::size_t>(vocabulary);
      const std::size_t token = i % static_cast<std::size_t>(vocabulary);
      const bool allowed =
          masks[row] == nullptr || ((*masks[row])[token / 32] >> (token % 32) & 1) != 0;
      if (!allowed) {
        ASSERT_EQ(out[i], -std::numeric_limits<float>::infinity()) << vocabulary << " " << i;
      } else if (std::isnan(values[i])) {
        ASSERT_TRUE(std::isnan(out[i]));
      } else {
        ASSERT_EQ(out[i], values[i]) << vocabulary << " " << i;
      }
    }
  }
}

TEST(TokenMask, KeepsTheDtypeAndRefusesWhatDoesNotFit) {
  const std::vector<std::shared_ptr<const Mask>> masks = {std::make_shared<const Mask>(Mask{5})};
  const Array bits = token_mask_bits(masks, 3);
  const Array logits = Array::from_data(std::vector<float>{1, 2, 3}, {1, 3});
  for (const DType dtype : {DType::f16, DType::bf16, DType::f64}) {
    const Array out = masked_logits(cast(logits, dtype), bits);
    EXPECT_EQ(out.dtype(), dtype);
    EXPECT_EQ(out.to_doubles(),
              (std::vector<double>{1, -std::numeric_limits<double>::infinity(), 3}));
  }
  EXPECT_THROW(static_cast<void>(token_mask_bits(masks, 33)), Error);
  EXPECT_THROW(static_cast<void>(token_mask_bits(masks, -1)), Error);
  EXPECT_THROW(static_cast<void>(masked_logits(logits, cast(bits, DType::i32))), Error);
  EXPECT_THROW(
      static_cast<void>(masked_logits(Array::from_data(std::vector<float>(40), {1, 40}), bits)),
      Error);
  EXPECT_THROW(
      static_cast<void>(masked_logits(Array::from_data(std::vector<float>(6), {2, 3}), bits)),
      Error);
  EXPECT_THROW(static_cast<void>(masked_logits(cast(logits, DType::i32), bits)), Error);
}

}  // namespace
}  // namespace hearth::models
