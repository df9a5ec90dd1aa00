// The walk of reverse mode: from a result back over the records of the ops that made it.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <queue>
#include <span>
#include <unordered_map>
#include <vector>

#include "autodiff/gradient_parts.h"
#include "graph/record/grad_record.h"
#include "hearth/grad.h"

namespace hearth {

// Turns tracking on or off for a scope.
class GradMode {
 public:
  explicit GradMode(bool enabled) noexcept : before_(set_grad_enabled(enabled)) {}
  ~GradMode() { set_grad_enabled(before_); }
  GradMode(const GradMode&) = delete;
  GradMode& operator=(const GradMode&) = delete;

 private:
  bool before_;
};

// Visits records by falling sequence number, so a record comes after all that depend on it, and
// hands each one its whole gradient. Ops that are differentiated by computing them again put the
// records of that computation into the same walk: they are younger than all that waits.
class Walk {
 public:
  struct Options {
    bool retain = false;        // keep saved values for another walk
    bool create_graph = false;  // track the gradients themselves; nothing is released then
    std::uint64_t floor = 0;    // records with a smaller sequence number are left alone
  };
  explicit Walk(Options options) : options_(options) {}
  ~Walk();
  Walk(const Walk&) = delete;
  Walk& operator=(const Walk&) = delete;

  // Gradients stop at these records and are collected instead.
  void collect_at(GradRecord* target) { targets_.emplace(target, Array()); }
  // Starts at `result` with its gradient and walks to the end. Leaves go into `leaves`.
  void run(const Array& result, const Array& gradient, Gradients& leaves);
  // The gradient collected at a target; undefined if none arrived.
  Array collected(GradRecord* target) const;

 private:
  // The gradient of a record so far. Parts of it, of slices that are taken of its value, wait until
  // all are there: those of a whole that was split are joined by one copy.
  struct Waiting {
    Array sum;
    std::vector<GradientPart> parts;
  };
  struct Visit {
    std::uint64_t sequence;
    GradRecord* record;
    Waiting* waiting;
    friend bool operator<(const Visit& a, const Visit& b) noexcept {
      return a.sequence < b.sequence;
    }
  };

  // Of an op of several results, those of its results after the first.
  using MoreGradients = std::vector<Array>;

  Waiting* waiting(GradRecord* record);
  void accumulate(GradRecord* record, Array gradient);
  void accumulate_output(GradRecord* record, int output, const Array& gradient);
  void step(GradRecord& record, const Array& gradient);
  void step_composed(GradRecord& record, const Array& gradient, const MoreGradients& more);

  Options options_;
  // What is walked over lives as long as the result, or is held here where it was computed again:
  // those records have sequence numbers from first_own_ on.
  std::vector<GradRecord*> held_;
  std::uint64_t first_own_ = next_grad_sequence();
  std::priority_queue<Visit> queue_;
  // Of all records seen so far; in one block of memory, which lives as long as the walk.
  std::pmr::monotonic_buffer_resource memory_{std::size_t{1} << 14};
  std::pmr::unordered_map<GradRecord*, Waiting> waiting_{&memory_};
  std::unordered_map<GradRecord*, MoreGradients> more_gradients_;
  std::unordered_map<GradRecord*, Array> targets_;
};

// `loss` may start a walk: one element of a float dtype. Throws Error{shape} or Error{dtype}.
void check_loss(const char* op, const Array& loss);

}  // namespace hearth
