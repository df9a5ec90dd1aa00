// How what is recorded gets to run, all of it or its front, and what becomes of its errors.
#include <algorithm>
#include <optional>
#include <thread>

#include "graph/record/recording_front.h"
#include "graph/record/tape.h"
#include "graph/switches.h"
#include "runtime/memory/held_keepers.h"
#include "runtime/trace/timeline.h"

namespace hearth {

// In a thread that does not record here, with the switches of the one that does.
template <class F>
void Tape::visit(F&& f) noexcept {
  const HeldKeepers held;
  lock_.lock_as_visitor();
  const Switches mine = switches();
  switches() = switches_;
  f();
  switches() = mine;
  lock_.unlock_as_visitor();
}

void Tape::submit() noexcept {
  if (owner_.load(std::memory_order_relaxed) != std::this_thread::get_id()) {
    return visit([this] { submit_locked(); });
  }
  const HeldKeepers held;
  const TapeLock::Owner owner(lock_);
  submit_locked();
}

void Tape::submit(const Node& node) noexcept {
  if (owner_.load(std::memory_order_relaxed) == std::this_thread::get_id()) return submit();
  visit([this, &node] {
    if (node.state.load(std::memory_order_acquire) == NodeState::pending) submit_front_locked(node);
  });
}

void Tape::submit_front_locked(const Node& node) noexcept {
  const RecordingFront front = front_of(recording_, node.index);
  if (front.nodes == recording_.nodes.size()) return submit_locked();
  std::optional<Recording> rest;
  std::vector<Node*> crossing;  // values of the front that are read behind it
  std::vector<Node*> later;     // externals that the front does not read
  try {
    rest = behind(recording_, front);
    for (Node* external : rest->externals) {
      const bool is_here = external->tape == this && external->index < front.nodes &&
                           recording_.nodes[external->index] == external;
      if (is_here) crossing.push_back(external);
    }
    const auto first_later =
        recording_.externals.begin() + static_cast<std::ptrdiff_t>(front.externals);
    later.assign(first_later, recording_.externals.end());
    while (rest->externals.size() * 2 > table_.size()) grow_table();
  } catch (const std::bad_alloc&) {
    return submit_locked();
  }
  for (Node* external : rest->externals) {
    external->counts.fetch_add(kReference, std::memory_order_relaxed);
  }
  for (Node* value : crossing) retain_handle(value);  // so that their memory is kept
  const std::uint64_t window = window_;
  recording_.nodes.resize(front.nodes);
  recording_.words.set_end(recording_.words.begin() + front.words);
  recording_.dynamics.set_end(recording_.dynamics.begin() + front.dynamics);
  recording_.externals.resize(front.externals);
  submit_locked();
  window_ = window;
  for (Node* value : crossing) release(value, kHandle);
  for (Node* external : later) release(external, kReference);

  recording_ = std::move(*rest);
  for (std::size_t i = 0; i < recording_.nodes.size(); ++i) {
    recording_.nodes[i]->index = static_cast<std::uint32_t>(i);
  }
  for (std::size_t slot = 0; slot < recording_.externals.size(); ++slot) {
    Node* const external = recording_.externals[slot];
    entry_of(external) = {external, static_cast<std::uint32_t>(slot), epoch_};
  }
}

void Tape::forget_failure() noexcept {
  if (failure_ != nullptr) release(failure_);
  failure_ = nullptr;
}

void Tape::throw_failure() {
  std::optional<Error> error;
  {
    const TapeLock::Owner owner(lock_);
    if (failure_ != nullptr && !failure_->was_thrown.exchange(true)) error = failure_->error;
    forget_failure();
  }
  if (error) throw Error(*error);
}

void Tape::submit_locked() noexcept {
  if (failure_ != nullptr && failure_->was_thrown.load(std::memory_order_relaxed)) forget_failure();
  if (recording_.nodes.empty()) return;
  const runtime::HostSpan span("submit tape");
  Counters& count = counters();
  count.recorded.fetch_add(static_cast<std::int64_t>(recording_.nodes.size()),
                           std::memory_order_relaxed);
  count.submissions.fetch_add(1, std::memory_order_relaxed);
  FailedValues failed(recording_);
  execute(device_, recording_, failed);
  const bool some_failed = failed.any();
  const std::vector<Node*>& nodes = recording_.nodes;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    Node* const node = nodes[i];
    prefetch(nodes[std::min(i + kPrefetchAhead, nodes.size() - 1)]);
    Failure* const failure = some_failed ? failed.of(i) : nullptr;
    if (failure != nullptr && node->state.load(std::memory_order_relaxed) == NodeState::pending) {
      failure->references.fetch_add(1, std::memory_order_relaxed);
      node->failure = failure;
      node->state.store(NodeState::failed, std::memory_order_release);
      if (failure_ == nullptr && !failure->was_thrown.load(std::memory_order_relaxed)) {
        failure->references.fetch_add(1, std::memory_order_relaxed);
        failure_ = failure;
      }
    }
    release(node, kReference);
  }
  for (Node* node : recording_.externals) release(node, kReference);
  recording_.clear();
  ++epoch_;
  last_external_ = nullptr;
  window_ = 0;
}

}  // namespace hearth
