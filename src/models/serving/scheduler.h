// Many texts of one model at once, on a thread that owns the device's work.
//
// A step runs one row of each text that is being written and parts of the prompts that wait beside
// them. On the CPU a text is the same beside others, bit for bit, however its prompt is cut into
// steps (docs/architecture.md says where not). So it is on GPUs where the thread that makes the
// scheduler has Numerics::batch_invariant, as all of its numerics are the scheduler's. Else scores
// may differ there in their last bits, so that texts may part where two tokens are all but equally
// likely.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "models/language/cache.h"
#include "models/loading/load_model.h"
#include "models/serving/generation_stream.h"
#include "models/serving/request.h"

namespace hearth::models {

struct SchedulerOptions {
  // Of keys and values, of all texts together; 0: as many as `cache_bytes` have room for. Layers
  // with windows have no more than the texts that run can hold, and as many again for those that
  // ended; models with states have one of each text that runs, and a few more of earlier rows.
  std::int64_t pages = 0;
  std::int64_t cache_bytes = std::int64_t{1} << 30;  // of all caches, where `pages` is 0
  std::int64_t page_size = kPageRows;
  std::int64_t parallel = 16;       // texts that are written at once
  std::int64_t prefill = 512;       // tokens of prompts in a step
  std::int64_t most_waiting = 256;  // texts that wait for their turn
  CacheTypes caches = {};
  bool shares_prefixes = true;   // rows of earlier texts are taken again
  std::int64_t save_rows = 512;  // of a prompt, between states that are kept of models with some
  // Tokens of all texts together that a step guesses ahead and checks beside those that follow for
  // sure; 0: none. What is written stays the same (drafting/drafter.h).
  std::int64_t drafts = 0;
  // What guesses them, a smaller model of the same tokens; null: they are looked up in the text.
  // It must outlive the scheduler.
  const LoadedModel* draft_model = nullptr;
};

// A text that is being written, or whose prompt is.
struct TextStats {
  std::int64_t number = 0;  // in the order of arrival, from 0 on
  std::int64_t prompt_tokens = 0;
  std::int64_t cached_tokens = 0;    // of the prompt, that were known
  std::int64_t computed_tokens = 0;  // of prompt and answer, in the caches now
  std::int64_t new_tokens = 0;
  std::int64_t tokens_left = 0;  // that the answer may still have
};

struct SchedulerStats {
  std::vector<TextStats> texts;  // that run, in the order of arrival
  std::int64_t running = 0;
  std::int64_t waiting = 0;
  std::int64_t parallel = 0;
  std::int64_t most_waiting = 0;
  std::int64_t pages = 0;
  std::int64_t pages_used = 0;  // by texts that run
  std::int64_t pages_kept = 0;  // of texts that ended, for others that begin the same
  // The same of layers with windows, of which a text has no more than the windows take.
  std::int64_t window_pages = 0, window_pages_used = 0, window_pages_kept = 0;
  // Since the scheduler was made:
  std::int64_t tokens_in = 0;      // of prompts
  std::int64_t tokens_cached = 0;  // of these, that were not computed again
  std::int64_t tokens_out = 0;
  std::int64_t tokens_guessed = 0;
  std::int64_t guesses_held = 0;  // of these, that were drawn, too
  std::int64_t requests = 0;
  std::int64_t hits = 0;         // requests with some tokens cached
  std::int64_t preemptions = 0;  // texts that lost their pages to older ones, and began again
  std::int64_t steps = 0;
  std::int64_t rows = 0;    // that the model computed, without padding
  std::int64_t faults = 0;  // steps that the device, or its memory, failed
  bool is_failing = false;  // the device failed and ran no step since
};

// Calls from several threads at once are fine. The model must outlive this.
class Scheduler {
 public:
  // Throws Error{invalid_argument} for options out of range.
  explicit Scheduler(const LoadedModel& loaded, const SchedulerOptions& options = {});
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;
  // Ends all texts as cancelled.
  ~Scheduler();

  // Throws Error{invalid_argument} for an empty prompt, one that with a token more is longer than
  // longest_text(), tokens outside of the vocabulary and options out of range, and
  // FullQueue (full_queue.h) where most_waiting texts wait already.
  std::shared_ptr<GenerationStream> submit(GenerationRequest request);

  SchedulerStats stats() const;
  // Tokens of prompt and answer: the context of the model, or what all pages hold.
  std::int64_t longest_text() const noexcept;

 private:
  class Engine;
  std::unique_ptr<Engine> engine_;
};

}  // namespace hearth::models
