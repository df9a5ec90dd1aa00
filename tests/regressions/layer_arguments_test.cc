// Layers that took options which no forward pass can have, or kept rows of one that failed.
#include <cmath>
#include <cstdint>
#include <string>

#include "check.h"
#include "error_text.h"
#include "hearth/nn.h"
#include "hearth/tensor.h"

namespace hearth {
namespace {

using namespace check;

void expect_as_before(const nn::KvCache& cache, const Values& keys, std::int64_t length) {
  EXPECT_EQ(cache.length, length);
  EXPECT_EQ(cache.keys.array().to_doubles(), keys);
}

TEST(LayerState, AnAttentionThatFailsLeavesItsCache) {
  for (const bool quiet : {false, true}) {
    nn::MultiHeadAttention layer(8, 2, {.quiet_softmax = quiet});
    nn::KvCache cache(1, 2, 6, 4);
    const Array x = random_array({1, 2, 8}, DType::f32);
    nn::MultiHeadAttention::Call call;
    call.cache = &cache;
    (void)layer.forward(x, call).to_doubles();
    const Values before = cache.keys.array().to_doubles();
    call.mask = zeros({3, 3, 3, 3}, DType::bool_);
    expect_error(ErrorCode::shape, [&] { (void)layer.forward(x, call).to_doubles(); });
    expect_as_before(cache, before, 2);
    call.mask = Array();
    nn::MultiHeadAttention broken = layer;
    broken.o_proj = nn::Linear(3, 8);
    expect_error(ErrorCode::shape, [&] { (void)broken.forward(x, call); });
    expect_as_before(cache, before, 2);
    (void)layer.forward(x, call).to_doubles();
    EXPECT_EQ(cache.length, 4);
  }
}

TEST(LayerState, ATransformerThatFailsLeavesItsCaches) {
  const nn::TransformerOptions options{.dropout = 0};
  nn::TransformerEncoder encoder(8, 16, 2, 2, options);
  const Array x = random_array({1, 2, 8}, DType::f32);
  auto caches = encoder.make_caches(1, 6);
  nn::TransformerEncoder::Call call;
  call.caches = &caches;
  (void)encoder.forward(x, call).to_doubles();
  const Values before = caches[0].keys.array().to_doubles();
  nn::TransformerEncoder broken = encoder;
  broken.layers[1].feed_forward.linear1 = nn::Linear(3, 16);
  EXPECT_TRUE(error_of(ErrorCode::shape, [&] {
                (void)broken.forward(x, call);
              }).starts_with("transformer_encoder: "));
  expect_as_before(caches[0], before, 2);
  EXPECT_EQ(caches[1].length, 2);

  nn::TransformerDecoder decoder(8, 16, 2, 1, options);
  auto cache = decoder.make_cache(1, 6);
  nn::TransformerDecoder::Call of_decoder;
  of_decoder.cache = &cache;
  nn::TransformerDecoder ill = decoder;
  ill.layers[0].feed_forward.linear2 = nn::Linear(3, 8);
  expect_error(ErrorCode::shape, [&] { (void)ill.forward(x, x, of_decoder); });
  EXPECT_EQ(cache.rows[0].length, 0);
  EXPECT_FALSE(cache.memory[0].keys.defined());
  (void)decoder.forward(x, x, of_decoder).to_doubles();
  EXPECT_EQ(cache.rows[0].length, 2);
  EXPECT_TRUE(cache.memory[0].keys.defined());
}

// The layer's own name, at once.
template <class Make>
void refuses(const char* layer, Make make) {
  const std::string message = error_of([&] { (void)make(); });
  EXPECT_TRUE(message.starts_with(std::string(layer) + ": ")) << message;
}

TEST(LayerArguments, AreCheckedWhereALayerIsMade) {
  for (const double bad : {-1.0, kNan, kInf}) {
    refuses("layer_norm", [&] { return nn::LayerNorm(4, bad); });
    refuses("rms_norm", [&] { return nn::RmsNorm(4, bad); });
    refuses("batch_norm", [&] { return nn::BatchNorm(4, {.epsilon = bad}); });
    refuses("group_norm", [&] { return nn::GroupNorm(2, 4, {.epsilon = bad}); });
    refuses("instance_norm", [&] { return nn::InstanceNorm(4, {.epsilon = bad}); });
    refuses("multi_head_attention",
            [&] { return nn::MultiHeadAttention(8, 2, {.rope_base = bad}); });
    refuses("multi_head_attention", [&] { return nn::MultiHeadAttention(8, 2, {.dropout = bad}); });
    refuses("position_wise_feed_forward",
            [&] { return nn::PositionWiseFeedForward(4, 8, {.dropout = bad}); });
    refuses("transformer_encoder",
            [&] { return nn::TransformerEncoder(8, 16, 2, 1, {.dropout = bad}); });
    refuses("transformer_decoder",
            [&] { return nn::TransformerDecoder(8, 16, 2, 1, {.norm_epsilon = bad}); });
  }
  const auto unknown = static_cast<nn::Activation>(99);
  refuses("feed_forward", [&] { return nn::FeedForward(4, 8, {.activation = unknown}); });
  refuses("position_wise_feed_forward",
          [&] { return nn::PositionWiseFeedForward(4, 8, {.activation = unknown}); });
  refuses("lstm", [&] { return nn::Lstm(3, 4, {.gate_activation = unknown}); });
  for (const ConvOptions& bad :
       {ConvOptions{.stride = {0}}, ConvOptions{.padding = {-1, 0}},
        ConvOptions{.dilation = {1, 1, 1}}, ConvOptions{.padding_end = {INT64_MAX}}}) {
    refuses("conv", [&] { return nn::Conv2d(2, 4, 3, bad); });
    const ConvTransposeOptions same = {bad.stride, bad.padding, bad.padding_end, bad.dilation};
    refuses("conv_transpose", [&] { return nn::ConvTranspose2d(2, 4, 3, same); });
  }
  refuses("deform_conv2d", [&] { return nn::DeformConv2d(2, 4, 3, {.stride = {0}}); });
  constexpr std::int64_t kFar = std::int64_t{1} << 40;
  refuses("conv", [&] { return nn::Conv2d(1, 1, {kFar, kFar}); });
  refuses("deform_conv2d", [&] { return nn::DeformConv2d(1, 1, {kFar, kFar}); });
}

TEST(LayerArguments, ErrorsNameTheLayer) {
  constexpr std::int64_t kFar = std::int64_t{1} << 40;
  refuses("linear", [&] { return nn::Linear(kFar, kFar); });
  refuses("embedding", [&] { return nn::Embedding(kFar, kFar); });
  refuses("layer_norm", [&] { return nn::LayerNorm(INT64_MAX); });
  refuses("batch_norm", [&] { return nn::BatchNorm(INT64_MAX); });
  refuses("group_norm", [&] { return nn::GroupNorm(1, INT64_MAX); });
  refuses("prelu", [&] { return nn::PRelu(INT64_MAX); });
  refuses("swiglu", [&] { return nn::SwiGlu(-1, 4); });
  refuses("feed_forward", [&] { return nn::FeedForward(-1, 4); });
  refuses("kv_cache", [&] { return nn::KvCache(-1, 1, 4, 2); });
  refuses("kv_cache", [&] { return nn::KvCache(kFar, 1, kFar, 2); });
  refuses("cross_attention", [&] { return nn::CrossAttention(8, 2, {.context_dim = -1}); });
  refuses("multi_head_attention",
          [&] { return nn::MultiHeadAttention(8, INT64_MAX, {.head_dim = 4}); });
  refuses("gru", [&] { return nn::Gru(3, 4, {.parameters = {.dtype = DType::i32}}); });
  refuses("transformer_encoder", [&] { return nn::TransformerEncoder(8, -16, 2, 1); });
}

// Parameters that were rounded to the integers of the input gave zeros.
TEST(LayerArguments, IntegersAreNoActivations) {
  const auto refuses_integers = [](const std::string& layer, const auto& call) {
    const std::string text = error_of(ErrorCode::dtype, call);
    EXPECT_TRUE(text.starts_with(layer + ": ")) << text;
    EXPECT_NE(text.find("got i64, expected f64, f32, f16 or bf16"), std::string::npos) << text;
  };
  const auto of = [](const Shape& shape) { return full(shape, std::int64_t{1}, DType::i64); };
  const Array rows = of({2, 4});
  refuses_integers("linear", [&] { (void)nn::Linear(4, 3).forward(rows); });
  refuses_integers("linear", [&] { (void)nn::Linear(4, 3, {.bias = false}).forward(rows); });
  refuses_integers("rms_norm", [&] { (void)nn::RmsNorm(4).forward(rows); });
  refuses_integers("layer_norm", [&] { (void)nn::LayerNorm(4).forward(rows); });
  refuses_integers("prelu", [&] { (void)nn::PRelu(1).forward(rows); });
  refuses_integers("feed_forward", [&] { (void)nn::FeedForward(4, 8).forward(rows); });
  refuses_integers("multi_head_attention",
                   [&] { (void)nn::MultiHeadAttention(4, 2, {}).forward(of({1, 2, 4})); });
  refuses_integers("conv", [&] { (void)nn::Conv1d(2, 3, 1).forward(of({1, 2, 4})); });
  refuses_integers("conv_transpose",
                   [&] { (void)nn::ConvTranspose1d(2, 3, 1).forward(of({1, 2, 4})); });
  for (const bool training : {false, true}) {
    const std::string text = error_of(
        ErrorCode::dtype, [&] { (void)nn::BatchNorm(4).forward(of({2, 4, 3}), training); });
    EXPECT_TRUE(text.starts_with("batch_norm: ")) << text;
  }
}

// What is wrong was lost where the layer's name took the place of that of a part.
TEST(LayerArguments, ErrorsNameTheirSubject) {
  const auto says = [](const std::string& expected, const auto& call) {
    const std::string text = error_of(call);
    EXPECT_NE(text.find(expected), std::string::npos) << text;
  };
  const auto x = Tensor<3>::ones({2, 7, 8});
  for (const double dropout : {0.0, 0.5}) {
    const nn::TransformerEncoder encoder(8, 16, 4, 1, {.dropout = dropout});
    nn::TransformerEncoder::Call call;
    call.mask = zeros({1, 2}, DType::bool_);
    call.training = true;
    says(
        "transformer_encoder: mask does not fit; got [1, 2], expected something that broadcasts "
        "to [2, 4, 7, 7]",
        [&] { (void)encoder.forward(x.array(), call); });
  }
  says("lstm: state does not fit; got [3, 4], expected [2, 4]", [&] {
    (void)nn::Lstm(8, 4).forward(x, {Tensor<2>::ones({3, 4}), Tensor<2>::ones({3, 4})});
  });
  nn::KvCache cache(1, 2, 4, 4);
  says("multi_head_attention: the cache is full; got 7 rows behind 0", [&] {
    nn::MultiHeadAttention::Call call;
    call.cache = &cache;
    (void)nn::MultiHeadAttention(8, 2, {}).forward(zeros({1, 7, 8}), call);
  });
  says("feed_forward: operands do not fit; got x [2, 3, 4]",
       [] { (void)nn::FeedForward(5, 8).forward(zeros({2, 3, 4})); });
}

}  // namespace
}  // namespace hearth
