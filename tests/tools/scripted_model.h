// A model for tests of the API: it writes what it is told to, token by token, and remembers what it
// was asked.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "hearth/error.h"
#include "models/grammar/token_constraints.h"
#include "models/serving/full_queue.h"
#include "models/tokenizer/from_gguf.h"
#include "tools/serve/served_model.h"

namespace hearth::testing {

// 0 <unk>, 1 <s>, 2 </s>, 3 <|im_start|>, 4 <|im_end|>, then the bytes, and a space.
inline models::Tokenizer byte_tokenizer() {
  std::vector<std::string> texts = {"<unk>", "<s>", "</s>", "<|im_start|>", "<|im_end|>"};
  std::vector<std::int32_t> types = {2, 3, 3, 3, 3};
  for (int byte = 0; byte < 256; ++byte) {
    constexpr char kDigits[] = "0123456789ABCDEF";
    texts.push_back(std::string("<0x") + kDigits[byte >> 4] + kDigits[byte & 15] + ">");
    types.push_back(6);
  }
  texts.push_back("\u2581");
  types.push_back(1);
  return models::tokenizer_from_gguf({{"tokenizer.ggml.model", "llama"},
                                      {"tokenizer.ggml.tokens", texts},
                                      {"tokenizer.ggml.token_type", types},
                                      {"tokenizer.ggml.scores", std::vector<float>(texts.size())},
                                      {"tokenizer.ggml.add_space_prefix", false},
                                      {"tokenizer.ggml.add_bos_token", false}},
                                     "scripted");
}

class ScriptedModel final : public tools::serve::ServedModel {
 public:
  static constexpr const char* kTemplate =
      "{% if tools %}tools:{{ tools | tojson }} <tool_call>\n{% endif %}"
      "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}"
      "{% if m.tool_calls %}{{ m.tool_calls | tojson }}{% endif %}<|im_end|>\n{% endfor %}"
      "{% if add_generation_prompt %}<|im_start|>assistant\n{% if think %}<think>\n{% endif %}"
      "{% endif %}";

  ScriptedModel() : chat_(tokenizer_, kTemplate) {
    card_ = {.id = "scripted",
             .created = 7,
             .context = 1000,
             .writes = true,
             .embeds = true,
             .width = 5};
  }
  ~ScriptedModel() override {
    std::vector<std::thread> writers;
    {
      const std::lock_guard lock(mutex_);
      writers.swap(writers_);
      has_ended_ = true;
    }
    for (std::thread& writer : writers) writer.join();
  }

  const tools::serve::ModelCard& card() const override { return card_; }
  const models::Tokenizer& tokenizer() const override { return tokenizer_; }
  const models::ChatFormat& chat() const override { return chat_; }
  std::shared_ptr<models::grammar::Constraint> constrain_by_gbnf(
      const std::string& text, const std::function<void()>& watch) override {
    watch();
    ++constraints_made;
    return constraints_.from_gbnf(text);
  }
  std::shared_ptr<models::grammar::Constraint> constrain_by_schema(
      const JsonValue& schema, const std::function<void()>& watch) override {
    watch();
    ++constraints_made;
    return constraints_.from_schema(schema);
  }

  std::shared_ptr<models::GenerationStream> submit(models::GenerationRequest request) override {
    const std::lock_guard lock(mutex_);
    if (is_immediate) {
      auto done = std::make_shared<models::GenerationStream>();
      write(*done->channel(), request);
      return done;
    }
    if (has_full_queue) throw models::FullQueue(9, 8);
    if (has_no_memory) throw Error(ErrorCode::out_of_memory, "no memory for the text");
    requests_.push_back(request);
    auto stream = std::make_shared<models::GenerationStream>();
    writers_.emplace_back(
        [this, channel = stream->channel(), request] { write(*channel, request); });
    return stream;
  }

  std::vector<std::vector<float>> embed(const models::TokenLists& texts,
                                        const std::function<void()>& watch) override {
    std::vector<std::vector<float>> all;
    for (const auto& text : texts) {
      watch();
      ++embedded;
      all.push_back({0.6f, text.size() % 2 == 0 ? 0.8f : -0.8f, 0.0f, 0.0f, 0.0f});
    }
    return all;
  }
  models::SchedulerStats stats() const override {
    models::SchedulerStats stats;
    stats.tokens_out = tokens_out;
    stats.tokens_guessed = 20;
    stats.guesses_held = 13;
    stats.is_failing = is_failing;
    stats.parallel = 2;
    stats.most_waiting = 8;
    stats.texts = {{.number = 7,
                    .prompt_tokens = 9,
                    .cached_tokens = 4,
                    .computed_tokens = 11,
                    .new_tokens = 3,
                    .tokens_left = 5}};
    return stats;
  }

  std::vector<models::GenerationRequest> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }

  // Set before requests come.
  bool is_immediate = false;  // all is written when asked for, and nothing remembered
  std::function<std::string(const models::GenerationRequest&)> says =
      [](const models::GenerationRequest&) { return std::string("Hello!"); };
  std::chrono::milliseconds pause{0};  // before each token
  std::string failure;                 // ends answers, where it is not empty
  ErrorCode failure_code = ErrorCode::internal;
  std::string stop;  // the same, as one of the request's stops
  std::atomic<bool> has_full_queue = false, has_no_memory = false, is_failing = false;
  std::atomic<std::int64_t> tokens_out = 0, cancelled = 0, constraints_made = 0, embedded = 0;

 private:
  void write(models::GenerationStream::Channel& channel, const models::GenerationRequest& request) {
    models::GenerationPiece piece;
    piece.prompt_tokens = static_cast<std::int64_t>(request.tokens.size());
    piece.cached_tokens = 3;
    if (request.prompt_logprobs >= 0) {
      models::GenerationPiece scored = piece;
      for (std::size_t i = 1; i < request.tokens.size(); ++i) {
        scored.prompt.push_back({request.tokens[i], -0.25f * static_cast<float>(i), {}, 9});
        for (std::int64_t best = 0; best < request.prompt_logprobs; ++best) {
          scored.prompt.back().best.push_back({5 + static_cast<std::int32_t>(best), -0.125f});
        }
      }
      channel.write(std::move(scored));
    }
    models::TokenStream stream(tokenizer_, {}, request.tokens);
    for (const std::int32_t token : tokenizer_.encode(says(request))) {
      std::this_thread::sleep_for(pause);
      if (channel.is_cancelled || has_ended_) {
        ++cancelled;
        piece.finish = models::FinishReason::cancelled;
        break;
      }
      if (piece.new_tokens == request.most_tokens) {
        piece.finish = models::FinishReason::length;
        break;
      }
      ++piece.new_tokens;
      ++tokens_out;
      models::GenerationPiece one = piece;
      one.text = stream.push(token);
      one.tokens.push_back({token, request.logprobs >= 0 ? -0.5f : 0.0f, {}});
      for (std::int64_t i = 0; i < request.logprobs; ++i) {
        one.tokens.back().best.push_back({token, -0.5f - static_cast<float>(i)});
      }
      channel.write(std::move(one));
    }
    piece.text = stream.finish();
    if (piece.finish == models::FinishReason::none) {
      piece.finish = models::FinishReason::stop;
      piece.stop = stop;
    }
    if (!failure.empty()) {
      piece.finish = models::FinishReason::failed;
      piece.error = failure;
      piece.error_code = failure_code;
    }
    channel.write(piece);
  }

  models::Tokenizer tokenizer_ = byte_tokenizer();
  models::ChatFormat chat_;
  models::grammar::TokenConstraints constraints_{tokenizer_};
  tools::serve::ModelCard card_;
  mutable std::mutex mutex_;
  std::vector<models::GenerationRequest> requests_;
  std::vector<std::thread> writers_;
  std::atomic<bool> has_ended_ = false;
};

}  // namespace hearth::testing
