#include "graph/plan/failed_values.h"

#include <exception>
#include <new>

#include "graph/record/tape.h"

namespace hearth {
namespace {

constexpr const char* kNoHostMemory =
    "submit: the host is out of memory; got an allocation that failed, expected room to plan";

// Made in advance: when it is needed there may be no memory to make it.
Failure* const kOutOfHostMemory =
    new Failure{{1}, Error(ErrorCode::out_of_memory, kNoHostMemory), {}};

}  // namespace

Error caught_error() {
  try {
    throw;
  } catch (const Error& error) {
    return error;
  } catch (const std::bad_alloc&) {
    return kOutOfHostMemory->error;
  } catch (const std::exception& error) {
    return Error(ErrorCode::internal, error.what());
  } catch (...) {
    return Error(ErrorCode::internal, "submit: a kernel threw what is no std::exception");
  }
}

bool FailedValues::add(std::span<const std::uint32_t> nodes, const Error& error) {
  failures_.resize(recording_.nodes.size(), nullptr);
  owned_.reserve(owned_.size() + 1);
  auto* const failure = new Failure{{1}, error, {}};
  owned_.push_back(failure);
  bool changed = false;
  for (const std::uint32_t node : nodes) {
    if (failures_[node] != nullptr) continue;
    failures_[node] = failure;
    changed = true;
  }
  spread();
  return changed;
}

void FailedValues::add_readers_of_failed() {
  failures_.resize(recording_.nodes.size(), nullptr);
  for (const Node* external : recording_.externals) {
    if (external->state.load(std::memory_order_acquire) != NodeState::failed) continue;
    owned_.push_back(external->failure);
    external->failure->references.fetch_add(1, std::memory_order_relaxed);
  }
  spread();
}

void FailedValues::add_all(const Error& error) noexcept {
  try {
    owned_.reserve(owned_.size() + 1);
    all_ = new Failure{{1}, error, {}};
    owned_.push_back(all_);
  } catch (const std::bad_alloc&) {
    all_ = kOutOfHostMemory;
  }
}

// Operands come before what reads them, so one walk forward reaches everything.
void FailedValues::spread() {
  const std::uint64_t* word = recording_.words.data();
  for (Failure*& failure : failures_) {
    const DescriptorCounts counts = counts_of(word);
    for (std::uint32_t i = 0; i < counts.inputs && failure == nullptr; ++i) {
      const OperandRef ref = operand_ref(word, i);
      if (ref.tag() == OperandRef::local) {
        failure = failures_[ref.payload()];
      } else if (ref.tag() == OperandRef::external) {
        const Node& external = *recording_.externals[ref.payload()];
        if (external.state.load(std::memory_order_acquire) == NodeState::failed) {
          failure = external.failure;
        }
      }
    }
    word += counts.words();
  }
}

}  // namespace hearth
