// What every call on one card needs: its primary context, its queue, and the fault that ended it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_set>

#include "devices/cuda/driver/driver_api.h"

namespace hearth::cuda {

// The context is taken and the queue made when the first scope is entered, not before: a program
// that only asks which cards there are costs no memory on them. The primary context is the one that
// other libraries of the process use as well, so their memory is valid here.
//
// A fault of a kernel ends the context for the rest of the process. It is kept, and thrown again by
// everything that would use the card after it. Thread-safe.
class Context {
 public:
  Context(std::shared_ptr<const DriverApi> api, Card card, std::string name);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  enum class Use : std::uint8_t { call, queue };

  // Makes the context current on this thread while it lives, and restores what was current before.
  // Says whether anything is queued within. Throws Error{device} if the card is lost or its context
  // cannot be made.
  class Scope {
   public:
    Scope(Context& context, Use use);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Context& context_;
    const Use use_;
  };

  const DriverApi& api() const noexcept { return *api_; }
  const std::string& name() const noexcept { return name_; }
  Card card() const noexcept { return card_; }
  // Within a scope.
  Stream stream() const noexcept { return stream_; }
  // Another one, on which nothing runs: what a graph shall repeat is recorded there. Within a
  // scope.
  Stream recording_stream();

  // Throws unless `result` is success: Error{out_of_memory} or Error{device}, with the call's name.
  void check(Result result, const char* call) {
    if (result != Result::success) fail(result, call);
  }

  // Waits for all that was queued. Within a scope.
  void wait();
  // The same outside of one, before something that queued work may use is destroyed. False: the
  // card is lost, nothing on it can be or need be freed.
  bool drain() noexcept;

  // Names that outlive the kernels that have them, for errors.
  const std::string* remember(const std::string& kernel);
  void note_launches(std::span<const std::string* const> kernels) noexcept;

 private:
  static constexpr std::size_t kNames = 4;

  void open();
  // Whether all that was queued is done within kSpin: spins on a word of pinned memory that the
  // queue writes at its end, which is seen sooner than cuStreamSynchronize returns.
  bool see_end();
  void expect_alive();
  [[noreturn]] void fail(Result result, const char* call);
  std::string launched() const;

  const std::shared_ptr<const DriverApi> api_;
  const Card card_;
  const std::string name_;

  std::atomic<bool> is_open_{false};
  std::atomic<bool> is_lost_{false};
  // Raised at both ends of each scope that queues work, so that a wait knows whether one began or
  // ended meanwhile.
  std::atomic<std::int64_t> queued_{0};
  std::atomic<std::int64_t> waited_{0};  // what queued_ was before the last wait
  ContextHandle context_ = nullptr;
  Stream stream_ = nullptr;
  std::uint32_t* end_ = nullptr;  // pinned: the same address on the card
  Stream recording_stream_ = nullptr;

  mutable std::mutex mutex_;  // guards what follows, and opening
  std::string fault_;
  std::unordered_set<std::string> kernels_;
  std::array<const std::string*, kNames> last_launches_{};
  std::int64_t launches_ = 0;  // since the last wait
  std::uint32_t ends_ = 0;     // values queued for `end_`
};

}  // namespace hearth::cuda
