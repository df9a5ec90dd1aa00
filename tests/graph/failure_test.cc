// Errors: where they appear, and that they hurt nothing else.
#include <gtest/gtest.h>

#include <functional>
#include <new>
#include <stdexcept>
#include <thread>

#include "error_text.h"
#include "graph/counted.h"
#include "graph/op_def.h"
#include "hearth/custom_op.h"
#include "hearth/ops.h"

namespace hearth::testing {
namespace {

ErrorCode code_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.code();
  }
  ADD_FAILURE() << "no error";
  return ErrorCode::internal;
}

// Doubles its input, but refuses what starts with 13.
const CustomOp& unlucky() {
  static const CustomOp op({
      .name = "test.unlucky",
      .infer = [](std::span<const Array> in) { return TensorType{in[0].dtype(), in[0].shape()}; },
      .compute =
          [](std::span<const HostTensor> in, HostTensor out) {
            const auto* from = reinterpret_cast<const float*>(in[0].data);
            auto* to = reinterpret_cast<float*>(out.data);
            if (from[0] == 13) throw Error(ErrorCode::invalid_argument, "unlucky: got 13");
            for (std::int64_t i = 0; i < element_count(out.shape); ++i) to[i] = 2 * from[i];
          },
  });
  return op;
}

TEST(Failure, RecordingThrowsAtTheCall) {
  const Array a = iota({2, 3});
  EXPECT_EQ(code_of([&] { (void)add(a, iota({4})); }), ErrorCode::shape);
  EXPECT_EQ(code_of([&] { (void)add(a, iota({2, 3}, Device::cpu(), DType::i64)); }),
            ErrorCode::dtype);
  EXPECT_EQ(code_of([&] { (void)add(iota({3}, Device::cpu(), DType::i64), 0.5); }),
            ErrorCode::dtype);
  EXPECT_EQ(code_of([&] { (void)sum(a, {2}); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([&] { (void)add(a, Array()); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([&] { Array().eval(); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([&] { a.to_vector<double>(); }), ErrorCode::dtype);
  EXPECT_EQ(code_of([&] { a.item(); }), ErrorCode::shape);
  EXPECT_EQ(add(a, a).to_vector<float>()[5], 10) << "the tape goes on";
}

TEST(Failure, MixedDevicesAreAnError) {
  const Array here = iota({3});
  const Array there = iota({3}, Device::named("hostile"));
  EXPECT_EQ(code_of([&] { (void)add(here, there); }), ErrorCode::device);
  EXPECT_EQ(code_of([&] { (void)where(greater(here, 0.0), there, 1.0); }), ErrorCode::device);
  EXPECT_EQ(code_of([&] { (void)cat({here, there}, 0); }), ErrorCode::device);
  EXPECT_EQ(add(there, 1.0).to_vector<float>()[2], 3) << "numbers belong to no device";
}

TEST(Failure, UnknownDevice) {
  EXPECT_EQ(code_of([] { Device::named("abacus"); }), ErrorCode::device);
}

TEST(Failure, KernelErrorsAreKeptAndThrownByEveryRead) {
  const Array bad = unlucky()({full({4}, 13.0)});
  const Array after = add(bad, 1.0);
  EXPECT_EQ(code_of([&] { after.eval(); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([&] { bad.to_vector<float>(); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([&] { sum(after).item(); }), ErrorCode::invalid_argument) << "derived later";
  EXPECT_EQ(unlucky()({full({4}, 14.0)}).to_vector<float>()[3], 28) << "the same plan works";
}

// Values of one recording, beside one that fails.
TEST(Failure, WhatDoesNotDependOnItRuns) {
  Array weight = iota({3}).eval();
  const Array constant = full({2}, 5.0);
  weight.assign(mul(weight.detach(), 2.0));
  const Array bad = unlucky()({full({4}, 13.0)});
  const Array after = add(bad, slice(weight, {{0, 1}}));
  const Array beside = add(constant, 1.0);
  weight.assign(add(weight.detach(), 1.0));
  submit();
  EXPECT_EQ(weight.to_vector<float>(), (std::vector<float>{1, 3, 5}));
  EXPECT_EQ(constant.to_vector<float>()[1], 5);
  EXPECT_EQ(beside.to_vector<float>()[1], 6);
  EXPECT_EQ(code_of([&] { bad.eval(); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([&] { after.eval(); }), ErrorCode::invalid_argument);
  EXPECT_EQ(add(constant, beside).to_vector<float>()[0], 11) << "recorded after the failure";
}

// One region computes both results, and only one of them reads what failed.
TEST(Failure, ARegionKeepsItsOtherResults) {
  const Array a = iota({4}).eval();
  Array good;
  Array lost;
  const Statistics count = counted([&] {
    const Array bad = unlucky()({full({4}, 13.0)});
    good = add(a, 1.0);
    lost = mul(good, bad);
    submit();
  });
  EXPECT_EQ(count.dispatches, 3) << "the constant, the user's op and one region";
  EXPECT_EQ(good.to_vector<float>()[3], 4);
  EXPECT_EQ(code_of([&] { lost.eval(); }), ErrorCode::invalid_argument);
}

// The update has overwritten its input when the next op throws.
TEST(Failure, UpdatesInPlaceBeforeItAreKept) {
  Array x = iota({1000}).eval();
  const Statistics count = counted([&] {
    x = slice_assign(x, {{0, 1}}, full({1}, 7.0));
    const Array bad = unlucky()({add(slice(x, {{13, 14}}), 0.0)});
    x = add(x, 1.0);
    EXPECT_EQ(code_of([&] { bad.eval(); }), ErrorCode::invalid_argument);
  });
  EXPECT_EQ(count.donations, 1);
  EXPECT_EQ(x.to_vector<float>()[0], 8);
  EXPECT_EQ(x.to_vector<float>()[999], 999 % 97 + 1);
}

TEST(Failure, EachFailureHasItsOwnError) {
  static const CustomOp other({
      .name = "test.never",
      .infer = [](std::span<const Array> in) { return TensorType{in[0].dtype(), in[0].shape()}; },
      .compute = [](std::span<const HostTensor>,
                    HostTensor) { throw Error(ErrorCode::io, "never: got a call"); },
  });
  const Array first = unlucky()({full({4}, 13.0)});
  const Array second = add(other({full({4}, 1.0)}), 1.0);
  const Array both = add(second, first);
  submit();
  EXPECT_EQ(code_of([&] { first.eval(); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([&] { second.eval(); }), ErrorCode::io);
  EXPECT_THROW(both.eval(), Error);
}

constinit const OpDef homeless = {
    .name = "test.homeless",
    .infer =
        [](Inference& inference) {
          inference.shape = inference.input(0).shape();
          inference.dtype = inference.input(0).dtype();
        },
};

// An op that no device has an implementation of. (A call of a user's op says so at once.)
TEST(Failure, WhatADeviceHasNoKernelForFailsAlone) {
  const Device sim = Device::named("sim");
  Array x = iota({4}, sim).eval();
  EXPECT_EQ(code_of([&] { (void)unlucky()({x}); }), ErrorCode::unsupported);
  const Array* const inputs[] = {&x};
  const Array bad = record(homeless, inputs, Params());
  const Array after = add(bad, x);
  x = add(x, 1.0);
  submit();
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(code_of([&] { bad.eval(); }), ErrorCode::unsupported);
  EXPECT_EQ(code_of([&] { after.eval(); }), ErrorCode::unsupported);
}

TEST(Failure, WhatIsNoErrorIsInternal) {
  static const CustomOp rude({
      .name = "test.rude",
      .infer = [](std::span<const Array> in) { return TensorType{in[0].dtype(), in[0].shape()}; },
      .compute =
          [](std::span<const HostTensor> in, HostTensor) {
            if (reinterpret_cast<const float*>(in[0].data)[0] == 1) throw 1;
            throw std::bad_alloc();
          },
  });
  EXPECT_EQ(code_of([&] { rude({full({1}, 1.0)}).eval(); }), ErrorCode::internal);
  EXPECT_EQ(code_of([&] { rude({full({1}, 2.0)}).eval(); }), ErrorCode::out_of_memory);
}

TEST(Failure, WhatAUsersFunctionThrowsNamesItsOp) {
  static const CustomOp throws({
      .name = "test.throws",
      .compute =
          [](std::span<const HostTensor> in, HostTensor) {
            switch (static_cast<int>(in[0].at<float>(0))) {
              case 0:
                throw std::out_of_range("element 7 of 3");
              case 1:
                throw 1;
              case 2:
                throw std::bad_alloc();
              case 3:
                throw Error(ErrorCode::io, "no file");
              default:
                throw Error(ErrorCode::io, "test.throws: no file");
            }
          },
  });
  const auto text = [](double which) {
    return check::error_of([which] { throws({full({1}, which)}).eval(); });
  };
  EXPECT_EQ(text(0), "test.throws: compute failed; got element 7 of 3");
  EXPECT_EQ(text(1),
            "test.throws: compute failed; got what is no std::exception, expected an Error");
  EXPECT_EQ(text(2),
            "test.throws: compute failed; got an allocation that the host has no memory for");
  EXPECT_EQ(text(3), "test.throws: no file");
  EXPECT_EQ(text(4), "test.throws: no file");
}

TEST(Failure, AutomaticSubmissionsKeepTheirError) {
  Array bad = unlucky()({full({4}, 13.0)});
  Array x = bad;
  // Recording throws nothing although the tape is cut on the way.
  for (int i = 0; i < 10000; ++i) x = add(x, 1.0);
  Array independent = full({4}, 1.0);
  for (int i = 0; i < 100; ++i) independent = add(independent, 1.0);
  EXPECT_EQ(code_of([&] { x.eval(); }), ErrorCode::invalid_argument);
  EXPECT_EQ(independent.to_vector<float>()[0], 101) << "recorded after the failure";
}

TEST(Failure, FaultsOfAsynchronousDevicesComeWithTheNextWait) {
  const Device hostile = Device::named("hostile");
  const Array bad = unlucky()({full({4}, 13.0, DType::f32, hostile)});
  EXPECT_EQ(code_of([&] { bad.eval(); }), ErrorCode::device);
  const Array good = unlucky()({full({4}, 3.0, DType::f32, hostile)});
  EXPECT_EQ(good.to_vector<float>()[0], 6);
}

TEST(Failure, ForeignFailureStaysWithItsArrays) {
  Array bad;
  std::thread other([&] { bad = unlucky()({full({4}, 13.0)}); });
  other.join();
  Array mine = add(iota({4}), 1.0);
  const Array derived = add(bad, mine);
  EXPECT_EQ(mine.to_vector<float>()[3], 4);
  EXPECT_EQ(code_of([&] { derived.eval(); }), ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace hearth::testing
