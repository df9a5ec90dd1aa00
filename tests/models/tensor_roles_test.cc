#include "models/files/tensor_roles.h"

#include <gtest/gtest.h>

#include "hearth/ops.h"

namespace hearth::models {
namespace {

TEST(TensorRoles, OfWeightsAndProjections) {
  EXPECT_EQ(role_of(kTokenEmbedding), TensorRole::token_embedding);
  EXPECT_EQ(role_of(kOutputWeight), TensorRole::output);
  EXPECT_EQ(role_of("per_layer_token_embd.weight"), TensorRole::layer_embedding);
  EXPECT_EQ(role_of("per_layer_model_proj.weight"), TensorRole::layer_projection);
  EXPECT_EQ(role_of("blk.12.attn_v.weight"), TensorRole::value);
  EXPECT_EQ(role_of("blk.12.attn_v"), TensorRole::value);
  EXPECT_EQ(role_of("blk.0.attn_output.weight"), TensorRole::mixed);
  EXPECT_EQ(role_of("blk.0.attn_q_norm.weight"), TensorRole::norm);
  EXPECT_EQ(role_of("output_norm.weight"), TensorRole::norm);
  EXPECT_EQ(role_of("blk.0.ffn_gate_inp_shexp.weight"), TensorRole::router);
  EXPECT_EQ(role_of("blk.0.ffn_gate_shexp.weight"), TensorRole::gate);
  EXPECT_EQ(role_of("blk.0.ffn_up_exps.weight"), TensorRole::up);
  EXPECT_EQ(role_of("blk.0.ffn_down_exps.weight"), TensorRole::down);
  EXPECT_EQ(role_of("blk.0.attn_kv_b.weight"), TensorRole::key_value);
}

TEST(TensorRoles, NotOfNamesThatOnlyLookAlike) {
  for (const char* name : {"blk.0.attn_v.bias", "blk.0.token_embd.weight", "attn_v.weight",
                           "blk.0.ffn_down_exps_b.weight", "per_layer.weight", "", "."}) {
    EXPECT_EQ(role_of(name), TensorRole::other) << name;
  }
}

TEST(TensorRoles, OfMixers) {
  for (const char* name : {"blk.0.attn_q", "blk.0.attn_qkv", "blk.1.attn_output", "blk.2.ssm_in",
                           "blk.2.attn_kv_a_mqa", "blk.0.shortconv.in_proj"}) {
    EXPECT_TRUE(is_of_mixer(role_of(name))) << name;
  }
  for (const char* name : {"blk.0.ffn_down", "blk.0.ssm_conv1d", "blk.0.shortconv.conv",
                           "blk.0.attn_norm", "output"}) {
    EXPECT_FALSE(is_of_mixer(role_of(name))) << name;
  }
}

TEST(TensorRoles, LayersAreNumbers) {
  EXPECT_EQ(layer_of("blk.0.attn_q"), 0);
  EXPECT_EQ(layer_of("blk.123.ffn_down.weight"), 123);
  EXPECT_EQ(layer_of("blk.x"), -1);
  EXPECT_EQ(layer_of("blk.99999999999999999999.x"), -1);
  EXPECT_EQ(layer_of("output.weight"), -1);
}

TEST(TensorRoles, WeightsAreFoundByRole) {
  const NamedArrays arrays = {{"output.bias", zeros({7})},
                              {"token_embd.weight", zeros({7, 4})},
                              {"output_norm.weight", zeros({4})}};
  EXPECT_EQ(vocabulary_of(arrays), 7);
  EXPECT_EQ(vocabulary_of({}), 0);
  EXPECT_EQ(find_weight(arrays, TensorRole::output), nullptr);
  ASSERT_NE(find_weight(arrays, TensorRole::norm), nullptr);
  EXPECT_EQ(find_weight(arrays, TensorRole::norm)->name, "output_norm.weight");
}

}  // namespace
}  // namespace hearth::models
