// Losses as modules, where they are more than the function that they call.
#include "hearth/nn/loss.h"

#include "error_text.h"
#include "ops/channel_golden.h"

namespace hearth {
namespace {

using namespace check;

TEST(CrossEntropyLoss, AsTorch) {
  const ChannelCase weighted("cross_entropy_weighted"), smoothed("cross_entropy_smoothed");
  expect_as_torch("cross_entropy_weighted", {"x"}, [&](std::span<const Array> in) {
    const nn::CrossEntropyLoss loss{.weights = weighted.values("weight")};
    // f32 at least, as the functions have it.
    return cast(loss.forward(in[0], weighted.array("targets")), in[0].dtype());
  });
  expect_as_torch("cross_entropy_smoothed", {"x"}, [&](std::span<const Array> in) {
    const nn::CrossEntropyLoss loss{.smoothing = 0.2};
    return cast(loss.forward(in[0], smoothed.array("targets")), in[0].dtype());
  });
}

TEST(CrossEntropyLoss, PadTokensCountAsBurnHasIt) {
  const Array x = log_softmax(random_array({4, 5}, DType::f32), 1);
  const Array targets = ints({1, 0, 3, 4}, {4});
  const Values logs = x.to_doubles();
  // Rows of pad tokens cost nothing, and the sum is divided by all rows.
  const nn::CrossEntropyLoss padded{.pad_tokens = {0, 4}};
  const double expected = -(logs[1] + logs[10 + 3]) / 4;
  expect_values(padded.forward(x, targets), {}, {expected});
  // Of weights, those of pad tokens count as well.
  const nn::CrossEntropyLoss weighted{.pad_tokens = {0, 4}, .weights = {1, 2, 3, 4, 5}};
  expect_values(weighted.forward(x, targets), {},
                {-(2 * logs[1] + 4 * logs[13]) / (2 + 1 + 4 + 5)});
  // Of probabilities.
  const nn::CrossEntropyLoss of_probabilities{.pad_tokens = {0, 4}, .logits = false};
  expect_values(of_probabilities.forward(exp(x), targets), {}, {expected});
  // A pad token may be no class.
  const nn::CrossEntropyLoss outside{.pad_tokens = {-1}};
  expect_values(outside.forward(x, ints({1, -1, 3, 2}, {4})), {},
                {-(logs[1] + logs[13] + logs[17]) / 4});
  expect_values(outside.forward(x, ints({1, -2, 3, 2}, {4})), {}, {kNan});
  const Tensor<1> typed = padded.forward(Tensor<2>(x), Tensor<1, Int>(targets));
  expect_values(typed.array(), {1}, {expected});
}

TEST(CrossEntropyLoss, TakesAReduction) {
  const Array x = random_array({4, 5}, DType::f64), targets = ints({1, 0, 3, 4}, {4});
  const Values logs = log_softmax(x, 1).to_doubles(), w = {1, 2, 3, 4, 5};
  const Values each = {-logs[1] * 2, 0, -logs[13] * 4, -logs[19] * 5};
  const nn::CrossEntropyLoss loss{.pad_tokens = {0}, .weights = w};
  expect_values(loss.forward_no_reduction(x, targets), {4}, each);
  const double total = each[0] + each[2] + each[3];
  expect_values(loss.forward(x, targets, Reduction::sum), {}, {total});
  expect_values(loss.forward(x, targets), {}, {total / (2 + 1 + 4 + 5)});
  expect_values(loss.forward(x, targets, Reduction::batch_mean), {}, {total / 4});
  EXPECT_EQ(loss.forward(x, targets, Reduction::auto_).item(), loss.forward(x, targets).item());
  const Tensor<2> typed(x);
  const Tensor<1, Int> classes(targets);
  expect_values(loss.forward(typed, classes, Reduction::sum).array(), {1}, {total});
  expect_values(loss.forward_no_reduction(typed, classes).array(), {4}, each);
  expect_error(ErrorCode::invalid_argument,
               [&] { (void)loss.forward(typed, classes, Reduction::none); });
  // Of no classes, each row costs NaN.
  expect_values(nn::CrossEntropyLoss().forward_no_reduction(zeros({2, 0}), ints({0, 0}, {2})), {2},
                {kNan, kNan});
}

// The function too: what leaves no one number is refused, as by every typed loss.
TEST(TypedLosses, CrossEntropyTakesAReduction) {
  const Tensor<2> x(random_array({4, 5}, DType::f64));
  const Tensor<1, Int> targets(ints({1, 0, -100, 4}, {4}));
  const double sum = cross_entropy(x.array(), targets.array(), Reduction::sum).item();
  expect_values(cross_entropy(x, targets, Reduction::sum).array(), {1}, {sum});
  expect_values(cross_entropy(x, targets, Reduction::mean).array(), {1}, {sum / 3});
  expect_values(cross_entropy(x, targets, Reduction::mean).array(), {1},
                cross_entropy(x, targets).array().to_doubles());
  const std::string text = error_of(ErrorCode::invalid_argument,
                                    [&] { (void)cross_entropy(x, targets, Reduction::none); });
  EXPECT_NE(text.find("cross_entropy_losses()"), std::string::npos) << text;
}

// Each beside the function of arrays without a reduction.
TEST(TypedLosses, AreGivenUnreduced) {
  const Array a = random_array({4, 5}, DType::f64, 0.1, 0.9, 3);
  const Array b = random_array({4, 5}, DType::f64, 0.1, 0.9, 4);
  const Array signs =
      where(greater(a, b), std::int64_t{1}, full_like(cast(a, DType::i64), std::int64_t{-1}));
  const Array classes = ints({1, 0, -100, 4}, {4}), sides = ints({1, -1, 1, -1}, {4});
  const Tensor<2> x(a), t(b);
  const Tensor<2, Int> s(signs);
  const Tensor<1, Int> c(classes), side(sides);
  const Reduction none = Reduction::none;
  const auto same = [](const auto& typed, const Array& expected) {
    expect_values(typed.array(), expected.shape(), expected.to_doubles());
  };
  same(cross_entropy_losses(x, c), cross_entropy(a, classes, none));
  same(cross_entropy_losses(x, c, 4, 0.1), cross_entropy(a, classes, none, 4, 0.1));
  same(binary_cross_entropy_losses(x, t), binary_cross_entropy(a, b, Array(), none));
  same(binary_cross_entropy_with_logits_losses(x, t, t),
       binary_cross_entropy_with_logits(a, b, b, none));
  same(l1_losses(x, t), l1_loss(a, b, none));
  same(mse_losses(x, t), mse_loss(a, b, none));
  same(lp_losses(x, t, 3), lp_loss(a, b, 3, none));
  same(huber_losses(x, t, 0.2), huber_loss(a, b, 0.2, none));
  same(smooth_l1_losses(x, t, 0.2), smooth_l1_loss(a, b, 0.2, none));
  same(kl_div_losses(x, t, true), kl_div(a, b, true, none));
  same(gaussian_nll_losses(x, t, t, true), gaussian_nll_loss(a, b, b, true, 1e-6, none));
  same(poisson_nll_losses(x, t, false), poisson_nll_loss(a, b, false, false, 1e-8, none));
  same(hinge_embedding_losses(x, s, 2), hinge_embedding_loss(a, signs, 2, none));
  same(soft_margin_losses(x, s), soft_margin_loss(a, signs, none));
  same(margin_ranking_losses(x, t, s, 0.1), margin_ranking_loss(a, b, signs, 0.1, none));
  same(cosine_embedding_losses(x, t, side, 0.1), cosine_embedding_loss(a, b, sides, 0.1, none));
  same(multi_margin_losses(x, c, 1, 2), multi_margin_loss(a, classes, 1, 2, Array(), none));
  same(triplet_margin_losses(x, t, x, 2), triplet_margin_loss(a, b, a, 2, 2, false, 1e-6, none));
  EXPECT_LOCATED(cross_entropy_losses(x, Tensor<1, Int>{0}));
  EXPECT_LOCATED(mse_losses(x, Tensor<2>::ones({3, 3})));
  const auto names = [](const std::string& name, const auto& call) {
    const std::string text = error_of(call);
    EXPECT_NE(text.find(name), std::string::npos) << text;
  };
  names(": mse_losses()", [&] { (void)mse_loss(x, t, none); });
  names(": kl_div_losses()", [&] { (void)kl_div(x, t, false, none); });
  names("cross_entropy: no reduction", [&] { (void)nn::CrossEntropyLoss().forward(x, c, none); });
  names("mse_loss: no reduction", [&] { (void)nn::MseLoss().forward(x, t, none); });
}

TEST(CrossEntropyLoss, TakesClassesAlongTheLastAxisOfAnyRank) {
  const Array x = random_array({2, 3, 5}, DType::f64), targets = ints({1, 0, 2, 4, 3, 3}, {2, 3});
  const Array rows = reshape(x, {6, 5}), row_targets = flatten(targets);
  for (const nn::CrossEntropyLoss& loss :
       {nn::CrossEntropyLoss{}, nn::CrossEntropyLoss{.pad_tokens = {3}, .smoothing = 0.1},
        nn::CrossEntropyLoss{.weights = {1, 2, 3, 4, 5}, .smoothing = 0.1}}) {
    for (const Reduction reduction : {Reduction::mean, Reduction::sum}) {
      EXPECT_NEAR(loss.forward(x, targets, reduction).item(),
                  loss.forward(rows, row_targets, reduction).item(), 1e-12);
    }
    EXPECT_NEAR(loss.forward(x, targets, Reduction::batch_mean).item(),
                loss.forward(x, targets, Reduction::sum).item() / 2, 1e-12);
    const Tensor<2> each = loss.forward_no_reduction(Tensor<3>(x), Tensor<2, Int>(targets));
    expect_values(each.array(), {2, 3}, loss.forward_no_reduction(rows, row_targets).to_doubles());
  }
  const Tensor<1> one = nn::CrossEntropyLoss().forward(Tensor<3>(x), Tensor<2, Int>(targets));
  EXPECT_NEAR(one.item(), cross_entropy(x, targets).item(), 1e-12);
  expect_error(ErrorCode::shape, [&] { (void)nn::CrossEntropyLoss().forward(x, row_targets); });
}

TEST(CrossEntropyLoss, SaysWhatIsOfAnotherDType) {
  const Array x = ones({2, 3}), targets = ints({0, 2}, {2});
  const auto text = [](const Array& a, const Array& b) {
    return error_of(ErrorCode::dtype,
                    [&] { (void)nn::CrossEntropyLoss().forward_no_reduction(a, b); });
  };
  EXPECT_EQ(text(x, ones({2})),
            "cross_entropy: predictions or targets of wrong dtype; got f32 and f32, expected "
            "floats and i32 or i64");
  EXPECT_EQ(text(cast(x, DType::i32), targets),
            "cross_entropy: predictions or targets of wrong dtype; got i32 and i64, expected "
            "floats and i32 or i64");
}

TEST(CrossEntropyLoss, SmoothsAllOfWhatIsWeighted) {
  const Array x = log_softmax(random_array({2, 3}, DType::f64), 1);
  const Values logs = x.to_doubles(), w = {1, 2, 3};
  const nn::CrossEntropyLoss loss{.weights = w, .smoothing = 0.3};
  double sum = 0;
  for (std::size_t row = 0; row < 2; ++row) {
    const std::size_t target = row == 0 ? 2 : 1;
    for (std::size_t c = 0; c < 3; ++c) {
      sum -= logs[row * 3 + c] * w[c] * (0.1 + (c == target ? 0.7 : 0));
    }
  }
  expect_values(loss.forward(x, ints({2, 1}, {2})), {}, {sum / 5});
}

TEST(BinaryCrossEntropyLoss, WeightsAndSmoothingAsBurnHasThem) {
  const Values p = {0.3, 0.8, 0.6, 0.1};
  const auto cost = [&](std::size_t i, double t) {
    return -(t * std::log(p[i]) + (1 - t) * std::log(1 - p[i]));
  };
  // Of [batch], weights are those of the targets 0 and 1, and there are two classes.
  const Array x = array(p, {4}), targets = ints({0, 1, 1, 0}, {4});
  const nn::BinaryCrossEntropyLoss weighted{.weights = {3, 7}};
  expect_values(weighted.forward_no_reduction(x, targets), {4},
                {3 * cost(0, 0), 7 * cost(1, 1), 7 * cost(2, 1), 3 * cost(3, 0)});
  const nn::BinaryCrossEntropyLoss smoothed{.smoothing = 0.2};
  expect_values(smoothed.forward_no_reduction(x, targets), {4},
                {cost(0, 0.1), cost(1, 0.9), cost(2, 0.9), cost(3, 0.1)});
  // Of [batch, classes], weights are those of the classes.
  const Array rows = reshape(x, {2, 2}), marks = reshape(targets, {2, 2});
  expect_values(weighted.forward_no_reduction(rows, marks), {2, 2},
                {3 * cost(0, 0), 7 * cost(1, 1), 3 * cost(2, 1), 7 * cost(3, 0)});
  const nn::BinaryCrossEntropyLoss logits{.weights = {3, 7}, .smoothing = 0.2, .logits = true};
  const nn::BinaryCrossEntropyLoss same{.weights = {3, 7}, .smoothing = 0.2};
  const Array odds = log(div(rows, sub(1.0, rows)));
  expect_close(logits.forward(odds, marks), same.forward(rows, marks).to_doubles(), 1e-12);
  const Tensor<1> typed = same.forward(Tensor<2>(rows), Tensor<2, Int>(marks));
  expect_close(typed.array(), same.forward(rows, marks).to_doubles(), 0);
  expect_error(ErrorCode::shape,
               [&] { (void)nn::BinaryCrossEntropyLoss{.weights = {1}}.forward(x, targets); });
  expect_error(ErrorCode::invalid_argument,
               [&] { (void)nn::BinaryCrossEntropyLoss{.smoothing = 2}.forward(x, targets); });
  expect_error(ErrorCode::shape, [&] { (void)same.forward(x, marks); });
}

TEST(LossModules, CallTheFunctions) {
  const Array x = random_array({3, 4}), t = random_array({3, 4}, DType::f64, -1, 1, 2);
  const Array v = random_array({3, 4}, DType::f64, 0.5, 1, 3);
  const Array classes = ints({0, 3, 2}, {3}), sides = ints({1, -1, 1}, {3});
  const Array signs = ints({1, -1, 1, 1, -1, -1, 1, -1, 1, 1, -1, 1}, {3, 4});
  const Reduction sum = Reduction::sum, none = Reduction::none, batch = Reduction::batch_mean;
  const auto same = [](const Array& got, const Array& expected) {
    EXPECT_EQ(got.shape(), expected.shape());
    expect_close(got, expected.to_doubles(), 0);
  };
  same(nn::MseLoss{}.forward(x, t), mse_loss(x, t));
  same(nn::MseLoss{}.forward(x, t, batch), mse_loss(x, t, batch));
  same(nn::MseLoss{}.forward_no_reduction(x, t), mse_loss(x, t, none));
  same(nn::LpLoss{1}.forward(x, t, sum), l1_loss(x, t, sum));
  same(nn::HuberLoss{0.5}.forward(x, t), huber_loss(x, t, 0.5));
  same(nn::SmoothL1Loss{0.5}.forward(x, t), smooth_l1_loss(x, t, 0.5));
  same(nn::KlDivLoss{true}.forward(x, t, batch), kl_div(x, t, true, batch));
  same(nn::PoissonNllLoss{.full = true}.forward(x, v), poisson_nll_loss(x, v, true, true));
  same(nn::HingeEmbeddingLoss{0.3}.forward(x, signs), hinge_embedding_loss(x, signs, 0.3));
  same(nn::SoftMarginLoss{}.forward(x, signs), soft_margin_loss(x, signs));
  same(nn::GaussianNllLoss{true}.forward(x, t, v), gaussian_nll_loss(x, t, v, true));
  same(nn::MarginRankingLoss{0.2}.forward(x, t, signs), margin_ranking_loss(x, t, signs, 0.2));
  same(nn::CosineEmbeddingLoss{0.2}.forward(x, t, sides), cosine_embedding_loss(x, t, sides, 0.2));
  same(nn::TripletMarginLoss{.swap = true}.forward(x, t, v),
       triplet_margin_loss(x, t, v, 1, 2, true));
  const nn::MultiMarginLoss margins{.p = 2, .weights = {1, 2, 3, 4}};
  same(margins.forward_no_reduction(x, classes),
       multi_margin_loss(x, classes, 1, 2, array({1, 2, 3, 4}, {4}), none));
  const Tensor<2> typed = nn::HuberLoss{}.forward_no_reduction(Tensor<2>(x), Tensor<2>(t));
  same(typed.array(), huber_loss(x, t, 1, none));
  expect_error(ErrorCode::invalid_argument,
               [&] { (void)nn::MseLoss{}.forward(x, t, Reduction::none); });
}

TEST(LossModules, OfSequences) {
  const ChannelCase golden("ctc_mean");
  const Array logs = log_softmax(golden.array("x"), 2), targets = golden.array("targets");
  const Array steps = golden.array("input_lengths"), lengths = golden.array("target_lengths");
  expect_close(nn::CtcLoss{}.forward(logs, targets, steps, lengths), golden.values("output"),
               1e-11);
  const nn::CtcLoss zero{.zero_infinity = true};
  EXPECT_EQ(zero.forward(narrow(logs, 0, 0, 2), targets, full({4}, std::int64_t{2}, DType::i64),
                         full({4}, std::int64_t{3}, DType::i64))
                .item(),
            0);
  const ChannelCase grid("rnnt");
  const nn::RnntLoss transducer;
  const Array found =
      transducer.forward_no_reduction(grid.array("x"), grid.array("targets"),
                                      grid.array("input_lengths"), grid.array("target_lengths"));
  expect_close(found, grid.values("output"), 1e-11);
  const nn::RnntLoss of_logs{.logits = false};
  expect_close(of_logs.forward(log_softmax(grid.array("x"), 3), grid.array("targets"),
                               grid.array("input_lengths"), grid.array("target_lengths")),
               mean(found).to_doubles(), 1e-11);
}

}  // namespace
}  // namespace hearth
