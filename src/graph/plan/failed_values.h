// The nodes of a recording that failed, with their errors, and the nodes that depend on them. All
// others keep their values.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph/record/node.h"

namespace hearth {

struct Recording;

// An error that belongs to some nodes of the recording alone: what is made of none of them may
// still be computed.
class NodesFailed : public Error {
 public:
  NodesFailed(const Error& error, std::vector<std::uint32_t> nodes)
      : Error(error), nodes_(std::move(nodes)) {}
  const std::vector<std::uint32_t>& nodes() const noexcept { return nodes_; }

 private:
  std::vector<std::uint32_t> nodes_;
};

// The exception in flight as an Error. Called from a handler.
Error caught_error();

// Allocates nothing until something has failed.
class FailedValues {
 public:
  explicit FailedValues(const Recording& recording) noexcept : recording_(recording) {}
  ~FailedValues() {
    for (Failure* failure : owned_) release(failure);
  }
  FailedValues(const FailedValues&) = delete;
  FailedValues& operator=(const FailedValues&) = delete;

  bool any() const noexcept { return all_ != nullptr || !failures_.empty(); }
  // Null where the node is unharmed. Not owned by the caller.
  Failure* of(std::size_t node) const noexcept {
    return failures_.empty() || failures_[node] == nullptr ? all_ : failures_[node];
  }
  bool has(std::size_t node) const noexcept { return of(node) != nullptr; }

  // The nodes fail, with what is made of them; what failed before keeps its error. False if nothing
  // has changed.
  bool add(std::span<const std::uint32_t> nodes, const Error& error);
  // What reads an external that has failed fails with it.
  void add_readers_of_failed();
  // Every node fails that has not failed yet.
  void add_all(const Error& error) noexcept;

 private:
  void spread();

  const Recording& recording_;
  std::vector<Failure*> failures_;  // by node; empty or of the recording's length
  std::vector<Failure*> owned_;
  Failure* all_ = nullptr;
};

}  // namespace hearth
