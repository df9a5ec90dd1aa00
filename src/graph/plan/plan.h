// A plan: how one recording runs. Holds metadata only, never arrays; immutable once built and
// shared by all threads.
//
// Addresses are a base and a byte offset. Base 0 is the arena; then one base per external; then one
// per output storage.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "graph/record/node.h"
#include "graph/record/tape.h"
#include "graph/selector.h"

namespace hearth {

// A dynamic slice start: the word `dynamic` times `stride_bytes` is added to the address.
struct DynamicOffset {
  int dynamic;
  std::int64_t stride_bytes;
};

// More than any device has: sums of bytes stop here, so that what a device refuses is never small.
inline constexpr std::int64_t kMaxBytes = std::int64_t{1} << 60;
inline std::int64_t add_bytes(std::int64_t a, std::int64_t b) {
  return b < 0 || b > kMaxBytes - a ? kMaxBytes : a + b;
}

struct PlanOperand {
  static constexpr int kNone = -1;
  int base = kNone;  // kNone: absent
  std::int64_t offset_bytes = 0;
  int first_dynamic = 0;  // in Plan::dynamic_offsets
  int dynamic_count = 0;
};

struct Step {
  LaunchFunction launch = nullptr;
  std::unique_ptr<Signature> signature;  // null for regions
  std::vector<std::uint64_t> statics;    // what the signature's span names
  std::shared_ptr<const void> state;
  int first_operand = 0;
  int operand_count = 0;
  int output_count = 1;            // Launch::output_count
  int early = Launch::kNoOperand;  // likewise
  std::int64_t early_bytes = 0;
  PlanOperand workspace;
  int first_made = 0;  // in Plan::made
  int made_count = 0;  // none for a copy
};

// Storage that outlives the plan. Taken over from an external, or allocated at launch.
struct PlanStorage {
  std::int64_t bytes = 0;
  int donor = -1;         // external slot
  bool is_early = false;  // a step gives it early
};

// A node that is wanted after the plan.
struct PlanEscape {
  std::uint32_t node;
  int base;       // an external or an output storage
  Layout layout;  // in elements; relative to the external's own offset
  int first_dynamic = 0;
  int dynamic_count = 0;
};

// A value that takes memory while the plan runs, or the workspace of what computes it.
struct PlanTaker {
  std::uint32_t node;
  std::int64_t bytes;
};

// What planned_work() tells of a step, and no launch needs.
struct StepOrigin {
  const Implementation* implementation = nullptr;  // null for regions and copies
  TensorSpec copied;                               // what a copy makes; else of no shape
  std::int64_t workspace_bytes = 0;
};

struct Plan {
  std::vector<std::uint64_t> key;  // the whole description, compared on a hit
  std::vector<Step> steps;
  std::vector<PlanOperand> operands;
  std::vector<DynamicOffset> dynamic_offsets;
  std::vector<PlanStorage> storages;
  std::vector<PlanEscape> escapes;
  std::vector<std::uint32_t> made;  // nodes by the step that computes them
  std::vector<PlanTaker> takers;
  int external_count = 0;
  int most_operands = 0;           // of a step
  std::int64_t arena_bytes = 0;    // kMaxBytes at most
  std::int64_t storage_bytes = 0;  // likewise
  int fused = 0;
  int copies = 0;
  int donations = 0;
  std::vector<StepOrigin> origins;  // by step

  std::span<const std::uint32_t> made_by(const Step& step) const {
    return {made.data() + step.first_made, static_cast<std::size_t>(step.made_count)};
  }
  int storage_base(int storage) const { return 1 + external_count + storage; }
};

// What is true of an external when its recording is submitted; part of the key.
struct ExternalFact {
  bool donatable = false;
  bool aligned = false;  // the first element lies at a multiple of kRowAlignment
};

std::shared_ptr<const Plan> build_plan(DeviceImpl& device, const Recording& recording,
                                       const std::vector<bool>& wanted,
                                       std::span<const ExternalFact> externals);

// The memory that a plan takes, about: what implementations prepared counts by their operands,
// since only they know what it is.
std::size_t bytes_of(const Plan& plan);

// The process-wide cache, bounded by the bytes that its plans hold: what was not used for longest
// goes first. Thread-safe.
std::shared_ptr<const Plan> find_plan(std::uint64_t hash, std::span<const std::uint64_t> key);
void keep_plan(std::uint64_t hash, std::shared_ptr<const Plan> plan);

struct PlanCacheSize {
  std::size_t plans = 0, bytes = 0;
};
PlanCacheSize plan_cache_size();
// Bytes from now on; the plan that was used last stays, whatever it takes. Gives the limit so far.
std::size_t set_plan_cache_limit(std::size_t bytes);

}  // namespace hearth
