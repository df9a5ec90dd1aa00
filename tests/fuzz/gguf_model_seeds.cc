// Writes the seed corpus of gguf_model_fuzz: `gguf_model_seeds FOLDER`.

#include <cstdint>
#include <string>
#include <vector>

#include "io/gguf_writer.h"
#include "seeds.h"

namespace {

using hearth::GgufMetadata;
using Texts = std::vector<std::string>;

std::string file_of(const GgufMetadata& metadata) {
  return hearth::io::gguf_header({}, metadata, 32);
}

GgufMetadata config(const std::string& family) {
  GgufMetadata all = {{"general.architecture", family}};
  const auto set = [&](const char* key, hearth::GgufValue value) {
    all.set(family + "." + key, std::move(value));
  };
  set("embedding_length", std::uint32_t{64});
  set("context_length", std::uint32_t{128});
  set("block_count", std::uint32_t{2});
  set("feed_forward_length", std::uint32_t{96});
  set("attention.head_count", std::uint32_t{4});
  set("attention.head_count_kv", std::uint32_t{2});
  set("attention.layer_norm_rms_epsilon", 1e-6f);
  set("rope.freq_base", 1e4f);
  return all;
}

GgufMetadata experts() {
  GgufMetadata all = config("qwen3moe");
  all.set("qwen3moe.expert_count", std::uint32_t{8});
  all.set("qwen3moe.expert_used_count", std::uint32_t{2});
  all.set("qwen3moe.expert_feed_forward_length", std::uint32_t{32});
  all.set("qwen3moe.rope.scaling.type", "yarn");
  all.set("qwen3moe.rope.scaling.factor", 4.0f);
  all.set("qwen3moe.rope.scaling.original_context_length", std::uint32_t{32});
  return all;
}

GgufMetadata windows() {
  GgufMetadata all = config("gemma3");
  all.set("gemma3.attention.sliding_window", std::uint32_t{16});
  all.set("gemma3.attention.key_length", std::uint32_t{16});
  all.set("gemma3.attention.value_length", std::uint32_t{16});
  all.set("gemma3.final_logit_softcapping", 30.0f);
  return all;
}

GgufMetadata vocabulary(const std::string& kind, const Texts& words) {
  const std::string key = "tokenizer.ggml.";
  Texts texts = {"<unk>", "<s>", "</s>", "<0x41>"};
  texts.insert(texts.end(), words.begin(), words.end());
  std::vector<std::int32_t> types = {2, 3, 3, 6};
  types.resize(texts.size(), 1);
  GgufMetadata all = {{key + "model", kind},
                      {key + "tokens", texts},
                      {key + "token_type", types},
                      {key + "bos_token_id", std::uint32_t{1}},
                      {key + "eos_token_id", std::uint32_t{2}}};
  all.set(key + "scores", std::vector<float>(texts.size(), -1));
  return all;
}

std::vector<std::string> seeds() {
  const Texts words = {"a",
                       "b",
                       "ab",
                       "\xe2\x96\x81",
                       "\xe2\x96\x81"
                       "a",
                       "\n",
                       "1",
                       "\xc4\xa0"};
  GgufMetadata spm = vocabulary("llama", words);
  spm.set("tokenizer.ggml.add_space_prefix", false);
  spm.set("tokenizer.chat_template", "{% for m in messages %}{{ m.content }}{% endfor %}");
  GgufMetadata pairs = vocabulary("gpt2", words);
  pairs.set("tokenizer.ggml.pre", "qwen2");
  pairs.set("tokenizer.ggml.merges", Texts{"a b", "\xc4\xa0 a"});
  GgufMetadata gemma = vocabulary("gemma4", words);
  gemma.set("tokenizer.ggml.merges", Texts{"a b", "\n \n"});
  GgufMetadata bert = vocabulary("bert", words);
  bert.set("tokenizer.ggml.cls_token_id", std::uint32_t{1});
  bert.set("tokenizer.ggml.seperator_token_id", std::uint32_t{2});
  bert.set("tokenizer.ggml.unknown_token_id", std::uint32_t{0});
  GgufMetadata unigram = vocabulary("t5", words);
  unigram.set("tokenizer.ggml.precompiled_charsmap",
              std::vector<std::uint8_t>{4, 0, 0, 0, 0, 0, 0, 0, 'a', 0});
  return {
      file_of(config("llama")),
      file_of(experts()),
      file_of(windows()),
      file_of(spm),
      file_of(pairs),
      file_of(gemma),
      file_of(bert),
      file_of(unigram),
      file_of({{"general.sampling.temp", 0.7f},
               {"general.sampling.top_k", std::int32_t{40}},
               {"general.sampling.mirostat", std::int32_t{2}},
               {"general.sampling.sequence", "top_k;top_p;temperature"}}),
  };
}

}  // namespace

int main(int argc, char** argv) { return hearth::testing::write_seeds(argc, argv, seeds()); }
