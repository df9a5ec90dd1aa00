// Products as a device's best kernels do them, against f64: with epilogues, and with rows that end
// in part of a packet. On a card they are its library's, and large enough to be cut.
#include "check.h"
#include "devices_under_test.h"
#include "hearth/device.h"

namespace hearth {
namespace {

using namespace check;

class ProductKernels : public ::testing::Test {
 protected:
  ProductKernels() : device_(hearth::testing::kernel_device_under_test()) {}

  bool is_card() const { return device_ != Device::named("sim"); }

  Device device_;
};

TEST_F(ProductKernels, Epilogues) {
  const std::int64_t rows = is_card() ? 512 : 9, in = is_card() ? 256 : 12;
  const std::int64_t out = is_card() ? 768 : 16;
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    const Array x = random_array({rows, in}, dtype, -1, 1, 1).eval();
    const Array w = random_array({out, in}, dtype, -1, 1, 2).eval();
    const Array b = random_array({out}, dtype, -1, 1, 3).eval();
    const Array r = random_array({rows, out}, dtype, -1, 1, 4).eval();
    const auto all = [](const Array& x1, const Array& w1, const Array& b1, const Array& r1) {
      return std::vector<Array>{linear(x1, w1, b1), relu(linear(x1, w1, b1)),
                                gelu(linear(x1, w1, b1), true), add(r1, linear(x1, w1, b1)),
                                relu(add(linear(x1, w1), r1))};
    };
    const auto got = all(to_device(x, device_), to_device(w, device_), to_device(b, device_),
                         to_device(r, device_));
    submit();
    const auto wide = [](const Array& y) { return cast(y, DType::f64); };
    const auto expected = all(wide(x), wide(w), wide(b), wide(r));
    for (std::size_t i = 0; i < got.size(); ++i) {
      SCOPED_TRACE(std::string(name(dtype)) + " " + std::to_string(i));
      // Unfused, each is rounded twice.
      expect_within(got[i], expected[i], 2 * tolerance(dtype));
    }
  }
}

TEST_F(ProductKernels, ScoresOverAnOddVocabularyAndTheirGradient) {
  const std::int64_t rows = is_card() ? 1024 : 6, dim = is_card() ? 257 : 17;
  const std::int64_t vocabulary = is_card() ? 5001 : 67;
  for (const DType dtype : {DType::f16, DType::bf16}) {
    for (const bool wide_scores : {false, true}) {
      const Array x = random_array({rows, dim}, dtype, -1, 1, 1).eval();
      const Array w = random_array({vocabulary, dim}, dtype, -0.2, 0.2, 2).eval();
      Generator generator{3, 0};
      const Array targets =
          random_integers({rows}, 0, vocabulary, DType::i32, Device::cpu(), &generator).eval();
      const auto gradients = [&](const Array& activations, const Array& weight,
                                 const Array& wanted) {
        const Array a = activations.require_grad(), c = weight.require_grad();
        std::vector<Array> all;
        {
          const Array scores = linear(a, c);
          const bool widens = wide_scores && size_of(scores.dtype()) == 2;
          // Sums, so that gradients of f16 are no subnormal numbers.
          all = {sum(
              cross_entropy(widens ? cast(scores, DType::f32) : scores, wanted, Reduction::none))};
        }
        const Gradients both = backward(all[0]);
        all.insert(all.end(), {both.get(a), both.get(c)});
        submit();
        return all;
      };
      const auto got =
          gradients(to_device(x, device_), to_device(w, device_), to_device(targets, device_));
      const auto expected = gradients(cast(x, DType::f64), cast(w, DType::f64), targets);
      for (std::size_t i = 0; i < got.size(); ++i) {
        SCOPED_TRACE(std::string(name(dtype)) + " " + std::to_string(i));
        expect_within(got[i], expected[i], 3 * tolerance(dtype));
      }
    }
  }
}

}  // namespace
}  // namespace hearth
