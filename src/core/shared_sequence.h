// A sequence that grows at its end, whose copies share what they have in common.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace hearth {

// A copy costs nothing, and so does an element behind the longest of copies; one behind a shorter
// copy costs the elements before it, once. Copies are not for several threads at once.
template <class T>
class SharedSequence {
 public:
  SharedSequence() : items_(std::make_shared<std::vector<T>>()) {}
  SharedSequence(const SharedSequence& other) { *this = other; }
  SharedSequence& operator=(const SharedSequence& other) {
    if (this == &other) return *this;
    // What nobody sees any more would stand in the way of the copy.
    if (other.items_.use_count() == 1) other.items_->resize(other.size_);
    items_ = other.items_;
    size_ = other.size_;
    return *this;
  }

  std::size_t size() const noexcept { return size_; }
  // Holds until this or a copy of it grows.
  std::span<const T> view() const noexcept { return {items_->data(), size_}; }

  void push_back(T item) {
    own();
    items_->push_back(std::move(item));
    ++size_;
  }
  void append(std::span<const T> items) {
    own();
    items_->insert(items_->end(), items.begin(), items.end());
    size_ += items.size();
  }

 private:
  // Leaves nothing behind the last element.
  void own() {
    if (items_->size() == size_) return;
    if (items_.use_count() == 1) return items_->resize(size_);
    const std::span<const T> own_items = view();
    items_ = std::make_shared<std::vector<T>>(own_items.begin(), own_items.end());
  }

  std::shared_ptr<std::vector<T>> items_;
  std::size_t size_ = 0;
};

}  // namespace hearth
