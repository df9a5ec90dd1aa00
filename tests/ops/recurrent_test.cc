// Mixers over ragged batches against step by step references in f64: sequences of all lengths,
// padding, starts that are no starts, cuts, decay, and that sequences do not meet.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "check.h"
#include "devices_under_test.h"
#include "hearth/grad.h"

namespace hearth {
namespace {

using check::array;
using check::expect_close;
using check::kInf;
using check::kNan;
using check::random_values;
using check::Values;

using Starts = std::vector<std::int64_t>;
using Pair = std::pair<Array, Array>;

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

std::vector<Device> devices() {
  std::vector<Device> all = testing::devices_under_test();
  const Device kernels = testing::kernel_device_under_test();
  if (std::find(all.begin(), all.end(), kernels) == all.end()) all.push_back(kernels);
  return all;
}

Array starts_of(const Starts& starts) {
  std::vector<std::int32_t> narrow;
  for (const std::int64_t each : starts) narrow.push_back(static_cast<std::int32_t>(each));
  return Array::from_data(narrow, {static_cast<std::int64_t>(starts.size())});
}

// What the starts of a batch of `rows` rows mean.
Starts bounds_of(const Starts& starts, std::int64_t rows) {
  Starts bounds;
  std::int64_t least = 0;
  for (const std::int64_t each : starts) {
    least = std::max(least, std::clamp<std::int64_t>(each, 0, rows));
    bounds.push_back(least);
  }
  return bounds;
}

// The values of an array as it was rounded to its dtype.
struct Input {
  Values values;
  Array array;

  double operator[](std::int64_t i) const { return values[at(i)]; }
  // On another device.
  Array on(Device device) const { return array.defined() ? to_device(array, device) : Array(); }
};
Input input(const Shape& shape, DType dtype, double lo, double hi, std::uint64_t seed) {
  const Array made = array(random_values(element_count(shape), lo, hi, seed), shape, dtype);
  return {made.to_doubles(), made};
}
// Rows [first, first + count) of it.
Input rows_of(const Input& x, std::int64_t first, std::int64_t count) {
  const Array part = contiguous(narrow(x.array, 0, first, count));
  return {part.to_doubles(), part};
}

struct Result {
  Values y, state;
};
Result result_of(const Pair& both) { return {both.first.to_doubles(), both.second.to_doubles()}; }

// ---- The three mixers: inputs that are random, the call, and the reference

struct Conv {
  std::int64_t rows, channels, kernel, sequences;
  Input x, weight, bias, state;

  Conv(std::int64_t rows_, std::int64_t sequences_, DType dtype, std::uint64_t seed)
      : rows(rows_), channels(37), kernel(4), sequences(sequences_) {
    x = input({rows, channels}, dtype, -1, 1, seed);
    weight = input({channels, kernel}, dtype, -1, 1, seed + 1);
    bias = input({channels}, dtype, -1, 1, seed + 2);
    state = input({sequences, kernel - 1, channels}, compute(dtype), -1, 1, seed + 3);
  }
  static DType compute(DType dtype) { return dtype == DType::f64 ? DType::f64 : DType::f32; }

  Pair call(const Starts& starts, Device device = Device::cpu()) const {
    return causal_conv(x.on(device), weight.on(device), state.on(device),
                       to_device(starts_of(starts), device), bias.on(device));
  }
  Result reference(const Starts& starts) const {
    Result out{Values(at(rows * channels)), state.values};
    const Starts bounds = bounds_of(starts, rows);
    for (std::int64_t s = 0; s < sequences; ++s) {
      const std::int64_t begin = bounds[at(s)], end = bounds[at(s + 1)];
      for (std::int64_t c = 0; c < channels; ++c) {
        const auto row = [&](std::int64_t t) {
          return t >= begin ? x[t * channels + c]
                            : state[(s * (kernel - 1) + kernel - 1 + t - begin) * channels + c];
        };
        for (std::int64_t t = begin; t < end; ++t) {
          double sum = bias[c];
          for (std::int64_t k = 0; k < kernel; ++k) {
            sum += weight[c * kernel + k] * row(t - kernel + 1 + k);
          }
          out.y[at(t * channels + c)] = sum;
        }
        for (std::int64_t i = 0; i < kernel - 1; ++i) {
          out.state[at((s * (kernel - 1) + i) * channels + c)] = row(end - kernel + 1 + i);
        }
      }
    }
    return out;
  }
};

struct Delta {
  std::int64_t rows, k_heads = 2, heads = 4, dk = 20, dv = 35, sequences;
  bool tiled = false;
  Input q, k, v, g, beta, state;

  Delta(std::int64_t rows_, std::int64_t sequences_, DType dtype, std::uint64_t seed)
      : rows(rows_), sequences(sequences_) {
    const double length = 1 / std::sqrt(static_cast<double>(dk) / 3);
    q = input({rows, k_heads, dk}, dtype, -length, length, seed);
    k = input({rows, k_heads, dk}, dtype, -length, length, seed + 1);
    v = input({rows, heads, dv}, dtype, -1, 1, seed + 2);
    g = input({rows, heads}, Conv::compute(dtype), -0.3, 0, seed + 3);
    beta = input({rows, heads}, Conv::compute(dtype), 0, 1, seed + 4);
    state = input({sequences, heads, dk, dv}, Conv::compute(dtype), -1, 1, seed + 5);
  }
  Pair call(const Starts& starts, Device device = Device::cpu()) const {
    return gated_delta_rule(q.on(device), k.on(device), v.on(device), g.on(device), beta.on(device),
                            state.on(device), to_device(starts_of(starts), device),
                            {.tiled = tiled});
  }
  Result reference(const Starts& starts) const {
    Result out{Values(at(rows * heads * dv)), state.values};
    const Starts bounds = bounds_of(starts, rows);
    for (std::int64_t s = 0; s < sequences; ++s) {
      for (std::int64_t h = 0; h < heads; ++h) {
        double* const S = out.state.data() + (s * heads + h) * dk * dv;
        const std::int64_t from = tiled ? h % k_heads : h / (heads / k_heads);
        for (std::int64_t t = bounds[at(s)]; t < bounds[at(s + 1)]; ++t) {
          const double decay = std::exp(g[t * heads + h]);
          const std::int64_t key = (t * k_heads + from) * dk, value = (t * heads + h) * dv;
          for (std::int64_t j = 0; j < dv; ++j) {
            double held = 0, sum = 0;
            for (std::int64_t i = 0; i < dk; ++i) held += k[key + i] * (S[i * dv + j] *= decay);
            const double delta = beta[t * heads + h] * (v[value + j] - held);
            for (std::int64_t i = 0; i < dk; ++i) {
              sum += q[key + i] * (S[i * dv + j] += k[key + i] * delta);
            }
            out.y[at(value + j)] = sum;
          }
        }
      }
    }
    return out;
  }
};

struct Space {
  std::int64_t rows, groups = 2, heads = 4, p = 9, n = 37, sequences;
  Input x, dt, a, b, c, d, state;

  Space(std::int64_t rows_, std::int64_t sequences_, DType dtype, std::uint64_t seed)
      : rows(rows_), sequences(sequences_) {
    x = input({rows, heads, p}, dtype, -1, 1, seed);
    dt = input({rows, heads}, Conv::compute(dtype), 0, 0.5, seed + 1);
    a = input({heads}, Conv::compute(dtype), -1, -0.1, seed + 2);
    b = input({rows, groups, n}, dtype, -0.3, 0.3, seed + 3);
    c = input({rows, groups, n}, dtype, -0.3, 0.3, seed + 4);
    d = input({heads}, Conv::compute(dtype), -1, 1, seed + 5);
    state = input({sequences, heads, p, n}, Conv::compute(dtype), -1, 1, seed + 6);
  }
  Pair call(const Starts& starts, Device device = Device::cpu()) const {
    return selective_scan(x.on(device), dt.on(device), a.on(device), b.on(device), c.on(device),
                          state.on(device), to_device(starts_of(starts), device), d.on(device));
  }
  Result reference(const Starts& starts) const {
    Result out{Values(at(rows * heads * p)), state.values};
    const Starts bounds = bounds_of(starts, rows);
    for (std::int64_t s = 0; s < sequences; ++s) {
      for (std::int64_t h = 0; h < heads; ++h) {
        double* const S = out.state.data() + (s * heads + h) * p * n;
        for (std::int64_t t = bounds[at(s)]; t < bounds[at(s + 1)]; ++t) {
          const double time = dt[t * heads + h], decay = std::exp(time * a[h]);
          const std::int64_t in = (t * groups + h / (heads / groups)) * n;
          for (std::int64_t i = 0; i < p; ++i) {
            const double value = x[(t * heads + h) * p + i];
            double sum = d[h] * value;
            for (std::int64_t j = 0; j < n; ++j) {
              double& held = S[i * n + j];
              held = decay * held + time * value * b[in + j];
              sum += held * c[in + j];
            }
            out.y[at((t * heads + h) * p + i)] = sum;
          }
        }
      }
    }
    return out;
  }
};

template <class Mixer>
class Recurrent : public ::testing::Test {};
using Mixers = ::testing::Types<Conv, Delta, Space>;

class MixerNames {
 public:
  template <class Mixer>
  static std::string GetName(int) {
    if (std::is_same_v<Mixer, Conv>) return "CausalConv";
    return std::is_same_v<Mixer, Delta> ? "GatedDeltaRule" : "SelectiveScan";
  }
};
TYPED_TEST_SUITE(Recurrent, Mixers, MixerNames);

// Of results and states of some rows: each row rounds once more.
double tolerance_of(DType dtype) {
  return dtype == DType::f64 ? 1e-12 : 4 * check::tolerance(dtype);
}

void expect_result(const Pair& got, const Result& expected, DType dtype, const std::string& what) {
  expect_close(got.first, expected.y, tolerance_of(dtype), what + " y");
  expect_close(got.second, expected.state, tolerance_of(Conv::compute(dtype)), what + " state");
}

bool has(Device device, DType dtype) { return device.supports(dtype); }

// A prompt of several chunks, single rows, sequences without rows, padding at both ends.
const Starts kMixed = {2, 152, 153, 153, 154, 174, 174};
constexpr std::int64_t kMixedRows = 180, kMixedSequences = 6;

TYPED_TEST(Recurrent, PromptsAndSingleRowsTogether) {
  for (const Device device : devices()) {
    for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
      if (!has(device, dtype)) continue;
      const TypeParam mixer(kMixedRows, kMixedSequences, dtype, 11);
      expect_result(mixer.call(kMixed, device), mixer.reference(kMixed), dtype,
                    std::string(name(dtype)) + " on " + device.name());
    }
  }
}

TYPED_TEST(Recurrent, StartsThatAreNoStarts) {
  const std::int32_t least = INT32_MIN, most = INT32_MAX;
  const std::vector<Starts> hostile = {
      {0, 0, 0, 0},    {40, 40, 40, 40},    {-7, 5, 90, 100},      {30, 10, 20, 35},
      {most, 0, 1, 2}, {least, most, 3, 9}, {5, least, 12, least}, {0, most, most, least}};
  for (const Device device : devices()) {
    const TypeParam mixer(40, 3, DType::f32, 23);
    for (const Starts& starts : hostile) {
      std::string text = device.name();
      for (const std::int64_t each : starts) text += " " + std::to_string(each);
      expect_result(mixer.call(starts, device), mixer.reference(starts), DType::f32, text);
    }
  }
}

// Neither results nor states see what padding holds.
TYPED_TEST(Recurrent, PaddingIsNotRead) {
  const TypeParam mixer(12, 2, DType::f32, 31);
  TypeParam spoilt = mixer;
  const auto spoil = [](Input& x, double with) {
    const std::int64_t each = x.array.size() / 12;
    for (std::int64_t i = 0; i < x.array.size(); ++i) {
      if (i / each < 2 || i / each >= 9) x.values[at(i)] = with;
    }
    x.array = array(x.values, x.array.shape(), x.array.dtype());
  };
  if constexpr (std::is_same_v<TypeParam, Conv>) {
    spoil(spoilt.x, kNan);
  } else if constexpr (std::is_same_v<TypeParam, Delta>) {
    spoil(spoilt.v, kNan);
    spoil(spoilt.k, kInf);
    spoil(spoilt.g, kNan);
  } else {
    spoil(spoilt.x, kInf);
    spoil(spoilt.dt, kNan);
    spoil(spoilt.b, kNan);
  }
  const Starts starts = {2, 6, 9};
  for (const Device device : devices()) {
    expect_result(spoilt.call(starts, device), mixer.reference(starts), DType::f32, device.name());
  }
}

// The bits of rows [first, first + count) of y, and of the state of sequence s.
std::pair<Values, Values> part_of(const Pair& both, std::int64_t first, std::int64_t count,
                                  std::int64_t s) {
  return {narrow(both.first, 0, first, count).to_doubles(),
          narrow(both.second, 0, s, 1).to_doubles()};
}

// The mixer of one sequence of `from`: rows [first, first + count), the state of sequence s.
template <class Mixer>
Mixer alone(const Mixer& from, std::int64_t first, std::int64_t count, std::int64_t s) {
  Mixer one = from;
  one.rows = count;
  one.sequences = 1;
  one.state = rows_of(from.state, s, 1);
  const auto cut = [&](Input& x) { x = rows_of(x, first, count); };
  if constexpr (std::is_same_v<Mixer, Conv>) {
    cut(one.x);
  } else if constexpr (std::is_same_v<Mixer, Delta>) {
    for (Input* each : {&one.q, &one.k, &one.v, &one.g, &one.beta}) cut(*each);
  } else {
    for (Input* each : {&one.x, &one.dt, &one.b, &one.c}) cut(*each);
  }
  return one;
}

TYPED_TEST(Recurrent, ASequenceHasTheSameBitsWhoeverIsBesideIt) {
  for (const Device device : devices()) {
    const TypeParam mixer(kMixedRows, kMixedSequences, DType::f32, 43);
    const Pair together = mixer.call(kMixed, device);
    for (std::int64_t s = 0; s < kMixedSequences; ++s) {
      const std::int64_t first = kMixed[at(s)], count = kMixed[at(s + 1)] - first;
      const TypeParam one = alone(mixer, first, count, s);
      EXPECT_EQ(part_of(one.call({0, count}, device), 0, count, 0),
                part_of(together, first, count, s))
          << "sequence " << s << " on " << device.name();
    }
  }
}

TYPED_TEST(Recurrent, TwoCallsAreOne) {
  for (const Device device : devices()) {
    for (const std::int64_t cut : {1, 20, 63, 64, 99}) {
      const TypeParam mixer(100, 1, DType::f32, 57);
      const Result whole = mixer.reference({0, 100});
      const TypeParam first = alone(mixer, 0, cut, 0);
      TypeParam second = alone(mixer, cut, 100 - cut, 0);
      const Result before = result_of(first.call({0, cut}, device));
      second.state = {before.state, array(before.state, mixer.state.array.shape(), DType::f32)};
      Result both = result_of(second.call({0, 100 - cut}, device));
      both.y.insert(both.y.begin(), before.y.begin(), before.y.end());
      const std::string what = std::to_string(cut) + " rows first on " + device.name();
      expect_close(both.y, whole.y, tolerance_of(DType::f32), what);
      expect_close(both.state, whole.state, tolerance_of(DType::f32), what);
    }
  }
}

TYPED_TEST(Recurrent, ASequenceWithoutRowsKeepsItsState) {
  for (const Device device : devices()) {
    const TypeParam mixer(0, 3, DType::f32, 61);
    const Pair both = mixer.call({0, 0, 0, 0}, device);
    EXPECT_EQ(both.second.to_doubles(), mixer.state.values) << device.name();
    EXPECT_EQ(both.first.size(), 0);
  }
}

// New starts, and no new plan.
TYPED_TEST(Recurrent, StartsAreNoPartOfAPlan) {
  const TypeParam mixer(70, 2, DType::f32, 71);
  const auto run = [&](const Starts& starts) {
    const Pair both = mixer.call(starts);
    eval(std::vector<Array>{both.first, both.second});
    return result_of(both);
  };
  run({0, 30, 70});
  const std::int64_t plans = statistics().plan_misses;
  const Result moved = run({0, 5, 60});
  EXPECT_EQ(statistics().plan_misses, plans);
  const Result expected = mixer.reference({0, 5, 60});
  expect_close(moved.y, expected.y, tolerance_of(DType::f32));
  expect_close(moved.state, expected.state, tolerance_of(DType::f32));
}

TEST(RecurrentInputs, BiasAndSkipMayBeLeftOut) {
  for (const Device device : devices()) {
    Conv conv(20, 2, DType::f32, 73);
    conv.bias = {};
    const Pair plain = conv.call({0, 18, 19}, device);
    conv.bias = {Values(37, 0), zeros({37})};
    expect_result(plain, conv.reference({0, 18, 19}), DType::f32, device.name());
    Space space(20, 2, DType::f32, 79);
    space.d = {};
    const Pair open = space.call({0, 18, 19}, device);
    space.d = {Values(4, 0), zeros({4})};
    expect_result(open, space.reference({0, 18, 19}), DType::f32, device.name());
  }
}

// ---- Decay

// Between rows that forget all before them, in and between chunks, a slow decay is still exact.
TEST(GatedDeltaRule, ForgetsAndKeeps) {
  for (const Device device : devices()) {
    Delta mixer(150, 1, DType::f32, 83);
    for (std::size_t i = 0; i < mixer.g.values.size(); ++i) {
      const std::size_t row = i / 4;
      mixer.g.values[i] = row % 37 == 5 ? -kInf : row % 11 == 3 ? -1e4 : -1e-3;
    }
    mixer.g.array = array(mixer.g.values, {150, 4}, DType::f32);
    mixer.g.values = mixer.g.array.to_doubles();
    expect_result(mixer.call({0, 150}, device), mixer.reference({0, 150}), DType::f32,
                  device.name());
  }
}

TEST(SelectiveScan, ForgetsAndKeeps) {
  for (const Device device : devices()) {
    Space mixer(150, 1, DType::f32, 89);
    for (std::size_t i = 0; i < mixer.dt.values.size(); ++i) {
      mixer.dt.values[i] = i / 4 % 11 == 3 ? 5000 : 1e-3;
    }
    mixer.dt.array = array(mixer.dt.values, {150, 4}, DType::f32);
    mixer.dt.values = mixer.dt.array.to_doubles();
    const Pair got = mixer.call({0, 150}, device);
    const Result expected = mixer.reference({0, 150});
    check::expect_within(got.first.to_doubles(), expected.y, 2e-6, device.name());
    check::expect_within(got.second.to_doubles(), expected.state, 2e-6, device.name());
  }
}

TEST(GatedDeltaRule, ServesTiledHeads) {
  for (const Device device : devices()) {
    Delta mixer(80, 2, DType::f32, 97);
    mixer.tiled = true;
    expect_result(mixer.call({0, 77, 78}, device), mixer.reference({0, 77, 78}), DType::f32,
                  device.name());
  }
}

// Equal keys that are written in full: the system of a chunk is as far from the identity as it
// gets.
TEST(GatedDeltaRule, WritesOneKeyAgainAndAgain) {
  Delta mixer(128, 1, DType::f32, 101);
  for (std::int64_t i = 0; i < mixer.k.array.size(); ++i) {
    mixer.k.values[at(i)] = i % mixer.dk == 0 ? 1 : 0;
  }
  mixer.k.array = array(mixer.k.values, mixer.k.array.shape(), DType::f32);
  std::fill(mixer.beta.values.begin(), mixer.beta.values.end(), 1);
  mixer.beta.array = ones(mixer.beta.array.shape());
  for (const Device device : devices()) {
    expect_result(mixer.call({0, 128}, device), mixer.reference({0, 128}), DType::f32,
                  device.name());
  }
}

// What is no number stays in its sequence, and behind its row.
TYPED_TEST(Recurrent, NanGoesForwardOnly) {
  TypeParam mixer(100, 2, DType::f32, 103);
  Input* const spoilt = [&] {
    if constexpr (std::is_same_v<TypeParam, Delta>) return &mixer.v;
    if constexpr (!std::is_same_v<TypeParam, Delta>) return &mixer.x;
  }();
  const std::int64_t each = spoilt->array.size() / 100;
  for (std::int64_t i = 0; i < each; ++i) spoilt->values[at(40 * each + i)] = kNan;
  spoilt->array = array(spoilt->values, spoilt->array.shape(), DType::f32);
  const Starts starts = {0, 70, 100};
  for (const Device device : devices()) {
    expect_result(mixer.call(starts, device), mixer.reference(starts), DType::f32, device.name());
  }
}

TYPED_TEST(Recurrent, LongSequencesStayRight) {
  const TypeParam mixer(4096, 1, DType::f32, 107);
  const Result got = result_of(mixer.call({0, 4096})), expected = mixer.reference({0, 4096});
  check::expect_within(got.y, expected.y, 2e-5);
  check::expect_within(got.state, expected.state, 2e-5);
}

// ---- Gradients

// Of sum(weights * results), of one kind or both, against differences.
template <class Mixer>
void check_gradients(Mixer mixer, const Starts& starts, const std::vector<Input Mixer::*>& inputs) {
  const auto loss = [&](const Pair& both) {
    const Array of_y = check::random_array(both.first.shape(), DType::f64, 0.1, 1, 5);
    const Array of_state = check::random_array(both.second.shape(), DType::f64, 0.1, 1, 6);
    return sum(both.first * of_y) + sum(both.second * of_state);
  };
  for (Input Mixer::* const member : inputs) {
    Input& x = mixer.*member;
    const Array plain = x.array;
    x.array = plain.require_grad();
    const Values gradient = backward(loss(mixer.call(starts))).get(x.array).to_doubles();
    for (std::int64_t i = 0; i < plain.size(); i += 1 + plain.size() / 23) {
      constexpr double kStep = 1e-5;
      const auto moved = [&](double by) {
        Values values = x.values;
        values[at(i)] += by;
        x.array = array(values, plain.shape());
        return loss(mixer.call(starts)).item();
      };
      const double numeric = (moved(kStep) - moved(-kStep)) / (2 * kStep);
      EXPECT_NEAR(gradient[at(i)], numeric, 2e-6 * std::max(1.0, std::abs(numeric)))
          << "element " << i;
    }
    x.array = plain;
  }
}

const Starts kTwoBlocks = {1, 70, 70, 71, 78};

TEST(CausalConv, Gradients) {
  check_gradients(Conv(80, 4, DType::f64, 113), kTwoBlocks,
                  {&Conv::x, &Conv::weight, &Conv::bias, &Conv::state});
}

TEST(GatedDeltaRule, Gradients) {
  check_gradients(Delta(80, 4, DType::f64, 127), kTwoBlocks,
                  {&Delta::q, &Delta::k, &Delta::v, &Delta::g, &Delta::beta, &Delta::state});
}

TEST(SelectiveScan, Gradients) {
  check_gradients(
      Space(80, 4, DType::f64, 131), kTwoBlocks,
      {&Space::x, &Space::dt, &Space::a, &Space::b, &Space::c, &Space::d, &Space::state});
}

// ---- Errors

// The text of the error that a call gives.
template <class Call>
std::string error_of(ErrorCode code, Call call) {
  try {
    (void)call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  return "none";
}

TEST(RecurrentErrors, SayWhatIsWrong) {
  const Array x = ones({4, 3}), weight = ones({3, 2}), state = ones({1, 1, 3}), none;
  const Array starts = starts_of({0, 4});
  EXPECT_EQ(error_of(ErrorCode::dtype,
                     [&] { return causal_conv(x, weight, state, cast(starts, DType::i64)); }),
            "causal_conv: starts have the wrong dtype; got i64, expected i32");
  EXPECT_EQ(
      error_of(ErrorCode::shape, [&] { return causal_conv(x, weight, state, starts_of({0})); }),
      "causal_conv: starts does not fit; got shape [1], expected [2]");
  EXPECT_EQ(error_of(ErrorCode::dtype,
                     [&] { return causal_conv(x, weight, cast(state, DType::f16), starts); }),
            "causal_conv: state has the wrong dtype; got f16 beside f32, expected f32");
  EXPECT_TRUE(error_of(ErrorCode::invalid_argument, [&] {
                return causal_conv(x, none, state, starts);
              }).starts_with("causal_conv: "));
  const Array heads = ones({4, 2, 3}), gates = ones({4, 3});
  EXPECT_EQ(error_of(ErrorCode::shape,
                     [&] {
                       return gated_delta_rule(heads, heads, ones({4, 3, 3}), gates, gates,
                                               ones({1, 3, 3, 3}), starts);
                     }),
            "gated_delta_rule: heads do not fit; got 3 of v and 2 of k, expected a multiple");
  EXPECT_EQ(error_of(ErrorCode::shape,
                     [&] {
                       return selective_scan(heads, ones({4, 2}), ones({2}), ones({4, 1, 5}),
                                             ones({4, 1, 4}), ones({1, 2, 3, 5}), starts);
                     }),
            "selective_scan: c does not fit; got shape [4, 1, 4], expected [4, 1, 5]");
}

}  // namespace
}  // namespace hearth
