// The time that work takes on a card.
#pragma once

#include <vector>

#include "devices/cuda/driver/context.h"

namespace hearth::cuda {

// Events between what is queued, given back whatever happens. Used within a scope.
class Stopwatch {
 public:
  explicit Stopwatch(Context& context) : context_(context) {}
  ~Stopwatch() {
    for (const Event event : events_) context_.api().cuEventDestroy_v2(event);
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

  void mark() {
    Event event = nullptr;
    context_.check(context_.api().cuEventCreate(&event, 0), "cuEventCreate");
    events_.push_back(event);
    context_.check(context_.api().cuEventRecord(event, context_.stream()), "cuEventRecord");
  }
  // From each mark to the next, once both have passed.
  std::vector<double> seconds() const {
    std::vector<double> all;
    for (std::size_t i = 1; i < events_.size(); ++i) {
      float milliseconds = 0;
      context_.check(context_.api().cuEventElapsedTime(&milliseconds, events_[i - 1], events_[i]),
                     "cuEventElapsedTime");
      all.push_back(milliseconds * 1e-3);
    }
    return all;
  }

 private:
  Context& context_;
  std::vector<Event> events_;
};

}  // namespace hearth::cuda
