// Language models from files: texts in, texts, scores or vectors out. Conversations with them:
// models/chat.h; the memory that they take: models/memory_plan.h.
//
//   const hearth::TextModel model = hearth::TextModel::load("model.gguf");
//   model.generate("Once upon a time", {.tokens = 100}, [](std::string_view text) {
//     std::cout << text << std::flush;
//     return true;
//   });
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hearth/array.h"
#include "hearth/device.h"
#include "hearth/models/chat.h"
#include "hearth/models/finish_reason.h"
#include "hearth/models/memory_plan.h"
#include "hearth/models/sampling.h"

namespace hearth {
inline namespace v0 {

// A low-rank adapter (LoRA): a GGUF file, or a folder as PEFT has them.
struct AdapterFile {
  std::string path;
  double scale = 1;  // how much of it is added
};

struct TextModelOptions {
  Device device = {};
  DType compute = DType::f32;  // of activations: f32, bf16, f16 or f64
  std::int64_t context = 0;    // tokens of a text at most; 0: what the model was made for
  // Texts that are written at once share these; the rows of earlier texts stay in them, so that a
  // prompt that begins like one of those is not computed again. 0: what one text of `context`
  // takes, with the states of `parallel`, at most 1 GiB. TextModel::context() is what they hold.
  std::int64_t cache_bytes = 0;
  // Written at once; others wait. Fewer with `cache_bytes` 0 where their states take over 512 MiB.
  std::int64_t parallel = 16;
  std::int64_t prefill = 512;  // tokens of prompts in a step, beside a token of each text
  // Tokens that are guessed ahead, by looking them up in the text, and checked in one step; 0:
  // none. Texts stay the same, as TextModel says.
  std::int64_t drafts = 0;
  std::vector<AdapterFile> adapters = {};  // all of them are added to the model
  // What caches hold keys and values as, of the names of MemoryPlanOptions; empty: as `compute`.
  std::string keys = {}, values = {};
};

struct GenerateOptions {
  std::int64_t tokens = 256;  // to write at most; the context ends a text, too
  SamplingOptions sampling = {};
  std::vector<std::string> stops = {};  // the text ends before the first of these
  std::string grammar = {};             // in GBNF: the text is one of its texts; empty: any
  std::string json_schema = {};         // or JSON of this schema
  // Texts of control tokens in the prompt are these tokens: for prompts that a chat template wrote.
  // One that begins with the token that texts begin with does not get a second one.
  bool parse_special = false;
};

struct GeneratedText {
  std::string text;
  std::vector<std::int32_t> tokens;
  FinishReason finish = FinishReason::none;
  std::int64_t prompt_tokens = 0;
  std::int64_t cached_tokens = 0;  // of the prompt, that were not computed again
};

// A handle: copies share one model. Calls from several threads at once are fine; texts that are
// asked for together are written together. A text is the same beside others as alone, with drafts
// as without: on the CPU bit for bit, elsewhere, and for weights of bf16 on processors with AMX,
// but for the last bits of scores, unless Numerics::batch_invariant is set; texts may part there
// where two tokens are all but equally likely. All that a model computes has the Numerics of the
// thread that loaded it.
class HEARTH_API TextModel {
 public:
  // From a GGUF file (of a split model, any part), a folder as Hugging Face and MLX have them, or
  // one that `hearth train` made. Weights stay as the file has them: on devices that read the
  // host's memory they are its pages. Throws Error{io, corrupt_file, unsupported, out_of_memory,
  // invalid_argument, shape} with the path, invalid_argument and shape also of adapters that are
  // not the model's; Error{invalid_argument} for options out of range, caches too small for any
  // text and names of no cache, Error{unsupported} for caches that do not fit the model's heads.
  static TextModel load(const std::string& path, const TextModelOptions& options = {});

  const std::string& family() const noexcept;  // GGUF's name of it: "llama", "gemma3"
  std::int64_t context() const noexcept;       // tokens of a text at most, its answer with it
  std::int64_t vocabulary() const noexcept;    // tokens are below it
  bool is_encoder() const noexcept;            // its texts become vectors; it writes none
  // How its makers say that tokens should be drawn; where they say nothing, by their probability.
  SamplingOptions recommended_sampling() const;

  // Computes texts that nobody reads, so that first answers wait for no plan and no compiler, nor
  // for candidates to be measured: prompts of some lengths up to 512 tokens, and steps of one text.
  // Their rows go from the caches when others need the room.
  void warm_up() const;

  // Any bytes are a text. `parse_special`: texts of control tokens are these tokens.
  std::vector<std::int32_t> tokenize(std::string_view text, bool add_special = true,
                                     bool parse_special = false) const;
  // Without control tokens. Throws Error{invalid_argument} for ids outside of the vocabulary, as
  // logits() does.
  std::string detokenize(std::span<const std::int32_t> tokens) const;

  // What the model writes behind the prompt; behind an empty one, where it knows a token that texts
  // begin with, what a text may be. `write` gets the text as it comes, in whole code
  // points, on the caller's thread; false from it ends the text, and so does what it throws, which
  // comes out of here. Throws Error{invalid_argument} for a prompt without tokens, one longer than
  // the context, and options out of range; Error{unsupported} of an encoder; what fails while it
  // writes, too.
  GeneratedText generate(std::string_view prompt, const GenerateOptions& options = {},
                         const std::function<bool(std::string_view)>& write = {}) const;

  // The scores [tokens, vocabulary] of what follows each token, in f32 (f64 if computed in f64).
  // Throws Error{invalid_argument} for no tokens, more than TextModelOptions::context and ids
  // outside of the vocabulary, Error{unsupported} of an encoder. What the device fails is thrown
  // where the scores are read.
  Array logits(std::span<const std::int32_t> tokens) const;

  // Each text as one vector: [texts, dim], f32, pooled as the model's files say, and of length 1
  // unless they say otherwise. A text longer than they let one be is cut. Throws
  // Error{unsupported} for a model that makes no vectors (encoders do, and those whose files name a
  // pooling), Error{invalid_argument} for no texts, one without tokens and one beyond the
  // context.
  Array embed(std::span<const std::string> texts) const;

 private:
  friend class ChatSession;
  class Loaded;
  explicit TextModel(std::shared_ptr<Loaded> loaded) : loaded_(std::move(loaded)) {}

  std::shared_ptr<Loaded> loaded_;
};

}  // namespace v0
}  // namespace hearth
