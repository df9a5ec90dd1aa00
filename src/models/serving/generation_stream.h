// An answer on its way from the thread that makes it to the one that reads it.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>

#include "models/serving/request.h"

namespace hearth::models {

// One thread reads, one writes, any cancels. Destroying it cancels.
class GenerationStream {
 public:
  GenerationStream();
  GenerationStream(const GenerationStream&) = delete;
  GenerationStream& operator=(const GenerationStream&) = delete;
  ~GenerationStream();

  // Waits for what is new; pieces that came together are one. Behind the last piece it gives that
  // one's `finish`, `error` and counts again, at once.
  GenerationPiece next();
  // Nothing where nothing came in that time.
  std::optional<GenerationPiece> next_for(std::chrono::milliseconds time);
  // The answer ends soon, with FinishReason::cancelled if it did not end by itself before.
  void cancel() noexcept;

  // What writer and reader share; it outlives either.
  struct Channel {
    void write(GenerationPiece piece);
    // Ends the answer with what was written before, as failed for want of memory. Takes none.
    void break_off() noexcept;

    std::mutex mutex;
    std::condition_variable changed;
    GenerationPiece waiting;  // what was not read yet
    bool has_news = false;
    std::atomic<bool> is_cancelled = false;
  };

  const std::shared_ptr<Channel>& channel() const noexcept { return channel_; }

 private:
  GenerationPiece take();  // with the mutex held

  std::shared_ptr<Channel> channel_;
};

}  // namespace hearth::models
