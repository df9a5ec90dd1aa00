// Functions that Hearth calls when memory is given back, which call Hearth.
#include <array>
#include <functional>
#include <thread>

#include "c_api/c_arrays.h"

namespace hearth::c_api::testing {
namespace {

constexpr std::size_t kElements = 4;

// What `release` does, and the arrays that it does it with.
struct Given {
  std::function<void()> calls;
  int released = 0;
};

void release(void* context) {
  auto& given = *static_cast<Given*>(context);
  ++given.released;
  given.calls();
}

Held doubled(const Held& x) {
  return apply("mul", {hearth_of_array(x.handle), hearth_of_float(2)});
}

// Elements 1, 2, 3, 4 in memory of the host's.
Held adopted(Given& given) {
  alignas(64) static const std::array<float, kElements> values = {1, 2, 3, 4};
  const std::int64_t shape[] = {kElements};
  hearth_array array = {0};
  EXPECT_EQ(hearth_array_from_memory(values.data(), sizeof values, HEARTH_F32, shape, 1,
                                     HEARTH_DEFAULT_DEVICE, release, &given, &array),
            HEARTH_OK)
      << hearth_error_message();
  return Held(array);
}

const std::vector<float> kDoubled = {2, 4, 6, 8};

void differentiate(const Held& x) {
  hearth_array leaf = {0};
  EXPECT_EQ(hearth_array_require_grad(x.handle, &leaf), HEARTH_OK) << hearth_error_message();
  const Held held(leaf);
  const Held sum = apply("sum", {hearth_of_array(doubled(held).handle)});
  hearth_gradients gradients = {0};
  ASSERT_EQ(hearth_backward(sum.handle, 0, &gradients), HEARTH_OK) << hearth_error_message();
  hearth_array gradient = {0};
  EXPECT_EQ(hearth_gradients_get(gradients, leaf, &gradient), HEARTH_OK);
  EXPECT_EQ(values_of(Held(gradient)), (std::vector<float>{2, 2, 2, 2}));
  EXPECT_EQ(hearth_gradients_release(gradients), HEARTH_OK);
}

// What a callback does with an array that has a value and one that is still to be computed.
using Calls = void (*)(Held& ready, Held& pending);
constexpr Calls kCalls[] = {
    [](Held& ready, Held&) { ready = Held(); },
    [](Held&, Held&) { EXPECT_EQ(values_of(floats({5}, {1})), std::vector<float>{5}); },
    [](Held& ready, Held&) { doubled(ready); },
    [](Held& ready, Held&) { EXPECT_EQ(values_of(doubled(ready)), kDoubled); },
    [](Held&, Held&) { EXPECT_EQ(hearth_submit(), HEARTH_OK); },
    [](Held&, Held&) {
      EXPECT_EQ(hearth_device_synchronize(HEARTH_DEFAULT_DEVICE), HEARTH_OK);
      EXPECT_EQ(hearth_device_trim(HEARTH_DEFAULT_DEVICE), HEARTH_OK);
      statistic("memory.in_use");
    },
    [](Held&, Held& pending) { EXPECT_EQ(values_of(pending), kDoubled); },
    [](Held& ready, Held&) { differentiate(ready); },
    [](Held&, Held&) {  // more memory, given back within
      Given inner{[] { EXPECT_EQ(values_of(floats({5}, {1})), std::vector<float>{5}); }};
      EXPECT_EQ(values_of(doubled(adopted(inner))), kDoubled);
      EXPECT_EQ(hearth_device_synchronize(HEARTH_DEFAULT_DEVICE), HEARTH_OK);
      EXPECT_EQ(inner.released, 1);
    },
};

// Ways in which the last that needs the memory goes.
using Ends = void (*)(Held& made);
constexpr Ends kEnds[] = {
    [](Held& made) { EXPECT_EQ(values_of(made), (std::vector<float>{4, 8, 12, 16})); },
    [](Held&) { EXPECT_EQ(hearth_submit(), HEARTH_OK); },
    [](Held& made) {
      hearth_read read = {0};
      std::array<float, kElements> values = {};
      ASSERT_EQ(hearth_read_start(made.handle, &read), HEARTH_OK) << hearth_error_message();
      ASSERT_EQ(hearth_read_finish(read, values.data(), sizeof values), HEARTH_OK);
      EXPECT_EQ(values[3], 16);
    },
    [](Held& made) {  // nobody wants what is made of it
      made = Held();
      EXPECT_EQ(hearth_submit(), HEARTH_OK);
    },
    [](Held& made) {  // another thread submits it
      std::thread([&made] {
        EXPECT_EQ(values_of(made), (std::vector<float>{4, 8, 12, 16}));
      }).join();
    },
    [](Held& made) {  // a long recording is submitted while it goes on
      made = Held();
      const Held other = floats({1, 2, 3, 4}, {4});
      for (int i = 0; i < 9000; ++i) doubled(other);
    },
};

class Callbacks : public ::testing::TestWithParam<std::tuple<std::size_t, std::size_t>> {};

TEST_P(Callbacks, CallHearth) {
  const Calls calls = kCalls[std::get<0>(GetParam())];
  const Ends end = kEnds[std::get<1>(GetParam())];
  for (int round = 0; round < 3; ++round) {
    Held ready = floats({1, 2, 3, 4}, {4});
    Held pending = doubled(ready);
    Given given{[&] { calls(ready, pending); }};
    Held x = adopted(given);
    Held made = doubled(doubled(x));
    x = Held();
    end(made);
    made = Held();
    EXPECT_EQ(hearth_submit(), HEARTH_OK);
    EXPECT_EQ(hearth_device_synchronize(HEARTH_DEFAULT_DEVICE), HEARTH_OK);
    EXPECT_EQ(given.released, 1);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Callbacks,
                         ::testing::Combine(::testing::Range<std::size_t>(0, std::size(kCalls)),
                                            ::testing::Range<std::size_t>(0, std::size(kEnds))));

}  // namespace
}  // namespace hearth::c_api::testing
