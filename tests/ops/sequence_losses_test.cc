// CTC and the transducer's loss, against PyTorch, all alignments and written-out cases.
#include "ops/channel_golden.h"

namespace hearth {
namespace {

using namespace check;
using In = std::span<const Array>;

// The case's log_softmax: what PyTorch's gradients are right for.
Array golden_ctc(const std::string& name, const Array& x, std::int64_t blank, Reduction reduction) {
  const ChannelCase golden(name);
  return ctc_loss(log_softmax(x, 2), golden.array("targets"), golden.array("input_lengths"),
                  golden.array("target_lengths"), blank, reduction);
}

// All alignments of every sample in turn: each step is a class, repeats and blanks go.
Values ctc_by_listing(const Array& log_probs, const std::vector<std::vector<int>>& targets,
                      const std::vector<int>& steps, int blank) {
  const Shape& shape = log_probs.shape();
  const auto batch = static_cast<int>(shape[1]), classes = static_cast<int>(shape[2]);
  const Values logs = log_probs.to_doubles();
  Values losses;
  for (int n = 0; n < batch; ++n) {
    const int time = steps[static_cast<std::size_t>(n)];
    double total = 0;
    std::vector<int> path(static_cast<std::size_t>(time), 0);
    for (bool more = true; more;) {
      double sum = 0;
      std::vector<int> said;
      for (int t = 0; t < time; ++t) {
        const int c = path[static_cast<std::size_t>(t)];
        sum += logs[static_cast<std::size_t>((t * batch + n) * classes + c)];
        if (c != blank && (t == 0 || c != path[static_cast<std::size_t>(t - 1)])) said.push_back(c);
      }
      if (said == targets[static_cast<std::size_t>(n)]) total += std::exp(sum);
      more = false;
      for (int& c : path) {
        c = (c + 1) % classes;
        if (c == 0) continue;
        more = true;
        break;
      }
    }
    losses.push_back(-std::log(total));
  }
  return losses;
}

TEST(CtcLoss, AsTorch) {
  for (const auto& [word, reduction] :
       {std::pair{"none", Reduction::none}, std::pair{"mean", Reduction::mean},
        std::pair{"sum", Reduction::sum}}) {
    const std::string name = std::string("ctc_") + word;
    expect_as_torch(name, {"x"}, [&](In in) { return golden_ctc(name, in[0], 0, reduction); });
  }
  expect_as_torch("ctc_other_blank", {"x"},
                  [](In in) { return golden_ctc("ctc_other_blank", in[0], 2, Reduction::none); });
}

TEST(CtcLoss, SumsOverAllAlignments) {
  const Array log_probs = log_softmax(random_array({6, 5, 3}, DType::f64, -3, 3), 2);
  const std::vector<std::vector<int>> targets = {{1, 2}, {1, 1, 2}, {}, {2}, {2, 1, 2, 1}};
  const std::vector<int> steps = {6, 5, 4, 1, 4};
  const Array padded = ints({1, 2, 7, -9, 1, 1, 2, 99, 0, 0, 0, 0, 2, 2, 2, 2, 2, 1, 2, 1}, {5, 4});
  const Array losses =
      ctc_loss(log_probs, padded, ints({6, 5, 4, 1, 4}, {5}), ints({2, 3, 0, 1, 4}, {5}));
  expect_values(losses, {5}, ctc_by_listing(log_probs, targets, steps, 0));
}

TEST(CtcLoss, UnreachableTargetsAreInfiniteWithoutGradient) {
  // Two equal labels want three steps.
  const Array log_probs = log_softmax(random_array({2, 3, 3}, DType::f32), 2);
  const Array targets = array({1, 1, 1, 2, 2, 0}, {3, 2}, DType::i32);
  const Array steps = array({2, 2, 0}, {3}, DType::i32),
              lengths = array({2, 2, 1}, {3}, DType::i32);
  for (const bool zero_infinity : {false, true}) {
    const Array leaf = contiguous(log_probs).require_grad();
    const Array losses = ctc_loss(leaf, targets, steps, lengths, 0, Reduction::none, zero_infinity);
    const Values found = losses.to_doubles();
    EXPECT_EQ(found[0], zero_infinity ? 0 : kInf);
    EXPECT_TRUE(std::isfinite(found[1]) && found[1] > 0) << found[1];
    EXPECT_EQ(found[2], zero_infinity ? 0 : kInf);
    const Values gradient = backward(sum(losses)).get(leaf).to_doubles();
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      const bool reached = i / 3 % 3 == 1;
      EXPECT_TRUE(std::isfinite(gradient[i])) << i;
      if (!reached) {
        EXPECT_EQ(gradient[i], 0) << i;
      }
    }
  }
}

TEST(CtcLoss, ReadsNothingBehindALength) {
  const Array log_probs = log_softmax(random_array({6, 2, 4}), 2);
  const Array leaf = log_probs.require_grad();
  const Array losses =
      ctc_loss(leaf, ints({1, 2, 3, 3}, {2, 2}), ints({3, 6}, {2}), ints({1, 2}, {2}));
  const Values gradient = backward(sum(losses)).get(leaf).to_doubles();
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    const std::size_t t = i / 8, n = i / 4 % 2;
    if (n == 0 && t >= 3) {
      EXPECT_EQ(gradient[i], 0) << i;
    }
  }
  // Not even what is not a number.
  Values values = log_probs.to_doubles();
  for (std::size_t i = 3 * 8; i < values.size(); ++i) {
    if (i / 4 % 2 == 0) values[i] = kNan;
  }
  expect_close(ctc_loss(array(values, {6, 2, 4}), ints({1, -7, 3, 3}, {2, 2}), ints({3, 6}, {2}),
                        ints({1, 2}, {2})),
               losses.to_doubles(), 1e-12);
}

TEST(CtcLoss, EmptyTargetsAndNoSteps) {
  const Array even = full({3, 1, 2}, std::log(0.5));
  const double three = 3 * std::log(2.0);
  expect_values(ctc_loss(even, ints({0}, {1, 1}), ints({3}, {1}), ints({0}, {1})), {1}, {three});
  expect_values(ctc_loss(even, zeros({1, 0}, DType::i64), ints({3}, {1}), ints({0}, {1})), {1},
                {three});
  expect_values(ctc_loss(even, ints({1, 1}, {1, 2}), ints({3}, {1}), ints({2}, {1})), {1}, {three});
  expect_values(ctc_loss(even, ints({1}, {1, 1}), ints({0}, {1}), ints({0}, {1})), {1}, {0});
  expect_values(ctc_loss(zeros({0, 1, 2}), ints({1}, {1, 1}), ints({0}, {1}), ints({0}, {1})), {1},
                {0});
  expect_values(ctc_loss(zeros({0, 1, 2}), ints({1}, {1, 1}), ints({0}, {1}), ints({1}, {1})), {1},
                {kInf});
  const Array none = zeros({0}, DType::i64);
  expect_values(ctc_loss(zeros({4, 0, 2}), zeros({0, 3}, DType::i64), none, none), {0}, {});
}

TEST(CtcLoss, ImpossibleClassesAndWrongIndices) {
  // Class 1 has no chance at all: a label 1 is out of reach, a label 2 is not.
  const Array log_probs =
      broadcast_to(array({std::log(0.5), -kInf, std::log(0.5)}, {1, 1, 3}), {2, 2, 3});
  const Array leaf = contiguous(log_probs).require_grad();
  const Array losses = ctc_loss(leaf, ints({1, 2}, {2, 1}), ints({2, 2}, {2}), ints({1, 1}, {2}));
  expect_values(losses, {2}, {kInf, -std::log(0.75)});
  for (const double g : backward(sum(losses)).get(leaf).to_doubles()) EXPECT_TRUE(std::isfinite(g));
  const Array even = full({2, 1, 3}, std::log(1.0 / 3));
  const auto loss = [&](std::int64_t label, std::int64_t steps, std::int64_t length) {
    return ctc_loss(even, ints({label}, {1, 1}), ints({steps}, {1}), ints({length}, {1})).item();
  };
  EXPECT_TRUE(std::isfinite(loss(2, 2, 1)));
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t bad : {std::int64_t{-1}, std::int64_t{3}, most, -most - 1}) {
    EXPECT_TRUE(std::isnan(loss(bad, 2, 1))) << bad;
    EXPECT_TRUE(std::isnan(loss(2, bad, 1))) << bad;
    EXPECT_TRUE(std::isnan(loss(2, 2, bad))) << bad;
  }
  // A gradient of 0 would let training go on. The other sample keeps its own.
  const Array two = full({2, 2, 3}, std::log(1.0 / 3)).require_grad();
  const Array spoiled = ctc_loss(two, ints({3, 2}, {2, 1}), ints({2, 2}, {2}), ints({1, 1}, {2}));
  const Values slopes = backward(sum(spoiled)).get(two).to_doubles();
  EXPECT_TRUE(std::isnan(slopes[0]) || std::isnan(slopes[1]) || std::isnan(slopes[2]));
  for (const std::size_t i : {3, 4, 5, 9, 10, 11}) EXPECT_TRUE(std::isfinite(slopes[i])) << i;
}

TEST(CtcLoss, LongSequencesStayExact) {
  // The loss is far from 1, and so are its parts: f32 against f64.
  const std::int64_t time = 400, labels = 60;
  const Array logits = random_array({time, 2, 8}, DType::f64, -6, 6);
  const Array targets = cast(random_array({2, labels}, DType::f64, 1, 8, 9), DType::i64);
  const Array steps = ints({400, 351}, {2}), lengths = ints({60, 41}, {2});
  Values losses[2], gradients[2];
  for (const DType dtype : {DType::f64, DType::f32}) {
    const Array leaf = contiguous(cast(logits, dtype)).require_grad();
    const Array loss = ctc_loss(log_softmax(leaf, 2), targets, steps, lengths);
    const std::size_t at = dtype == DType::f64 ? 0 : 1;
    losses[at] = loss.to_doubles();
    gradients[at] = backward(sum(loss)).get(leaf).to_doubles();
  }
  EXPECT_GT(losses[0][0], 500);
  expect_close(losses[1], losses[0], 2e-6);
  expect_close(gradients[1], gradients[0], 3e-4);
}

TEST(CtcLoss, Gradients) {
  const Array log_probs = log_softmax(random_array({5, 2, 3}), 2);
  const Many loss = [](In in) {
    return ctc_loss(in[0], ints({1, 1, 2, 0}, {2, 2}), ints({5, 4}, {2}), ints({2, 1}, {2}));
  };
  check_gradients(loss, {log_probs});
  check_second_gradients(loss, {log_probs});
}

TEST(CtcLoss, HalvesGiveF32) {
  const Array x = log_softmax(random_array({5, 1, 3}, DType::f16), 2);
  const Array loss = ctc_loss(x, ints({1, 2}, {1, 2}), ints({5}, {1}), ints({2}, {1}));
  EXPECT_EQ(loss.dtype(), DType::f32);
  const Array exact =
      ctc_loss(cast(x, DType::f64), ints({1, 2}, {1, 2}), ints({5}, {1}), ints({2}, {1}));
  expect_values(loss, {1}, exact.to_doubles());
}

TEST(CtcLoss, Refuses) {
  const Array x = zeros({4, 2, 3}), targets = zeros({2, 3}, DType::i64);
  const Array two = zeros({2}, DType::i64), three = zeros({3}, DType::i64);
  expect_error(ErrorCode::shape, [&] { (void)ctc_loss(zeros({4, 3}), targets, two, two); });
  expect_error(ErrorCode::shape, [&] { (void)ctc_loss(x, three, two, two); });
  expect_error(ErrorCode::shape, [&] { (void)ctc_loss(x, zeros({3, 3}, DType::i64), two, two); });
  expect_error(ErrorCode::shape, [&] { (void)ctc_loss(x, targets, three, two); });
  expect_error(ErrorCode::shape, [&] { (void)ctc_loss(x, targets, two, three); });
  expect_error(ErrorCode::dtype, [&] { (void)ctc_loss(x, zeros({2, 3}), two, two); });
  expect_error(ErrorCode::dtype, [&] { (void)ctc_loss(x, targets, zeros({2}), two); });
  expect_error(ErrorCode::dtype, [&] { (void)ctc_loss(cast(x, DType::i32), targets, two, two); });
  for (const std::int64_t blank : {-1, 3}) {
    expect_error(ErrorCode::invalid_argument, [&] { (void)ctc_loss(x, targets, two, two, blank); });
  }
  expect_error(ErrorCode::invalid_argument, [&] { (void)ctc_loss(Array(), targets, two, two); });
}

TEST(RnntLoss, AsAllAlignments) {
  const ChannelCase golden("rnnt");
  expect_as_torch("rnnt", {"x"}, [&](In in) {
    return rnnt_loss(log_softmax(in[0], 3), golden.array("targets"), golden.array("input_lengths"),
                     golden.array("target_lengths"));
  });
}

TEST(RnntLoss, EdgesOfTheGrid) {
  const double half = std::log(0.5);
  const Array even = full({2, 3, 2, 2}, half);
  // A blank and a label a step: three orders of one label among two blanks, and a last blank.
  expect_values(rnnt_loss(even, ints({1, 1}, {2, 1}), ints({3, 3}, {2}), ints({1, 0}, {2})), {2},
                {-std::log(3.0 / 16), -std::log(1.0 / 8)});
  // Without steps there is no last blank.
  expect_values(rnnt_loss(even, ints({1, 1}, {2, 1}), ints({0, 1}, {2}), ints({0, 1}, {2})), {2},
                {kInf, -std::log(0.25)});
  expect_values(rnnt_loss(zeros({1, 0, 2, 2}), ints({1}, {1, 1}), ints({0}, {1}), ints({0}, {1})),
                {1}, {kInf});
  expect_values(rnnt_loss(full({1, 2, 1, 2}, half), zeros({1, 0}, DType::i64), ints({2}, {1}),
                          ints({0}, {1})),
                {1}, {-std::log(0.25)});
  expect_values(rnnt_loss(even, ints({1, 2}, {2, 1}), ints({4, 3}, {2}), ints({1, 1}, {2})), {2},
                {kNan, kNan});
  const Array none = zeros({0}, DType::i64);
  expect_values(rnnt_loss(zeros({0, 3, 2, 2}), zeros({0, 1}, DType::i64), none, none), {0}, {});
  // A label without a chance: infinite, with gradients of 0.
  const Array leaf = contiguous(broadcast_to(array({0, -kInf}, {2}), {1, 3, 2, 2})).require_grad();
  const Array loss = rnnt_loss(leaf, ints({1}, {1, 1}), ints({3}, {1}), ints({1}, {1}));
  expect_values(loss, {1}, {kInf});
  expect_values(backward(sum(loss)).get(leaf), {1, 3, 2, 2}, Values(12, 0));
}

TEST(RnntLoss, Gradients) {
  const Array log_probs = log_softmax(random_array({2, 3, 3, 3}), 3);
  const Many loss = [](In in) {
    return rnnt_loss(in[0], ints({1, 2, 2, 0}, {2, 2}), ints({3, 2}, {2}), ints({2, 1}, {2}));
  };
  check_gradients(loss, {log_probs});
  check_second_gradients(loss, {log_probs});
}

TEST(RnntLoss, Refuses) {
  const Array x = zeros({2, 4, 3, 5}), targets = zeros({2, 2}, DType::i64);
  const Array two = zeros({2}, DType::i64);
  expect_error(ErrorCode::shape, [&] { (void)rnnt_loss(zeros({4, 3, 5}), targets, two, two); });
  expect_error(ErrorCode::shape, [&] { (void)rnnt_loss(x, zeros({2, 3}, DType::i64), two, two); });
  expect_error(ErrorCode::dtype, [&] { (void)rnnt_loss(x, targets, two, zeros({2})); });
  expect_error(ErrorCode::invalid_argument, [&] { (void)rnnt_loss(x, targets, two, two, 5); });
}

}  // namespace
}  // namespace hearth
