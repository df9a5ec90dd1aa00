// Attention to a context, masks, dropout of weights, and Transformers a few rows at a time.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "error_text.h"
#include "hearth/grad.h"
#include "hearth/nn.h"

namespace hearth {
namespace {

double largest_difference(const Array& a, const Array& b) {
  return a.shape() == b.shape() ? max(abs(a - b)).item() : INFINITY;
}

TEST(CrossAttention, HeadsShareKeysAndTheContextIsKept) {
  seed(1);
  nn::CrossAttention::Options options;
  options.context_dim = 6;
  options.kv_heads = 2;
  options.head_dim = 3;
  const nn::CrossAttention layer(8, 4, options);
  EXPECT_EQ(layer.k_proj.weight.array().shape(), Shape({6, 6}));
  const auto x = Tensor<3>(random_normal({2, 5, 8})), context = Tensor<3>(random_normal({2, 7, 6}));
  const auto split = [](const Array& all, std::int64_t heads) {
    return permute(reshape(all, {2, all.shape(1), heads, 3}), {0, 2, 1, 3});
  };
  const Array q = split(layer.q_proj.forward(x.array()), 4);
  const Array k = split(layer.k_proj.forward(context.array()), 2);
  const Array v = split(layer.v_proj.forward(context.array()), 2);
  const Array mixed = reshape(permute(attention(q, k, v), {0, 2, 1, 3}), {2, 5, 12});
  const Array expected = layer.o_proj.forward(mixed);
  const Tensor<3> whole = layer.forward(x, context, {.training = false});
  EXPECT_LT(largest_difference(whole.array(), expected), 1e-5);
  nn::ContextCache cache;
  const auto part = [&](std::int64_t first, std::int64_t count, const Array& given) {
    return layer.forward(narrow(x.array(), 1, first, count), given,
                         {.cache = &cache, .training = false});
  };
  const Array first = part(0, 2, context.array());
  EXPECT_LT(largest_difference(cat({first, part(2, 3, Array())}, 1), whole.array()), 1e-5);
}

TEST(CrossAttention, PaddingIsNotSeen) {
  const nn::CrossAttention layer(4, 2);
  const Array x = random_normal({2, 3, 4}), context = random_normal({2, 5, 4});
  const Array padding = expand(greater_equal(arange(0, 5), 3), {2, 5});
  const Array masked = layer.forward(x, context, {.padding = padding, .training = false});
  const Array cut = layer.forward(x, narrow(context, 1, 0, 3), {.training = false});
  EXPECT_LT(largest_difference(masked, cut), 1e-5);
  EXPECT_THROW((void)layer.forward(x, context, {.padding = ones({5})}), Error);
  EXPECT_THROW((void)layer.forward(x, narrow(context, 0, 0, 1), {}), Error);
}

TEST(CrossAttention, SaysWhichMaskDoesNotFit) {
  const nn::CrossAttention cross(4, 2);
  const nn::MultiHeadAttention self(4, 2);
  const Array x = zeros({2, 3, 4}), context = zeros({2, 5, 4});
  const Array pad = zeros({2, 5}, DType::bool_), none;
  const auto text = [&](ErrorCode code, const Array& mask, const Array& padding) {
    return check::error_of(code, [&] {
      (void)cross.forward(x, context, {.mask = mask, .padding = padding, .training = false});
    });
  };
  const Array mask = zeros({3, 4}, DType::bool_);
  for (const Array& padding : {none, pad}) {
    EXPECT_EQ(text(ErrorCode::shape, mask, padding),
              "cross_attention: mask does not fit; got [3, 4], expected something that broadcasts "
              "to [2, 2, 3, 5]");
    EXPECT_EQ(
        text(ErrorCode::dtype, zeros({3, 5}), padding),
        "cross_attention: mask of wrong dtype; got f32, expected bool, true where masked out");
  }
  EXPECT_EQ(text(ErrorCode::shape, zeros({3, 5}, DType::bool_), zeros({2, 4}, DType::bool_)),
            "cross_attention: padding does not fit; got [2, 4], expected [batch, length], here "
            "[2, 5]");
  EXPECT_EQ(check::error_of(
                ErrorCode::shape,
                [&] {
                  (void)self.forward(
                      x, {.mask = mask, .padding = zeros({2, 3}, DType::bool_), .training = false});
                }),
            "multi_head_attention: mask does not fit; got [3, 4], expected something that "
            "broadcasts to [2, 2, 3, 3]");
}

TEST(AttentionDropout, KeepsTheMeanAndTheMasks) {
  seed(3);
  nn::MultiHeadAttention::Options options;
  options.kv_heads = 2;
  options.dropout = 0.3;
  const nn::MultiHeadAttention layer(8, 4, options);
  const Array x = random_normal({2, 6, 8});
  const Array padding =
      Array::from_data(std::vector<std::int64_t>{0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0}, {2, 6});
  nn::MultiHeadAttention::Call call;
  call.causal = true;
  call.padding = equal(padding, 1);
  call.training = false;
  const Array without = layer.forward(x, call);
  call.training = true;
  Array total = zeros({2, 6, 8});
  for (int i = 0; i < 600; ++i) total = (total + layer.forward(x, call).detach()).eval();
  EXPECT_LT(largest_difference(total / 600.0, without), 0.08);
  // Row 0 of sequence 1 sees nothing but padding: only the bias of the projection is left.
  EXPECT_LT(largest_difference(squeeze(narrow(narrow(layer.forward(x, call), 0, 1, 1), 1, 0, 1)),
                               layer.o_proj.bias.array()),
            1e-6);
  const Gradients gradients = backward(sum(square(layer.forward(x, call))));
  EXPECT_TRUE(all(is_finite(gradients.get(layer.q_proj.weight.array()))).item<bool>());
  EXPECT_THROW(nn::MultiHeadAttention(8, 4, {.dropout = 1.5}), Error);
}

TEST(QuietSoftmax, IsThatOfOneMoreScoreOfZero) {
  seed(8);
  const nn::CrossAttention layer(3, 1, {.bias = false, .dropout = 0, .quiet_softmax = true});
  const Array x = random_normal({2, 4, 3}), context = random_normal({2, 5, 3});
  const Array q = layer.q_proj.forward(x), k = layer.k_proj.forward(context);
  const Array raised = exp(matmul(q, transpose(k)) / std::sqrt(3.0));
  const Array weights = raised / (sum(raised, {-1}, true) + 1.0);
  const Array expected = layer.o_proj.forward(matmul(weights, layer.v_proj.forward(context)));
  EXPECT_LT(largest_difference(layer.forward(x, context, {}), expected), 1e-5);
  const Array nothing = layer.forward(x, context, {.mask = ones({1, 1, 4, 5}, DType::bool_)});
  EXPECT_EQ(max(abs(nothing)).item(), 0);
}

TEST(Masks, HideWhatIsToCome) {
  const auto mask = nn::generate_autoregressive_mask(2, 3);
  EXPECT_EQ(mask.array().shape(), Shape({2, 3, 3}));
  EXPECT_EQ(cast(narrow(mask.array(), 0, 1, 1), DType::i64).to_doubles(),
            (std::vector<double>{0, 1, 1, 0, 0, 1, 0, 0, 0}));
  const nn::MultiHeadAttention layer(4, 2, {.dropout = 0});
  const Array x = random_normal({2, 3, 4});
  EXPECT_LT(largest_difference(layer.forward(x, {.mask = unsqueeze(mask.array(), {1})}),
                               layer.forward(x, {.causal = true})),
            1e-6);
  EXPECT_THROW((void)nn::generate_autoregressive_mask(2, -3), Error);
}

TEST(Masks, PadTokens) {
  const std::vector<std::vector<std::int64_t>> sequences = {{3, 4, 5}, {7}, {}};
  const auto whole = nn::generate_padding_mask(9, sequences);
  EXPECT_EQ(whole.tokens.array().to_doubles(), (std::vector<double>{3, 4, 5, 7, 9, 9, 9, 9, 9}));
  EXPECT_EQ(cast(whole.mask.array(), DType::i64).to_doubles(),
            (std::vector<double>{0, 0, 0, 0, 1, 1, 1, 1, 1}));
  EXPECT_EQ(nn::generate_padding_mask(9, sequences, 2).tokens.array().to_doubles(),
            (std::vector<double>{3, 4, 7, 9, 9, 9}));
  EXPECT_EQ(nn::generate_padding_mask(9, sequences, 8).tokens.array().shape(), Shape({3, 3}));
  EXPECT_EQ(nn::generate_padding_mask(9, sequences, 5, true).tokens.array().shape(), Shape({3, 5}));
  EXPECT_EQ(nn::generate_padding_mask(9, {}).tokens.array().shape(), Shape({0, 0}));
  EXPECT_THROW((void)nn::generate_padding_mask(9, sequences, -1), Error);
  EXPECT_THROW((void)nn::generate_padding_mask(9, sequences, std::nullopt, true), Error);
}

TEST(Masks, MayBeTyped) {
  const NoGrad no_grad;
  const auto pad = nn::generate_padding_mask(0, {{1, 2, 3}, {4}}).mask;
  const auto x = Tensor<3>(random_normal({2, 3, 4}));
  const auto same = [](const Tensor<3>& a, const Array& b) {
    EXPECT_EQ(a.array().to_doubles(), b.to_doubles());
  };
  const nn::TransformerEncoder encoder(4, 8, 2, 1);
  same(encoder.forward(x, {.padding = pad, .training = false}),
       encoder.forward(x.array(), {.padding = pad.array(), .training = false}));
  // A layer and its typed forward.
  const nn::MultiHeadAttention::Call call{.padding = pad, .training = false};
  same(encoder.layers[0].forward(x, call), encoder.layers[0].forward(x.array(), call));
  const nn::TransformerDecoder decoder(4, 8, 2, 1);
  const Tensor<3> memory(random_normal({2, 5, 4}));
  const Tensor<2, Bool> hidden = Tensor<2>::ones({2, 5}) > 2;
  const nn::TransformerDecoder::Call whole{
      .padding = pad, .memory_padding = hidden, .training = false};
  same(decoder.forward(x, memory, whole), decoder.forward(x.array(), memory.array(), whole));
  const nn::CrossAttention::Call to_memory{.padding = hidden, .training = false};
  same(decoder.layers[0].forward(x, memory, call, to_memory),
       decoder.layers[0].forward(x.array(), memory.array(), call, to_memory));
  EXPECT_LOCATED(encoder.layers[0].forward(Tensor<3>::ones({2, 3, 5}), call));
  EXPECT_LOCATED(decoder.layers[0].forward(x, Tensor<3>::ones({2, 3, 5}), call, to_memory));
}

// As long as what the cache holds, or as its capacity; with dropout of nothing, and of a bit.
TEST(Masks, PaddingOfACache) {
  const NoGrad no_grad;
  for (const double dropout : {0.0, 1e-12}) {
    const nn::MultiHeadAttention layer(4, 2, {.dropout = dropout});
    const Array x = random_normal({2, 5, 4});
    const Array padding = expand(equal(arange(0, 5), 1), {2, 5});
    const Array whole = layer.forward(x, {.causal = true, .padding = padding});
    for (const std::int64_t length : {5, 8}) {
      nn::KvCache cache(2, 2, 8, 2);
      (void)layer.forward(narrow(x, 1, 0, 3), {.causal = true, .cache = &cache});
      const Array longer = cat({padding, zeros({2, length - 5}, DType::bool_)}, 1);
      const Array last = narrow(x, 1, 3, 2);
      const Array out = layer.forward(last, {.causal = true, .cache = &cache, .padding = longer});
      EXPECT_LT(largest_difference(out, narrow(whole, 1, 3, 2)), 1e-5) << dropout << length;
    }
    nn::KvCache cache(2, 2, 8, 2);
    (void)layer.forward(x, {.cache = &cache});
    EXPECT_THROW((void)layer.forward(narrow(x, 1, 0, 1), {.cache = &cache, .padding = padding}),
                 Error);
    EXPECT_EQ(cache.length, 5);
  }
}

// In the shapes of the caller.
TEST(Masks, SayWhatDoesNotFit) {
  const nn::MultiHeadAttention layer(4, 2);
  const auto text = [](ErrorCode code, const auto& call) { return check::error_of(code, call); };
  const Array x = ones({2, 3, 4}), wide = ones({2, 3, 8});
  EXPECT_EQ(text(ErrorCode::shape, [&] { (void)layer.forward(wide); }),
            "multi_head_attention: input of wrong width; got [2, 3, 8], expected [batch, rows, 4]");
  for (const Shape& shape : {Shape{3, 3}, Shape{2, 4}, Shape{2, 3, 1}, Shape{3}}) {
    EXPECT_EQ(text(ErrorCode::shape,
                   [&] { (void)layer.forward(x, {.padding = zeros(shape, DType::bool_)}); }),
              "multi_head_attention: padding does not fit; got " + to_string(shape) +
                  ", expected [batch, length], here [2, 3]");
  }
  EXPECT_EQ(text(ErrorCode::dtype, [&] { (void)layer.forward(x, {.padding = ones({2, 3})}); }),
            "multi_head_attention: padding of wrong dtype; got f32, expected bool");
  const nn::CrossAttention cross(4, 2, {.context_dim = 6});
  EXPECT_EQ(text(ErrorCode::shape, [&] { (void)cross.forward(x, x, {}); }),
            "cross_attention: context of wrong width; got [2, 3, 4], expected [batch, rows, 6]");
  const nn::TransformerEncoder encoder(4, 8, 2, 1);
  EXPECT_EQ(text(ErrorCode::shape, [&] { (void)encoder.forward(wide, {}); }),
            "transformer_encoder: input of wrong width; got [2, 3, 8], expected [batch, rows, 4]");
}

TEST(Transformer, RowsAtATimeGiveWhatTheWholeSequenceGives) {
  seed(2);
  const NoGrad no_grad;
  for (const bool norm_first : {false, true}) {
    const nn::TransformerOptions options{.norm_first = norm_first};
    const nn::TransformerEncoder encoder(8, 16, 2, 3, options);
    const nn::TransformerDecoder decoder(8, 16, 2, 2, options);
    const Array x = random_normal({2, 6, 8}), memory = random_normal({2, 4, 8});
    const Array coded = encoder.forward(x, {.causal = true, .training = false});
    const Array decoded = decoder.forward(x, memory, {.training = false});
    auto caches = encoder.make_caches(2, 6);
    auto cache = decoder.make_cache(2, 6);
    std::vector<Array> codes, decodes;
    for (int i = 0; i < 6; ++i) {
      const Array row = narrow(x, 1, i, 1);
      codes.push_back(encoder.forward(row, {.causal = true, .caches = &caches, .training = false}));
      decodes.push_back(
          decoder.forward(row, i == 0 ? memory : Array(), {.cache = &cache, .training = false}));
    }
    EXPECT_LT(largest_difference(cat(codes, 1), coded), 1e-5);
    EXPECT_LT(largest_difference(cat(decodes, 1), decoded), 1e-5);
    caches.pop_back();
    EXPECT_THROW((void)encoder.forward(x, {.causal = true, .caches = &caches}), Error);
  }
}

TEST(Transformer, IsNamedAsInPyTorchAndDropsWhileTraining) {
  const nn::TransformerDecoder decoder(4, 8, 2, 2);
  std::vector<std::string> names;
  visit(decoder, [&](const std::string& name, const Array&) { names.push_back(name); });
  EXPECT_EQ(names.size(), 2u * 26);
  EXPECT_EQ(names[0], "layers.0.self_attn.q_proj.weight");
  EXPECT_EQ(names[8], "layers.0.multihead_attn.q_proj.weight");
  EXPECT_EQ(names[51], "layers.1.norm3.bias");
  const nn::TransformerEncoder encoder(4, 8, 2, 1);
  const auto x = Tensor<3>::ones({1, 3, 4});
  EXPECT_GT(largest_difference(encoder.forward(x).array(), encoder.forward(x).array()), 0);
  EXPECT_LOCATED(encoder.forward(Tensor<3>::ones({1, 3, 5})));
  EXPECT_LOCATED(decoder.forward(x, Tensor<3>::ones({1, 3, 5})));
  EXPECT_THROW(nn::TransformerEncoder(4, 8, 2, -1), Error);
  EXPECT_THROW(nn::TransformerEncoder(4, 8, 3, 1), Error);
}

}  // namespace
}  // namespace hearth
