// State of a caller that an error leaves as it was.
#pragma once

#include <optional>
#include <utility>

namespace hearth::nn_detail {

// Sets `what` back to what it was, unless keep() was called. `what` may be null.
template <class T>
class RestoreOnError {
 public:
  explicit RestoreOnError(T* what) : what_(what) {
    if (what != nullptr) before_.emplace(*what);
  }
  ~RestoreOnError() {
    if (before_) *what_ = std::move(*before_);
  }
  RestoreOnError(const RestoreOnError&) = delete;
  RestoreOnError& operator=(const RestoreOnError&) = delete;

  void keep() { before_.reset(); }

 private:
  T* what_;
  std::optional<T> before_;
};

}  // namespace hearth::nn_detail
