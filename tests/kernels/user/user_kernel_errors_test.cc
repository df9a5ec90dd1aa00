// What is wrong with an op's kernel, said where the op is made or where it is first called.
#include <gtest/gtest.h>

#include "error_text.h"
#include "hearth/grad.h"
#include "kernels/user/user_ops.h"

namespace hearth {
namespace {

using check::contains;
using check::error_of;
using user_ops::kMetal;

constexpr char kCopy[] = R"(
kernel void copy(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
  y[i] = x[i];
}
)";

// Of making the op.
std::string refused(const CustomOpSpec& spec) {
  return error_of(ErrorCode::invalid_argument, [&] { CustomOp made(spec); });
}

void expect_parts(const std::string& message, std::initializer_list<const char*> parts) {
  for (const char* part : parts) EXPECT_TRUE(contains(message, part)) << message;
}

class WrongUserKernels : public ::testing::Test {
 protected:
  // Of calling the op.
  std::string failed(ErrorCode code, const CustomOp& op, std::initializer_list<Array> inputs) {
    return error_of(code, [&] { (void)op(inputs); });
  }

  const Device gpu_ = testing::kernel_device_under_test();
  const Array x_ = Array::from_data(std::vector<float>{1, 2, 3}, {3}, gpu_);
  const Array host_ = Array::from_data(std::vector<float>{1, 2, 3}, {3}, Device::cpu());
};

TEST_F(WrongUserKernels, ATextThatDoesNotCompile) {
  const CustomOp op({.name = "test.typo", .kernel = R"(
kernel void typo(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
  y[i] = no_such_thing(x[i]);
}
)"});
  const Array other = add(x_, 1.0);
  for (int attempt = 0; attempt < 2; ++attempt) {
    expect_parts(failed(ErrorCode::device, op, {x_}),
                 {"test.typo: no kernel for ", "no_such_thing"});
  }
  // Nothing else that is recorded is touched.
  EXPECT_EQ(other.to_vector<float>(), (std::vector<float>{2, 3, 4}));
}

TEST_F(WrongUserKernels, ATextWithoutTheEntryPoint) {
  EXPECT_EQ(refused({.name = "test.no_entry", .kernel = "void f(device float* x) {}"}),
            "custom_op: test.no_entry: no entry point; got a text without kernel void f(...), "
            "expected one");
  EXPECT_EQ(refused({.name = "test.other_entry", .kernel = kCopy, .kernel_entry = "move"}),
            "custom_op: test.other_entry: no entry point; got a text of copy, expected 'move' in "
            "it");
  EXPECT_EQ(
      refused({.name = "test.number_argument",
               .kernel = "template <int kSize> kernel void f(device float* x) { x[0] = 1; }"}),
      "custom_op: test.number_argument: no entry point; got a text of f, expected one whose "
      "template's arguments are types, or its instances");
}

TEST_F(WrongUserKernels, ParametersThatCannotBeTheOperands) {
  EXPECT_EQ(refused({.name = "test.two_inputs", .min_inputs = 2, .max_inputs = 2, .kernel = kCopy}),
            "custom_op: test.two_inputs: copy: no parameter takes input 1; got (device const "
            "float* x, device float* y), expected 2 of device const T* or constant T&");
  EXPECT_EQ(refused({.name = "test.two_results", .outputs = 2, .kernel = kCopy}),
            "custom_op: test.two_results: copy: a kernel writes each result; got (device const "
            "float* x, device float* y), expected 2 of device T*");
  EXPECT_EQ(refused({.name = "test.one_input", .kernel = R"(
kernel void f(device const float* x, device const float* w, device float* y) { y[0] = x[0] + w[0]; }
)"}),
            "custom_op: test.one_input: f: more parameters are read than the op has inputs; got "
            "(device const float* x, device const float* w, device float* y), expected at most 1 "
            "of device const T* or constant T&");
  const auto texture = [] {
    CustomOp({.name = "test.texture",
              .kernel = "kernel void f(texture2d<float> x, device float* y) {}"});
  };
  expect_parts(error_of(ErrorCode::unsupported, texture),
               {"custom_op: test.texture: ", "a parameter cannot be passed", "texture2d"});
}

TEST_F(WrongUserKernels, ParametersThatAreNotTheOperands) {
  const CustomOp some({.name = "test.some_inputs", .max_inputs = 3, .kernel = kCopy});
  EXPECT_EQ(failed(ErrorCode::invalid_argument, some, {x_, x_}),
            "test.some_inputs: no kernel for (f32, f32) -> (f32); copy: no parameter takes input "
            "1; got (device const float* x, device float* y), expected device const T* or "
            "constant T& for it");
  const CustomOp named(
      {.name = "test.names", .kernel = kCopy, .input_names = {"in"}, .output_names = {"y"}});
  EXPECT_EQ(failed(ErrorCode::invalid_argument, named, {x_}),
            "test.names: no kernel for (f32) -> (f32); copy: a parameter gets nothing; got device "
            "const float* x and 1 input, expected one of that name");
  const CustomOp constants({.name = "test.constants",
                            .kernel = kCopy,
                            .launch = [](std::span<const TensorType>, std::span<const TensorType>) {
                              return KernelLaunch{.constants = {{"count", 3}}};
                            }});
  EXPECT_EQ(failed(ErrorCode::invalid_argument, constants, {x_}),
            "test.constants: no kernel for (f32) -> (f32); copy: no parameter takes a constant of "
            "KernelLaunch; got 'count' and (device const float* x, device float* y), expected "
            "constant T& for it");
}

TEST_F(WrongUserKernels, DtypesThatNoKernelHas) {
  const CustomOp op({.name = "test.floats_only", .kernel = kCopy});
  EXPECT_EQ(failed(ErrorCode::dtype, op, {cast(x_, DType::f16)}),
            "test.floats_only: no kernel for (f16) -> (f16); copy: input 0 has another dtype than "
            "its parameter; got f16, expected f32 for device const float* x");
  const CustomOp vectors({.name = "test.vectors", .kernel = kMetal + R"(
kernel void f(device const float4* x, device float4* y, uint i [[thread_position_in_grid]]) {
  y[i] = x[i];
}
)"});
  EXPECT_EQ(failed(ErrorCode::invalid_argument, vectors, {x_}),
            "test.vectors: no kernel for (f32) -> (f32); f: the type of a parameter is no "
            "number's; got device const float4* x for input 0 of f32, expected float and its like");
}

TEST_F(WrongUserKernels, NumbersAreOneElement) {
  const CustomOp op({.name = "test.numbers", .min_inputs = 2, .max_inputs = 2, .kernel = R"(
kernel void f(device const float* x, constant float& a, device float* y,
              uint i [[thread_position_in_grid]]) { y[i] = a * x[i]; }
)"});
  EXPECT_EQ(failed(ErrorCode::shape, op, {x_, x_}),
            "test.numbers: no kernel for (f32, f32) -> (f32); f: input 1 is more than a number; "
            "got [3], expected one element for constant float& a");
  EXPECT_EQ(op(x_, 2).to_vector<float>(), (std::vector<float>{2, 4, 6}));
}

TEST_F(WrongUserKernels, ConstantsThatTheirTypesDoNotHold) {
  const std::string text = R"(
kernel void f(device const float* x, constant uchar& n, device float* y,
              uint i [[thread_position_in_grid]]) { y[i] = x[i] + n; }
)";
  const CustomOp large({.name = "test.large_constant",
                        .kernel = text,
                        .launch = [](std::span<const TensorType>, std::span<const TensorType>) {
                          return KernelLaunch{.constants = {{"n", 256}}};
                        }});
  EXPECT_EQ(failed(ErrorCode::invalid_argument, large, {x_}),
            "test.large_constant: no kernel for (f32) -> (f32); f: a constant is out of range; got "
            "256, expected what constant uchar& n holds");
  const CustomOp fraction({.name = "test.fraction",
                           .kernel = text,
                           .launch = [](std::span<const TensorType>, std::span<const TensorType>) {
                             return KernelLaunch{.constants = {{"n", 0.5}}};
                           }});
  expect_parts(failed(ErrorCode::invalid_argument, fraction, {x_}),
               {"f: a constant is no integer; got 0.5"});
  const CustomOp right({.name = "test.right_constant",
                        .kernel = text,
                        .launch = [](std::span<const TensorType>, std::span<const TensorType>) {
                          return KernelLaunch{.constants = {{"n", 255.0}}};
                        }});
  EXPECT_EQ(right(x_).to_vector<float>(), (std::vector<float>{256, 257, 258}));
}

TEST_F(WrongUserKernels, LaunchesThatCannotBe) {
  const auto op = [](const char* name, auto launch) {
    return CustomOp({.name = name, .kernel = kCopy, .launch = launch});
  };
  using Types = std::span<const TensorType>;
  EXPECT_EQ(
      failed(ErrorCode::invalid_argument,
             op("test.odd_threads", [](Types, Types) { return KernelLaunch{.threads = {20}}; }),
             {x_}),
      "test.odd_threads: threadgroup of a wrong size; got 20 x 1 x 1 threads, expected a "
      "multiple of 32 up to 1024");
  EXPECT_EQ(
      failed(ErrorCode::invalid_argument,
             op("test.no_threads", [](Types, Types) { return KernelLaunch{.grid = {{0}}}; }), {x_}),
      "test.no_threads: nobody writes the results; got a grid of no threads, expected "
      "KernelLaunch::grid to have some where a result has elements");
  EXPECT_EQ(
      failed(ErrorCode::invalid_argument,
             op("test.no_memory",
                [](Types, Types) { return KernelLaunch{.threadgroup_bytes = {{"parts", 16}}}; }),
             {x_}),
      "test.no_memory: no kernel for (f32) -> (f32); copy: no such threadgroup memory; got a "
      "size for parts, expected a parameter threadgroup T* of that name");
}

TEST_F(WrongUserKernels, LaunchesWhoseExtentsOverflow) {
  const auto op = [](const char* name, auto launch) {
    return CustomOp({.name = name, .kernel = kCopy, .launch = launch});
  };
  using Types = std::span<const TensorType>;
  EXPECT_EQ(failed(ErrorCode::invalid_argument,
                   op("test.wrapping_threads",
                      [](Types, Types) {
                        return KernelLaunch{.threads = {1824726041u, 105305443u, 96u}};
                      }),
                   {x_}),
            "test.wrapping_threads: threadgroup of a wrong size; got 1824726041 x 105305443 x 96 "
            "threads, expected a multiple of 32 up to 1024");
}

TEST_F(WrongUserKernels, ResultsThatNobodyWould) {
  const CustomOp op({.name = "test.larger_second",
                     .outputs = 2,
                     .infer_outputs =
                         [](std::span<const Array> in) {
                           return std::vector<TensorType>{{in[0].dtype(), {1}},
                                                          {in[0].dtype(), {600}}};
                         },
                     .kernel = R"(
kernel void both(device const float* x, device float* y, device float* z,
                 uint i [[thread_position_in_grid]]) {
  y[i] = x[0];
  z[i] = x[0];
}
)"});
  EXPECT_EQ(failed(ErrorCode::invalid_argument, op, {x_}),
            "test.larger_second: a result larger than the first; got 600 elements of result 1 and "
            "1 of the first, expected KernelLaunch::grid");
  const CustomOp no_dtype(
      {.name = "test.no_dtype",
       .infer = [](std::span<const Array>) { return TensorType{static_cast<DType>(99), {2}}; },
       .compute = [](std::span<const HostTensor>, HostTensor) {}});
  EXPECT_EQ(failed(ErrorCode::dtype, no_dtype, {host_}),
            "test.no_dtype: infer gives no dtype; got number 99, expected one of DType");
}

const CustomOp* calls_itself = nullptr;

TEST_F(WrongUserKernels, AreNotStoppedByALaunchThatCallsTheOp) {
  const CustomOp op({.name = "test.calls_itself",
                     .kernel = kCopy,
                     .launch = [](std::span<const TensorType> in, std::span<const TensorType>) {
                       if (in[0].shape[0] > 1) {
                         const Device gpu = testing::kernel_device_under_test();
                         (*calls_itself)(zeros({1}, DType::f32, gpu)).eval();
                       }
                       return KernelLaunch();
                     }});
  calls_itself = &op;
  EXPECT_EQ(op(x_).to_vector<float>(), (std::vector<float>{1, 2, 3}));
}

TEST_F(WrongUserKernels, GradientsOnAnotherDevice) {
  const CustomOp op({.name = "test.gradient_elsewhere",
                     .kernel = kCopy,
                     .vjp = [](std::span<const Array>, const Array&, const Array& grad) {
                       return std::vector<Array>{ones(grad.shape(), grad.dtype(), Device::cpu())};
                     }});
  const Array x = x_.require_grad();
  EXPECT_EQ(error_of(ErrorCode::invalid_argument, [&] { (void)backward(sum(op(x))); }),
            "test.gradient_elsewhere: gradient 0 does not fit its input; got f32 [3] on cpu:0, "
            "expected f32 [3] on " +
                gpu_.name());
}

TEST_F(WrongUserKernels, DevicesThatHaveNothingToRun) {
  const CustomOp kernel_only({.name = "test.kernel_only", .kernel = kCopy});
  EXPECT_EQ(failed(ErrorCode::unsupported, kernel_only, {host_}),
            "test.kernel_only: no host function; got a call on cpu:0, expected "
            "CustomOpSpec::compute, or inputs on a GPU, which runs the kernel");
  EXPECT_EQ(kernel_only(x_).to_vector<float>(), (std::vector<float>{1, 2, 3}));
  const CustomOp host_only(
      {.name = "test.host_only", .compute = [](std::span<const HostTensor> in, HostTensor out) {
         const auto x = user_ops::elements(in[0]);
         for (std::size_t i = 0; i < x.size(); ++i) {
           user_ops::store(out, i, static_cast<float>(-x[i]));
         }
       }});
  EXPECT_EQ(failed(ErrorCode::unsupported, host_only, {x_}),
            "test.host_only: no kernel; got a call on " + gpu_.name() +
                ", expected CustomOpSpec::kernel, or inputs on the CPU");
  EXPECT_EQ(host_only(host_).to_vector<float>(), (std::vector<float>{-1, -2, -3}));
}

TEST_F(WrongUserKernels, SpecsThatSayTwoThings) {
  EXPECT_EQ(refused({.name = "test.nothing"}),
            "custom_op: test.nothing: incomplete; expected compute, kernel or both");
  EXPECT_EQ(
      refused({.name = "test.kernels", .kernel = kCopy, .kernels = {{}}}),
      "custom_op: test.kernels: two kinds of kernels; got kernel and kernels, expected one of "
      "them");
  EXPECT_EQ(refused({.name = "test.nine", .outputs = 9, .kernel = kCopy}),
            "custom_op: test.nine: outputs; got 9, expected 1 to 8");
  EXPECT_EQ(refused({.name = "test.one_of_two",
                     .outputs = 2,
                     .infer = [](std::span<const Array>) { return TensorType{}; },
                     .kernel = kCopy}),
            "custom_op: test.one_of_two: a function of one result; got infer for 2 results, "
            "expected infer_outputs");
  EXPECT_EQ(refused({.name = "test.no_type", .min_inputs = 0, .kernel = kCopy}),
            "custom_op: test.no_type: no type of the results; got min_inputs 0, expected infer, or "
            "an input that the results are like");
  EXPECT_EQ(refused({.name = "test.negative",
                     .min_inputs = -1,
                     .infer = [](std::span<const Array>) { return TensorType{}; },
                     .kernel = kCopy}),
            "custom_op: test.negative: min_inputs; got -1, expected 0 or more");
  EXPECT_EQ(refused({.name = "test.negative", .max_inputs = -1, .kernel = kCopy}),
            "custom_op: test.negative: max_inputs; got -1, expected min_inputs, 1, at least");
  EXPECT_EQ(refused({.kernel = kCopy}), "custom_op: incomplete; expected a name");
  EXPECT_EQ(refused({.name = "test.entry_alone",
                     .compute = [](std::span<const HostTensor>, HostTensor) {},
                     .kernel_entry = "f"}),
            "custom_op: test.entry_alone: an entry point of nothing; got 'f', expected a kernel");
  const CustomOp short_types({.name = "test.short_types",
                              .outputs = 2,
                              .infer_outputs =
                                  [](std::span<const Array> in) {
                                    return std::vector<TensorType>{{in[0].dtype(), in[0].shape()}};
                                  },
                              .kernel = R"(
kernel void f(device const float* x, device float* y, device float* z) { y[0] = z[0] = x[0]; }
)"});
  EXPECT_EQ(error_of(ErrorCode::invalid_argument, [&] { short_types.outputs({x_}); }),
            "test.short_types: infer_outputs gives the type of each result; got 1, expected 2");
}

}  // namespace
}  // namespace hearth
