// Typed quantized tensors: ranks that the compiler follows, and where errors say they come from.
#include <sstream>
#include <string>
#include <type_traits>

#include "check.h"
#include "hearth/tensor/quantized.h"

namespace hearth {
namespace {

TEST(QuantizedTensor, GoesThereAndBack) {
  const Tensor<2> x{{1, 2, 3, 4}, {-4, -3, -2, 1.27}};
  const QuantScheme q8 = QuantScheme().with_value(QuantValue::q8s);
  const auto q = quantize_dynamic(x, q8);
  static_assert(std::is_same_v<decltype(q.reshape({2, 2, 2})), QuantizedTensor<3>>);
  static_assert(std::is_same_v<decltype(q.dequantize()), Tensor<2>>);
  check::expect_close(q.dequantize().array(), x.array().to_doubles(), 0.02);
  EXPECT_EQ(q.transpose().shape(), Shape({4, 2}));
  const check::Values expected = transpose(q.dequantize()).array().to_doubles();
  EXPECT_EQ(q.transpose().dequantize().array().to_doubles(), expected);
  EXPECT_EQ(q.swap_dims(0, 1).dequantize().array().to_doubles(), expected);
  EXPECT_EQ(q.permute({1, 0}).dequantize().array().to_doubles(), expected);
  EXPECT_EQ(q.reshape({8}).flip({0}).slice({{0, 2}}).dequantize().array().to_doubles().size(), 2u);
  EXPECT_EQ(q.expand({3, 2, 4}).shape(), Shape({3, 2, 4}));
  EXPECT_EQ(q.select(1, Tensor<1, Int>{0, 3}).shape(), Shape({2, 2}));
  EXPECT_EQ(q.gather(1, Tensor<2, Int>{{0}, {3}}).shape(), Shape({2, 1}));
  EXPECT_EQ(q.to_device(Device::cpu()).dequantize(DType::f16).dtype(), DType::f16);
  check::expect_close(matmul(x, q.transpose()).array(),
                      matmul(x, transpose(x)).array().to_doubles(), 0.05);
  check::expect_close(matmul(q, transpose(x)).array(),
                      matmul(q, q.transpose()).array().to_doubles(), 0.05);
  const QuantParams params =
      compute_q_params(compute_range(x.array(), q8, Calibration::min_max), q8);
  EXPECT_EQ(quantize(x, q8, params).dequantize().array().to_doubles(),
            dequantize(q).array().to_doubles());
  EXPECT_EQ(fake_quantize(x, q8).array().to_doubles(), dequantize(q).array().to_doubles());
}

TEST(QuantizedTensor, ErrorsNameTheLine) {
  const auto q = quantize_dynamic(Tensor<2>{{1, 2}, {3, 4}});
  try {
    (void)q.reshape({3});
    ADD_FAILURE() << "expected an error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("reshape: "), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("quantized_tensor_test.cc"), std::string::npos)
        << error.what();
  }
  check::expect_error(ErrorCode::shape, [&] { (void)QuantizedTensor<1>(q.array()); });
}

}  // namespace
}  // namespace hearth
