// The texts that a model writes at once, step by step: which of them run, which wait, and who gives
// pages up where these run out.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "hearth/error.h"
#include "models/drafting/drafter.h"
#include "models/language/model/sequences.h"
#include "models/loading/load_model.h"
#include "models/serving/running_text.h"
#include "models/serving/scheduler.h"
#include "models/serving/step_rows.h"

namespace hearth::models {

// Moving from list to list takes no memory, so that no text is lost where there is none.
using Texts = std::list<std::unique_ptr<RunningText>>;

// Not for several threads at once. The model must outlive this.
class TextRunner {
 public:
  // `drafter` may be null.
  TextRunner(const LanguageModel& model, const SchedulerOptions& options,
             std::unique_ptr<Drafter> drafter = nullptr);

  // Takes all of these, in their order.
  void add(Texts&& texts) noexcept;
  bool is_idle() const noexcept { return running_.empty() && waiting_.empty(); }
  // Lets texts in that have waited, runs rows of all that run, draws for those that want it and
  // lets go of those that ended. What fails of one text ends that one alone; where the host has no
  // memory left all that run end.
  void step() noexcept;
  // The next step lets go of them.
  void end_all(FinishReason finish) noexcept;
  // Gives the streams what came since the last call. stats() counted it before.
  void flush() noexcept;

  SchedulerStats stats() const;
  std::int64_t longest_text() const noexcept { return longest_; }

 private:
  // The texts that a step runs, and of each the rows.
  struct Step {
    std::vector<RunningText*> texts;
    std::vector<SequenceRows> rows;
  };

  void run_step();
  void drop_ended();
  void let_in();
  bool has_room(const RunningText& text) const;
  bool begin(RunningText& text);
  // Guesses how the texts go on that write their answer.
  void guess();
  void drop_guesses();
  // Finds what others computed while texts waited for their first rows.
  void look_again();
  // What to run now, guesses among it. Takes pages from the youngest where there are not enough.
  Step plan();
  // What runs as long as pages suffice. Drops guesses of texts that have fewer rows than they want.
  Step planned();
  void preempt_youngest();
  void wait_again(Texts::iterator running);  // in the order of arrival
  void run(std::span<RunningText* const> texts, std::span<const SequenceRows> rows);
  // Behind a fault of the device, after which nobody knows what the caches hold: a text that ran
  // alone fails; of several each begins again alone, which shows whose rows were too much.
  void lose_caches(const Error& error);
  void forget_caches(const Error& error) noexcept;
  void begin_again();  // each that runs, alone
  // Ends all that run, with their caches.
  void fail_all(const Error& error) noexcept;
  bool has_caches();  // makes them again where they are gone; else what waits has failed
  void take(RunningText& text, std::span<const DrawnToken> drawn);
  // Rows of scores that a step may have for prompts.
  std::int64_t most_prompt_scores() const;
  BlockCuts cuts(const RunningText& text) const;
  SavePoints save_points(const RunningText& text) const;

  const LanguageModel& model_;
  SchedulerOptions options_;
  CacheOptions cache_;
  std::int64_t block_;  // of BlockCuts
  std::int64_t longest_;
  std::optional<Sequences> sequences_;  // none behind a fault of the device
  std::unique_ptr<Drafter> drafter_;
  Texts running_, waiting_;  // in the order of arrival
  Texts ended_;              // since the last flush()
  std::int64_t arrivals_ = 0;
  // The first that waited and did not fit, by its place, and the pages that were free then.
  struct TooFew {
    std::int64_t place;
    PageCounts pages;
  };
  std::optional<TooFew> too_few_;
  // Made in advance: where it is wanted there is no memory to make it.
  const Error no_memory_{ErrorCode::out_of_memory, "generate: the host has no memory left"};
  SchedulerStats stats_;
};

}  // namespace hearth::models
