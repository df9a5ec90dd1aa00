"""Tiny models of every family, with every feature at work.

A case is a name, the class of transformers that runs it, and the arguments of its configuration.
Longest prompts pass every window and original context; key-value heads are fewer than heads; heads
are not hidden_size / heads wide where the family allows it; experts are more than a token uses.
"""

import dataclasses

import nomic_experts

VOCABULARY = 96
SMALL = dict(
    vocab_size=VOCABULARY, hidden_size=48, intermediate_size=80, num_hidden_layers=2,
    num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=128,
    bos_token_id=1, eos_token_id=2, pad_token_id=None,
)
WINDOW = 11
ORIGINAL = 16  # positions before rope was scaled


@dataclasses.dataclass
class Case:
    name: str
    model: str  # the class that runs it; with what it gives: logits or hidden states
    config: str
    arguments: dict
    output: str = "logits"
    norms_add_one: bool = False  # norms of rows and heads multiply by 1 and their weight
    inputs_first: str | None = None  # what names of matrices have that are [in, out]
    # Of a type that transformers does not have, but the mathematics of: what its config.json says
    # in place of that class's; None: nothing.
    said: dict = dataclasses.field(default_factory=dict)


@dataclasses.dataclass
class OwnCase:
    """Of a model that transformers does not have: the module that runs it, and config.json."""
    name: str
    module: object  # with hidden_states(config, weights, tokens)
    arguments: dict
    shapes: dict  # of tensors by name
    output: str = "hidden"
    norms_add_one: bool = False
    inputs_first: str | None = None


def rope(kind="default", theta=10000.0, **others):
    return dict(rope_type=kind, rope_theta=theta, **others)


def scaled(kind, factor=4.0, theta=10000.0, **others):
    return rope(kind, theta, factor=factor, original_max_position_embeddings=ORIGINAL, **others)


CASES = []


def case(name, family, arguments=None, output="logits", model=None, config=None,
         norms_add_one=False, inputs_first=None, said=None, **others):
    CASES.append(Case(name, model or family + "ForCausalLM", config or family + "Config",
                      {**SMALL, **(arguments or {}), **others}, output, norms_add_one, inputs_first,
                      said or {}))


MSCALE = dict(mscale=0.7, mscale_all_dim=0.9)
LLAMA3 = dict(low_freq_factor=1.0, high_freq_factor=4.0)
case("llama", "Llama", rope_parameters=rope(theta=500.0), head_dim=16)
case("llama_tied_biases", "Llama", rope_parameters=rope(), attention_bias=True, mlp_bias=True,
     tie_word_embeddings=True, num_key_value_heads=1)
case("llama_llama3", "Llama", rope_parameters=scaled("llama3", **LLAMA3))
case("llama_linear", "Llama", rope_parameters=rope("linear", factor=3.0))
case("llama_yarn", "Llama", rope_parameters=scaled("yarn"), head_dim=16)
case("llama_yarn_options", "Llama", rope_parameters=scaled(
    "yarn", beta_fast=8.0, beta_slow=2.0, attention_factor=0.8, truncate=False), head_dim=16)
case("llama_yarn_magnitudes", "Llama", rope_parameters=scaled("yarn", mscale=0.6, mscale_all_dim=1.2))
case("llama_yarn_context", "Llama", rope_parameters=scaled("yarn", None), head_dim=16)
case("llama_dynamic", "Llama", rope_parameters=rope("dynamic", factor=3.0),
     max_position_embeddings=ORIGINAL)
case("mistral_dynamic_window", "Mistral", sliding_window=WINDOW, head_dim=16,
     rope_parameters=rope("dynamic", factor=2.0), max_position_embeddings=ORIGINAL)
case("llama_relu", "Llama", rope_parameters=rope(), hidden_act="relu")
case("llama_relu2", "Llama", rope_parameters=rope(), hidden_act="relu2")
case("mistral_window", "Mistral", sliding_window=WINDOW, head_dim=16, rope_parameters=rope())
case("ministral", "Ministral", sliding_window=WINDOW, head_dim=16, rope_parameters=rope(),
     layer_types=["sliding_attention", "full_attention"])
# Positions reach several multiples of what the temperature counts.
TEMPERATURE = dict(llama_4_scaling_beta=0.5)
case("ministral3", "Ministral3", head_dim=16, sliding_window=None,
     rope_parameters=scaled("yarn", mscale=1.0, mscale_all_dim=1.0, **TEMPERATURE))
case("ministral3_mscale", "Ministral3", head_dim=16, num_hidden_layers=3, num_key_value_heads=1,
     tie_word_embeddings=True,
     rope_parameters=scaled("yarn", beta_fast=8.0, beta_slow=0.5, **MSCALE, **TEMPERATURE))
case("ministral3_window", "Ministral3", head_dim=16, sliding_window=WINDOW,
     rope_parameters=scaled("yarn", **TEMPERATURE))
case("ministral3_unscaled", "Ministral3", head_dim=12, rope_parameters=rope(
    original_max_position_embeddings=7, llama_4_scaling_beta=0.9))
case("mixtral", "Mixtral", num_local_experts=4, num_experts_per_tok=2, rope_parameters=rope(),
     sliding_window=None, intermediate_size=40)
case("qwen2", "Qwen2", rope_parameters=rope(theta=1e6))
case("qwen2_window", "Qwen2", rope_parameters=rope(), tie_word_embeddings=True,
     use_sliding_window=True, sliding_window=WINDOW, max_window_layers=1, num_hidden_layers=3)
EXPERTS = dict(num_experts=6, num_experts_per_tok=2, moe_intermediate_size=24)
case("qwen2_moe", "Qwen2Moe", EXPERTS, shared_expert_intermediate_size=40, norm_topk_prob=False,
     rope_parameters=rope(), sliding_window=None)
case("qwen2_moe_sparse", "Qwen2Moe", EXPERTS, shared_expert_intermediate_size=40,
     norm_topk_prob=True, decoder_sparse_step=2, num_hidden_layers=4, mlp_only_layers=[3],
     rope_parameters=rope(), sliding_window=None)
case("qwen2_moe_window", "Qwen2Moe", EXPERTS, shared_expert_intermediate_size=40,
     use_sliding_window=True, sliding_window=WINDOW, max_window_layers=2, num_hidden_layers=3,
     rope_parameters=rope())
case("qwen3", "Qwen3", head_dim=16, rope_parameters=rope(theta=1e6), sliding_window=None)
case("qwen3_tied_yarn", "Qwen3", head_dim=16, rope_parameters=scaled("yarn"), tie_word_embeddings=True,
     sliding_window=None)
case("qwen3_moe", "Qwen3Moe", EXPERTS, head_dim=16, norm_topk_prob=True, rope_parameters=rope(),
     sliding_window=None)
case("qwen3_moe_plain_sum", "Qwen3Moe", EXPERTS, head_dim=16, norm_topk_prob=False,
     rope_parameters=rope(), sliding_window=None)
DELTA = dict(linear_num_key_heads=2, linear_num_value_heads=4, linear_key_head_dim=8,
             linear_value_head_dim=12, linear_conv_kernel_dim=4, head_dim=16, num_hidden_layers=4)
PARTIAL = rope(partial_rotary_factor=0.25)
case("qwen3_next", "Qwen3Next", {**EXPERTS, **DELTA}, rope_parameters=PARTIAL,
     shared_expert_intermediate_size=24, norm_topk_prob=True, norms_add_one=True)
SECTIONS = {**rope(partial_rotary_factor=0.5), "mrope_interleaved": True, "mrope_section": [2, 1, 1]}
case("qwen3_5", "Qwen3_5", DELTA, rope_parameters=SECTIONS, config="Qwen3_5TextConfig",
     tie_word_embeddings=True, norms_add_one=True)
case("qwen3_5_moe", "Qwen3_5Moe", {**EXPERTS, **DELTA}, rope_parameters=SECTIONS,
     config="Qwen3_5MoeTextConfig", shared_expert_intermediate_size=24, norms_add_one=True)
case("qwen3_next_attention", "Qwen3Next", {**EXPERTS, **DELTA}, rope_parameters=PARTIAL,
     shared_expert_intermediate_size=24, norm_topk_prob=True, norms_add_one=True,
     num_hidden_layers=2, layer_types=["full_attention"] * 2)
# As GGUF files can say it: heads of values as wide as those of keys.
EVEN = {**DELTA, "linear_key_head_dim": 12}
case("qwen3_next_even", "Qwen3Next", {**EXPERTS, **EVEN}, rope_parameters=PARTIAL,
     shared_expert_intermediate_size=24, norm_topk_prob=True, norms_add_one=True)
case("qwen3_5_even", "Qwen3_5", EVEN, rope_parameters=SECTIONS, config="Qwen3_5TextConfig",
     tie_word_embeddings=True, norms_add_one=True)
case("qwen3_5_moe_widths", "Qwen3_5Moe", {**EXPERTS, **EVEN}, rope_parameters=SECTIONS,
     config="Qwen3_5MoeTextConfig", shared_expert_intermediate_size=24, norms_add_one=True)
case("gemma2", "Gemma2", head_dim=16, sliding_window=WINDOW, query_pre_attn_scalar=24,
     attn_logit_softcapping=5.0, final_logit_softcapping=3.0, num_hidden_layers=3,
     rope_parameters=rope(), norms_add_one=True)
case("gemma2_even", "Gemma2", head_dim=16, sliding_window=WINDOW, query_pre_attn_scalar=16,
     attn_logit_softcapping=5.0, final_logit_softcapping=3.0, rope_parameters=rope(),
     norms_add_one=True)
LAYERS = {"sliding_attention": rope(), "full_attention": rope("linear", 1e6, factor=8.0)}
case("gemma3", "Gemma3", config="Gemma3TextConfig", head_dim=16, sliding_window=WINDOW,
     query_pre_attn_scalar=24, num_hidden_layers=7, num_key_value_heads=1, rope_parameters=LAYERS,
     intermediate_size=56, norms_add_one=True)
case("gemma3_softcaps", "Gemma3", config="Gemma3TextConfig", head_dim=16, sliding_window=WINDOW,
     query_pre_attn_scalar=16, final_logit_softcapping=3.0, num_hidden_layers=2,
     layer_types=["full_attention", "sliding_attention"],
     rope_parameters={"sliding_attention": rope(), "full_attention": rope(theta=1e6)},
     norms_add_one=True)
case("phi3", "Phi3", sliding_window=WINDOW, rope_parameters=rope(partial_rotary_factor=0.5),
     num_attention_heads=3, num_key_value_heads=1)
LONG = dict(short_factor=[1.0, 1.125, 1.25, 1.375], long_factor=[1.5, 2.0, 3.0, 5.0])
for name, others in [("phi3_longrope", {}), ("phi3_longrope_window", dict(sliding_window=WINDOW))]:
    case(name, "Phi3", max_position_embeddings=128, original_max_position_embeddings=ORIGINAL,
         rope_parameters=rope("longrope", partial_rotary_factor=0.5, **LONG),
         num_attention_heads=3, num_key_value_heads=1, **{"sliding_window": None, **others})
OSS = dict(num_local_experts=4, num_experts_per_tok=2, head_dim=16, sliding_window=WINDOW,
           intermediate_size=32, hidden_size=32, num_hidden_layers=3)
case("gpt_oss", "GptOss", OSS, rope_parameters=scaled(
    "yarn", 32.0, 150000.0, beta_fast=32.0, beta_slow=1.0, truncate=False), inputs_first="experts")
case("gpt_oss_truncate", "GptOss", OSS, rope_parameters=scaled(
    "yarn", 32.0, 150000.0, beta_fast=8.0, beta_slow=0.5, truncate=True), inputs_first="experts")
MLA = dict(kv_lora_rank=16, qk_rope_head_dim=8, qk_nope_head_dim=12, v_head_dim=10,
           n_routed_experts=8, num_experts_per_tok=3, moe_intermediate_size=20, n_shared_experts=2,
           first_k_dense_replace=1, num_hidden_layers=3, num_key_value_heads=4)
case("deepseek_v2", "DeepseekV2", MLA, q_lora_rank=None, topk_method="greedy", n_group=None,
     topk_group=None, routed_scaling_factor=1.5, rope_parameters=rope())
case("deepseek_v2_groups", "DeepseekV2", MLA, q_lora_rank=20, topk_method="group_limited_greedy",
     n_group=4, topk_group=2, routed_scaling_factor=2.0, rope_parameters=scaled("yarn", **MSCALE))
case("deepseek_v3", "DeepseekV3", MLA, q_lora_rank=20, n_group=4, topk_group=2,
     routed_scaling_factor=2.5, norm_topk_prob=True, num_mtp_layers=0,
     rope_parameters=scaled("yarn", mscale=1.0, mscale_all_dim=1.0))
case("deepseek_v3_plain_query", "DeepseekV3", MLA, q_lora_rank=None, n_group=1, topk_group=1,
     routed_scaling_factor=1.0, norm_topk_prob=False, num_mtp_layers=0, rope_parameters=rope())
case("deepseek_v3_epsilon", "DeepseekV3", MLA, q_lora_rank=20, n_group=1, topk_group=1,
     num_mtp_layers=0, attention_bias=True, rms_norm_eps=0.01,
     rope_parameters=scaled("yarn", mscale_all_dim=0.8))
case("glm4_moe_lite", "Glm4MoeLite", MLA, q_lora_rank=20, n_group=4, topk_group=2,
     routed_scaling_factor=1.8, rope_parameters=rope(theta=1e6))
case("glm4_moe_lite_layers", "Glm4MoeLite", MLA, q_lora_rank=None, attention_bias=True,
     norm_topk_prob=False, rope_parameters=rope(),
     mlp_layer_types=["sparse", "dense", "sparse"])
case("olmo2", "Olmo2", rope_parameters=rope(theta=5e5))
case("olmo3", "Olmo3", sliding_window=WINDOW, num_hidden_layers=5,
     rope_parameters={"sliding_attention": rope(theta=5e5),
                      "full_attention": scaled("yarn", theta=5e5, attention_factor=1.2)})
case("olmo3_window", "Olmo3", sliding_window=WINDOW, tie_word_embeddings=True,
     layer_types=["sliding_attention", "full_attention"],
     rope_parameters={"sliding_attention": rope(theta=1e3), "full_attention": rope(theta=1e3)})
case("olmo3_windows_only", "Olmo3", sliding_window=WINDOW, layer_types=["sliding_attention"] * 2,
     rope_parameters={"sliding_attention": rope(), "full_attention": rope(
         "longrope", original_max_position_embeddings=ORIGINAL,
         short_factor=[1.0] * 6, long_factor=[2.0] * 6)})
case("olmo3_llama3", "Olmo3", sliding_window=WINDOW,
     layer_types=["sliding_attention", "full_attention"],
     rope_parameters={"sliding_attention": rope(), "full_attention": scaled("llama3", **LLAMA3)})
GRANITE = dict(embedding_multiplier=6.0, residual_multiplier=0.4, attention_multiplier=0.2,
               logits_scaling=4.0)
case("granite", "Granite", GRANITE, tie_word_embeddings=True, rope_parameters=rope())
# MiniCPM is Granite by other numbers: of the depth of the model and the width of a smaller one.
MINICPM = dict(embedding_multiplier=6.0, residual_multiplier=0.4, attention_multiplier=0.25,
               logits_scaling=4.0, num_hidden_layers=4, num_attention_heads=3,
               num_key_value_heads=1, intermediate_size=56)
MINICPM_SAYS = dict(
    model_type="minicpm", architectures=["MiniCPMForCausalLM"], scale_emb=6, scale_depth=0.8,
    dim_model_base=12, embedding_multiplier=None, residual_multiplier=None,
    attention_multiplier=None, logits_scaling=None)
case("minicpm", "Granite", MINICPM, tie_word_embeddings=True, rope_parameters=rope(),
     said=MINICPM_SAYS)
case("minicpm_longrope", "Granite", MINICPM, said=MINICPM_SAYS, rope_parameters=rope(
    "longrope", original_max_position_embeddings=ORIGINAL,
    short_factor=[1 + i / 8 for i in range(8)], long_factor=[1.5 + i / 2 for i in range(8)]))
case("granitemoe", "GraniteMoe", GRANITE, num_local_experts=5, num_experts_per_tok=2,
     intermediate_size=32, rope_parameters=rope())
case("smollm3", "SmolLM3", num_hidden_layers=5, rope_parameters=rope(theta=2e6),
     tie_word_embeddings=True)
case("smollm3_layers", "SmolLM3", num_hidden_layers=3, rope_parameters=rope(),
     no_rope_layers=[0, 1, 0], use_sliding_window=True, sliding_window=WINDOW)
CASES.append(Case("mamba2", "Mamba2ForCausalLM", "Mamba2Config", dict(
    vocab_size=VOCABULARY, hidden_size=32, num_heads=8, head_dim=8, state_size=12, n_groups=2,
    num_hidden_layers=3, expand=2, conv_kernel=4, chunk_size=8, bos_token_id=1, eos_token_id=2,
    pad_token_id=0, tie_word_embeddings=False)))
CASES.append(Case("mamba2_limits", "Mamba2ForCausalLM", "Mamba2Config", dict(
    vocab_size=VOCABULARY, hidden_size=32, num_heads=8, head_dim=8, state_size=8, n_groups=1,
    num_hidden_layers=2, expand=2, conv_kernel=4, chunk_size=8, use_bias=True, bos_token_id=1,
    eos_token_id=2, pad_token_id=0, time_step_limit=[0.2, 0.5], tie_word_embeddings=True)))
CASES.append(Case("gpt2", "GPT2LMHeadModel", "GPT2Config", dict(
    vocab_size=VOCABULARY, n_positions=64, n_embd=48, n_layer=2, n_head=4, bos_token_id=1,
    eos_token_id=2), inputs_first="c_"))
CASES.append(Case("gpt2_scales", "GPT2LMHeadModel", "GPT2Config", dict(
    vocab_size=VOCABULARY, n_positions=64, n_embd=48, n_layer=3, n_head=4, bos_token_id=1,
    eos_token_id=2, activation_function="gelu", scale_attn_weights=False,
    scale_attn_by_inverse_layer_idx=True), inputs_first="c_"))
NEOX = dict(vocab_size=VOCABULARY, hidden_size=48, num_hidden_layers=2, num_attention_heads=3,
            intermediate_size=96, max_position_embeddings=64, bos_token_id=1, eos_token_id=2)
CASES.append(Case("gpt_neox", "GPTNeoXForCausalLM", "GPTNeoXConfig",
                  dict(NEOX, rope_parameters=PARTIAL, use_parallel_residual=True)))
CASES.append(Case("gpt_neox_sequential", "GPTNeoXForCausalLM", "GPTNeoXConfig", dict(
    NEOX, rope_parameters=rope(partial_rotary_factor=0.5), use_parallel_residual=False,
    tie_word_embeddings=True)))
FALCON = dict(vocab_size=VOCABULARY, hidden_size=48, num_hidden_layers=2, num_attention_heads=4,
              max_position_embeddings=128, bos_token_id=1, eos_token_id=2)
for name, others in [
        ("falcon", dict()),
        ("falcon_groups", dict(new_decoder_architecture=True, num_kv_heads=2, bias=True,
                               ffn_hidden_size=80, activation="gelu_pytorch_tanh",
                               rope_parameters=rope(theta=500.0), tie_word_embeddings=False)),
        ("falcon_groups_shared_norm", dict(
            new_decoder_architecture=True, num_kv_heads=2, num_ln_in_parallel_attn=1,
            rope_parameters=rope("linear", factor=3.0))),
        ("falcon_sequential", dict(parallel_attn=False, multi_query=False, bias=True))]:
    CASES.append(Case(name, "FalconForCausalLM", "FalconConfig", {
        **FALCON, "rope_parameters": rope(), **others}))
case("apertus", "Apertus", rope_parameters=scaled("llama3", **LLAMA3))
case("apertus_biases", "Apertus", rope_parameters=rope(theta=500.0), attention_bias=True,
     tie_word_embeddings=True, num_key_value_heads=1)
LFM2 = dict(num_hidden_layers=4, num_attention_heads=3, num_key_value_heads=1,
            rope_parameters=rope(theta=500.0))
case("lfm2", "Lfm2", LFM2, layer_types=["conv", "full_attention", "conv", "conv"],
     block_multiple_of=8, block_ffn_dim_multiplier=1.1)
case("lfm2_biases", "Lfm2", LFM2, layer_types=["full_attention", "conv", "conv", "full_attention"],
     conv_bias=True, conv_L_cache=4, block_auto_adjust_ff_dim=False, tie_word_embeddings=False)
case("starcoder2", "Starcoder2", rope_parameters=rope(theta=1e5), sliding_window=WINDOW,
     use_bias=True, hidden_act="gelu_pytorch_tanh", tie_word_embeddings=True)
case("glm4", "Glm4", head_dim=16, attention_bias=True,
     rope_parameters=rope(partial_rotary_factor=0.5))
case("stablelm", "StableLm", use_qkv_bias=True, rope_parameters=PARTIAL, num_attention_heads=3,
     num_key_value_heads=1)
HALF = rope(partial_rotary_factor=0.5)
case("stablelm_heads", "StableLm", qk_layernorm=True, rope_parameters=HALF)
case("stablelm_shared_norm", "StableLm", qk_layernorm=True, use_parallel_residual=True,
     use_qkv_bias=True, rope_parameters=HALF)
case("phi", "Phi", rope_parameters=HALF)
case("phi_tied", "Phi", rope_parameters=rope(theta=500.0, partial_rotary_factor=0.75),
     num_attention_heads=3, num_key_value_heads=3, hidden_act="gelu", tie_word_embeddings=True)
GLM_EXPERTS = dict(n_routed_experts=8, num_experts_per_tok=3, moe_intermediate_size=20,
                   n_shared_experts=2, first_k_dense_replace=1, num_hidden_layers=3)
case("glm4_moe", "Glm4Moe", GLM_EXPERTS, head_dim=16, attention_bias=True, use_qk_norm=True,
     n_group=4, topk_group=2, routed_scaling_factor=1.5, num_mtp_layers=0, rope_parameters=HALF)
case("glm4_moe_plain", "Glm4Moe", GLM_EXPERTS, norm_topk_prob=False, num_mtp_layers=0,
     rope_parameters=HALF)
case("dots1", "Dots1", GLM_EXPERTS, head_dim=16, norm_topk_prob=True, routed_scaling_factor=2.5,
     sliding_window=WINDOW, max_window_layers=1, rope_parameters=rope())
case("seed_oss", "SeedOss", head_dim=16, attention_bias=True, rope_parameters=rope(theta=1e5))
case("ernie4_5", "Ernie4_5", head_dim=16, use_bias=True, rope_parameters=rope(theta=5e5))
case("ernie4_5_moe", "Ernie4_5_Moe", moe_num_experts=6, moe_k=2, moe_intermediate_size=20,
     moe_num_shared_experts=2, num_hidden_layers=3, rope_parameters=rope(theta=5e5))
case("ernie4_5_moe_layers", "Ernie4_5_Moe", moe_num_experts=6, moe_k=2, moe_intermediate_size=20,
     moe_num_shared_experts=0, num_hidden_layers=5, moe_layer_interval=2, moe_layer_end_index=3,
     rope_parameters=rope(theta=5e5), use_bias=True)
case("cohere", "Cohere", logit_scale=0.25, rope_parameters=rope(theta=5e5))
case("cohere_heads", "Cohere", logit_scale=0.25, use_qk_norm=True, attention_bias=True,
     rope_parameters=rope())
case("cohere2", "Cohere2", logit_scale=0.5, sliding_window=WINDOW, num_hidden_layers=5,
     rope_parameters=rope())
case("olmo", "Olmo", rope_parameters=rope())
case("olmo_clamp", "Olmo", clip_qkv=0.5, tie_word_embeddings=True, rope_parameters=rope())
case("olmoe", "Olmoe", num_experts=6, num_experts_per_tok=2, intermediate_size=24,
     rope_parameters=rope())
case("olmoe_clamp", "Olmoe", num_experts=6, num_experts_per_tok=2, intermediate_size=24,
     clip_qkv=0.75, norm_topk_prob=True, rope_parameters=rope())
case("exaone4", "Exaone4", sliding_window=None, layer_types=["full_attention"] * 2,
     rope_parameters=scaled("llama3", **LLAMA3), tie_word_embeddings=True)
case("exaone4_window", "Exaone4", sliding_window=WINDOW, num_hidden_layers=5,
     rope_parameters=rope())
case("gemma", "Gemma", head_dim=16, rope_parameters=rope(), norms_add_one=True)
case("arcee", "Arcee", rope_parameters=scaled("yarn"), head_dim=16)
case("nemotron", "Nemotron", rope_parameters=HALF, norms_add_one=True)
case("hunyuan_v1_dense", "HunYuanDenseV1", head_dim=16, attention_bias=True,
     rope_parameters=rope("dynamic", factor=1.0, alpha=50.0))
case("helium", "Helium", head_dim=12, rope_parameters=rope(theta=1e5))
case("internlm3_dynamic", "Llama", config="InternLM3Config", head_dim=16, attention_bias=True,
     mlp_bias=True, rope_parameters=rope("dynamic", factor=6.0), max_position_embeddings=ORIGINAL)
ENCODER = dict(vocab_size=VOCABULARY, hidden_size=48, num_hidden_layers=2, num_attention_heads=4,
               intermediate_size=96, max_position_embeddings=64, type_vocab_size=2, pad_token_id=0)
CASES.append(Case("bert", "BertModel", "BertConfig", dict(ENCODER), "hidden"))
CASES.append(Case("nomic_bert", "NomicBertModel", "NomicBertConfig",
                  dict(ENCODER, rope_parameters=rope(theta=1000.0)), "hidden"))
# Positions count from behind the token of padding, which prompts do not hold.
ROBERTA = {**ENCODER, "max_position_embeddings": 70, "type_vocab_size": 1, "layer_norm_eps": 1e-5}
for name, family, padding in [
        ("roberta", "Roberta", 7), ("xlm_roberta", "XLMRoberta", 2), ("camembert", "Camembert", 5)]:
    CASES.append(Case(name, family + "Model", family + "Config",
                      dict(ROBERTA, pad_token_id=padding), "hidden"))
MODERN = dict(vocab_size=VOCABULARY, hidden_size=48, num_hidden_layers=5, num_attention_heads=4,
              intermediate_size=80, max_position_embeddings=64, local_attention=WINDOW,
              bos_token_id=1, cls_token_id=1, eos_token_id=2, sep_token_id=2, pad_token_id=0)
CASES.append(Case("modern_bert", "ModernBertModel", "ModernBertConfig", dict(MODERN), "hidden"))
CASES.append(Case("modern_bert_layers", "ModernBertModel", "ModernBertConfig", dict(
    MODERN, num_hidden_layers=3, local_attention=6, norm_bias=True, attention_bias=True,
    mlp_bias=True, hidden_activation="silu",
    layer_types=["sliding_attention", "full_attention", "sliding_attention"],
    rope_parameters={"sliding_attention": rope(theta=500.0), "full_attention": rope(theta=8e4)}),
    "hidden"))
for name, layers, period, has_bias in [
        ("nomic_bert_moe", 5, 3, True), ("nomic_bert_moe_plain", 4, 2, False)]:
    config = nomic_experts.config(layers, period, vocabulary=VOCABULARY)
    CASES.append(OwnCase(name, nomic_experts, config, nomic_experts.shapes(config, has_bias)))
G4 = dict(head_dim=8, global_head_dim=16, sliding_window=WINDOW, num_hidden_layers=4,
          hidden_size=32, intermediate_size=40,
          layer_types=["sliding_attention", "full_attention"] * 2, final_logit_softcapping=3.0,
          rope_parameters={"sliding_attention": rope(), "full_attention": rope(
              "proportional", 1e6, partial_rotary_factor=0.25)})
case("gemma4", "Gemma4", G4, config="Gemma4TextConfig", hidden_size_per_layer_input=0)
case("gemma4_shared", "Gemma4", G4, config="Gemma4TextConfig", hidden_size_per_layer_input=8,
     vocab_size_per_layer_input=VOCABULARY, num_kv_shared_layers=2, use_double_wide_mlp=True)
case("gemma4_moe", "Gemma4", G4, config="Gemma4TextConfig", hidden_size_per_layer_input=0,
     attention_k_eq_v=True, num_global_key_value_heads=1, enable_moe_block=True, num_experts=5,
     top_k_experts=2, moe_intermediate_size=16)
# Checkpoints that see images, too: the language model lies within, and other tensors beside it.
TEXT = {each.name: each.arguments for each in CASES}
CASES.append(Case("gemma3_images", "Gemma3ForConditionalGeneration", "Gemma3Config", dict(
    text_config=TEXT["gemma3_softcaps"], mm_tokens_per_image=4, image_token_index=1000,
    boi_token_index=1001, eoi_token_index=1002, vision_config=dict(
        hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2,
        image_size=28, patch_size=14)), norms_add_one=True))
CASES.append(Case("qwen3_5_images", "Qwen3_5ForConditionalGeneration", "Qwen3_5Config", dict(
    text_config=TEXT["qwen3_5"], image_token_id=1000, video_token_id=1001,
    vision_start_token_id=1002, vision_end_token_id=1003, tie_word_embeddings=True,
    vision_config=dict(depth=1, hidden_size=16, intermediate_size=16, num_heads=2, patch_size=4,
                       out_hidden_size=48, num_position_embeddings=16)), norms_add_one=True))
CASES.append(Case("mistral3_images", "Mistral3ForConditionalGeneration", "Mistral3Config", dict(
    text_config=dict(TEXT["ministral3"], model_type="ministral3"), image_token_index=1000,
    tie_word_embeddings=False, vision_config=dict(
        model_type="pixtral", hidden_size=16, intermediate_size=16, num_hidden_layers=1,
        num_attention_heads=2, head_dim=8, image_size=28, patch_size=14))))
