// Typed quantized tensors: ranks that the compiler follows, and where errors say they come from.
#include <functional>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

#include "check.h"
#include "error_text.h"
#include "hearth/tensor/quantized_flow.h"
#include "unit_roundoff.h"

namespace hearth {
namespace {

// What rounding to a code may be off by, as a share of the largest magnitude: half a step, and
// roundings of f32 beside it.
double half_step(QuantValue value) {
  const double roundings = 8 * testing::unit_roundoff(DType::f32);
  if (value == QuantValue::e4m3) return 0x1p-4 + roundings;  // three bits behind the first
  return (value == QuantValue::q4s ? 0.5 / 7 : 0.5 / 127) + roundings;
}

TEST(QuantizedTensor, GoesThereAndBack) {
  const Tensor<2> x{{1, 2, 3, 4}, {-4, -3, -2, 1.27}};
  const QuantScheme q8 = QuantScheme().with_value(QuantValue::q8s);
  const auto q = quantize_dynamic(x, q8);
  static_assert(std::is_same_v<decltype(q.reshape({2, 2, 2})), QuantizedTensor<3>>);
  static_assert(std::is_same_v<decltype(q.dequantize()), Tensor<2>>);
  check::expect_within(q.dequantize().array().to_doubles(), x.array().to_doubles(),
                       half_step(QuantValue::q8s));
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
  // Each product of a row, whose magnitudes add up to 10.27 at most, is off by half a step of 4 /
  // 127.
  const double off = (10.27 + 4 * 4 * half_step(QuantValue::q8s)) * 4 * half_step(QuantValue::q8s);
  const auto distance = [](const Tensor<2>& a, const Tensor<2>& b) {
    return max(abs(a.array() - b.array())).item();
  };
  EXPECT_LE(distance(matmul(x, q.transpose()), matmul(x, transpose(x))), off);
  EXPECT_LE(distance(matmul(q, transpose(x)), matmul(q, q.transpose())), off);
  const QuantParams params =
      compute_q_params(compute_range(x.array(), q8, Calibration::min_max), q8);
  EXPECT_EQ(quantize(x, q8, params).dequantize().array().to_doubles(),
            dequantize(q).array().to_doubles());
  EXPECT_EQ(fake_quantize(x, q8).array().to_doubles(), dequantize(q).array().to_doubles());
}

// Each method gives what that of the floats gives: exactly where nothing is rounded anew.
TEST(QuantizedTensor, MethodsAreThoseOfFloats) {
  const Tensor<2> x(check::random_array({4, 8}, DType::f32, -2, 3));
  for (const QuantValue value : {QuantValue::q8f, QuantValue::q4s, QuantValue::e4m3}) {
    const auto q = quantize_dynamic(x, QuantScheme().with_value(value))
                       .with_propagation(Propagation::propagate);
    const Tensor<2> floats = q.dequantize();
    const auto same = [](const auto& got, const auto& expected) {
      static_assert(std::is_same_v<std::remove_cvref_t<decltype(got.dequantize())>,
                                   std::remove_cvref_t<decltype(expected)>>);
      EXPECT_EQ(got.propagation(), Propagation::propagate);
      EXPECT_EQ(got.shape(), expected.shape());
      EXPECT_EQ(got.dequantize().array().to_doubles(), expected.array().to_doubles());
    };
    const auto places = [](const Tensor<2, Int>& got, const Tensor<2, Int>& expected) {
      EXPECT_EQ(got.array().to_doubles(), expected.array().to_doubles());
    };
    same(q.repeat({2, 3}), floats.repeat({2, 3}));
    same(q.repeat_dim(-1, 2), floats.repeat_dim(-1, 2));
    same(q.max(), floats.max());
    same(q.min(), floats.min());
    same(q.max_dim(0), floats.max_dim(0));
    same(q.min_dim(-1), floats.min_dim(-1));
    same(q.max_dim_with_indices(1).first, floats.max_dim(1));
    places(q.max_dim_with_indices(1).second, floats.argmax(1));
    same(q.min_dim_with_indices(0).first, floats.min_dim(0));
    places(q.min_dim_with_indices(0).second, floats.argmin(0));
    same(q.sort(1), floats.sort(1));
    same(q.sort_descending(0), floats.sort_descending(0));
    same(q.sort_with_indices(1).first, floats.sort(1));
    places(q.sort_with_indices(1).second, floats.argsort(1));
    same(q.topk(3, 1), floats.topk(3, 1));
    same(q.topk_with_indices(2, 0).first, floats.topk(2, 0));
    places(q.topk_with_indices(2, 0).second, floats.argtopk(2, 0));
    const auto near = [&](const auto& got, const auto& expected) {
      check::expect_within(got.dequantize().array().to_doubles(), expected.array().to_doubles(),
                           half_step(value));
      EXPECT_EQ(got.scheme(), q.scheme());
    };
    near(q.abs(), floats.abs());
    near(q.max_abs(), floats.max_abs());
    near(q.max_abs_dim(1), floats.max_abs_dim(1));
    near(cat(std::vector{q, q.flip({0})}, 1), cat(std::vector{floats, floats.flip({0})}, 1));
    EXPECT_EQ(q.bytes(), value == QuantValue::q4s ? 16 + 4 : 32 + 4);
  }
}

TEST(QuantizedTensor, FlowsByPropagation) {
  const Tensor<2> x(check::random_array({4, 8}, DType::f32, -2, 3));
  const auto q = quantize_dynamic(x, QuantScheme().with_value(QuantValue::q8s));
  const auto exp_of = [](const Tensor<2>& a) { return a.exp(); };
  const FloatOrQuantizedTensor<2> floats = flow(exp_of, q);
  EXPECT_EQ(std::get<Tensor<2>>(floats).array().to_doubles(),
            q.dequantize().exp().array().to_doubles());
  const FloatOrQuantizedTensor<2> codes = flow(exp_of, q.with_propagation(Propagation::propagate));
  EXPECT_EQ(std::get<QuantizedTensor<2>>(codes).scheme(), q.scheme());
  // A chain, floats beside it, another rank, and what is no float.
  const auto both = flow([](const Tensor<2>& a, const Tensor<2>& b) { return a * b; }, codes, x);
  const auto rounded = [&](const Tensor<2>& a) {
    return quantize_dynamic(a, q.scheme()).dequantize();
  };
  EXPECT_EQ(to_float(both).array().to_doubles(),
            rounded(rounded(q.dequantize().exp()) * x).array().to_doubles());
  const FloatOrQuantizedTensor<1> total = flow([](const Tensor<2>& a) { return a.sum(); }, q);
  EXPECT_EQ(to_float(total).array().to_doubles(), q.dequantize().sum().array().to_doubles());
  const Tensor<2, Int> best = flow([](const Tensor<2>& a) { return a.argmax(1); }, q);
  EXPECT_EQ(best.array().to_doubles(), q.dequantize().argmax(1).array().to_doubles());
  const Tensor<2, Bool> above = flow([](const Tensor<2>& a) { return a > 0; }, q);
  EXPECT_EQ(above.array().to_doubles(), (q.dequantize() > 0).array().to_doubles());
  const QuantizedTensor<2> twice =
      requantized([](const Tensor<2>& a, const Tensor<2>& b) { return a + b; }, q, q.dequantize());
  check::expect_close(twice.dequantize().array(), (q.dequantize() * 2).array().to_doubles(), 1e-5);
  const QuantizedTensor<1> most = picked([](const Tensor<2>& a) { return a.max(); }, q);
  EXPECT_EQ(most.dequantize().array().item(), q.dequantize().max().array().item());
}

// What every method says of arguments that are wrong: its own name, and the caller's line.
TEST(QuantizedTensor, MethodsSayInErrorsWhatWasCalledAndWhere) {
  const auto q = quantize_dynamic(Tensor<2>::ones({4, 8}),
                                  QuantScheme().with_value(QuantValue::q8s).per_block({8}));
  const QuantizedTensor<2> none;
  const Tensor<2> x;
  const Tensor<1, Int> list;
  struct Call {
    const char* name;
    int line;
    std::function<void()> call;
  };
#define CALL(name, expression)                              \
  Call {                                                    \
    #name, __LINE__, [&] { static_cast<void>(expression); } \
  }
  // clang-format off: a call in each line, whose number the Error says.
  const std::vector<Call> calls = {
      CALL(to_device, none.to_device(Device::cpu())), CALL(dequantize, none.dequantize()),
      CALL(dequantize, none.dequantize(DType::f16)), CALL(dequantize, q.dequantize(DType::i32)),
      CALL(dequantize, dequantize(none)),
      CALL(reshape, q.reshape({5})), CALL(expand, q.expand({3, 8})), CALL(permute, q.permute({0, 0})),
      CALL(swap_axes, q.swap_dims(0, 2)), CALL(transpose, none.transpose()), CALL(flip, q.flip({2})),
      CALL(slice, q.slice({{0, 1}, {0, 3}})), CALL(slice, q.slice({{}, {}, {}})),
      CALL(select, q.select(0, list)), CALL(gather, q.gather(0, Tensor<2, Int>())),
      CALL(repeat, q.repeat({-1, 1})), CALL(repeat_dim, q.repeat_dim(0, -1)),
      CALL(repeat_dim, q.repeat_dim(2, 1)),
      CALL(abs, none.abs()), CALL(max_abs, none.max_abs()), CALL(max_abs, q.max_abs()),
      CALL(max_abs_dim, q.max_abs_dim(1)), CALL(max, q.max()), CALL(min, q.min()),
      CALL(max_dim, q.max_dim(1)), CALL(max_dim, q.max_dim(2)), CALL(min_dim, q.min_dim(1)),
      CALL(max_dim_with_indices, q.max_dim_with_indices(1)),
      CALL(min_dim_with_indices, q.min_dim_with_indices(-3)),
      CALL(sort, q.sort(2)), CALL(sort_descending, q.sort_descending(2)),
      CALL(sort_with_indices, q.sort_with_indices(2)), CALL(topk, q.topk(3, 1)),
      CALL(topk_with_indices, q.topk_with_indices(9, 1)),
      CALL(cat, cat(std::vector<QuantizedTensor<2>>(), 0)), CALL(cat, cat(std::vector{q, none}, 0)),
      CALL(cat, cat(std::vector{q, q}, 2)),
      CALL(quantize, quantize(x, QuantScheme(), QuantParams())),
      CALL(quantize_dynamic, quantize_dynamic(x)), CALL(fake_quantize, fake_quantize(x)),
      CALL(quantize_dynamic, quantize_dynamic(Tensor<1>::ones({3}), QuantScheme().per_block({4}))),
      CALL(matmul, matmul(Tensor<2>::ones({2, 3}), q)), CALL(matmul, matmul(q, q)),
      CALL(matmul, matmul(q, Tensor<2>::ones({3, 2}))),
  };
  // clang-format on
#undef CALL
  for (const Call& each : calls) {
    SCOPED_TRACE(std::string(each.name) + " in line " + std::to_string(each.line));
    const std::string text = check::error_of(each.call);
    EXPECT_TRUE(text.starts_with(std::string(each.name) + ": ")) << text;
    EXPECT_NE(text.find("quantized_tensor_test.cc:" + std::to_string(each.line)), std::string::npos)
        << text;
  }
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
