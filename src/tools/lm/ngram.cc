#include "tools/lm/ngram.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

namespace hearth::tools {
namespace {

constexpr std::size_t kFirstSlots = 1024;  // a power of two

// The last `count` bytes of a history, most recent lowest.
std::uint64_t last_bytes(std::uint64_t history, int count) noexcept {
  return history & ((std::uint64_t{1} << (8 * count)) - 1);
}

}  // namespace

template <class T>
std::size_t NgramModel::ByteMap<T>::slot_of(std::uint64_t key) const noexcept {
  const std::size_t mask = slots_.size() - 1;
  std::uint64_t hash = key * 0x9e3779b97f4a7c15u;
  hash ^= hash >> 32;
  std::size_t at = static_cast<std::size_t>(hash) & mask;
  while (slots_[at].tag != 0 && slots_[at].tag != key + 1) at = (at + 1) & mask;
  return at;
}

template <class T>
T& NgramModel::ByteMap<T>::operator[](std::uint64_t key) {
  if (used_ * 2 >= slots_.size()) grow();
  Slot& slot = slots_[slot_of(key)];
  if (slot.tag == 0) {
    slot.tag = key + 1;
    ++used_;
  }
  return slot.value;
}

template <class T>
const T* NgramModel::ByteMap<T>::find(std::uint64_t key) const noexcept {
  if (slots_.empty()) return nullptr;
  const Slot& slot = slots_[slot_of(key)];
  return slot.tag == 0 ? nullptr : &slot.value;
}

template <class T>
template <class Visit>
void NgramModel::ByteMap<T>::for_each(Visit&& visit) const {
  for (const Slot& slot : slots_) {
    if (slot.tag != 0) visit(slot.tag - 1, slot.value);
  }
}

template <class T>
void NgramModel::ByteMap<T>::grow() {
  std::vector<Slot> old(slots_.empty() ? kFirstSlots : slots_.size() * 2);
  old.swap(slots_);
  for (const Slot& slot : old) {
    if (slot.tag != 0) slots_[slot_of(slot.tag - 1)] = slot;
  }
}

NgramModel::NgramModel(std::span<const std::uint8_t> text, int max_order) {
  if (max_order < 1 || max_order > kMaxOrder) {
    throw Error(ErrorCode::invalid_argument, "ngram: order out of range; got " +
                                                 std::to_string(max_order) + ", expected 1 to " +
                                                 std::to_string(kMaxOrder));
  }
  orders_.resize(static_cast<std::size_t>(max_order));
  for (int order = 1; order <= max_order; ++order) {
    Order& level = orders_[static_cast<std::size_t>(order - 1)];
    std::uint64_t history = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
      history = history << 8 | text[i];
      if (i + 1 >= static_cast<std::size_t>(order)) ++level.ngrams[last_bytes(history, order)];
    }
    level.ngrams.for_each([&](std::uint64_t ngram, std::uint64_t count) {
      Context& context = level.contexts[ngram >> 8];
      context.count += count;
      ++context.distinct;
    });
  }
}

void NgramModel::check_order(int order) const {
  if (order < 1 || order > max_order()) {
    throw Error(ErrorCode::invalid_argument, "ngram: order out of range; got " +
                                                 std::to_string(order) + ", expected 1 to " +
                                                 std::to_string(max_order()));
  }
}

double NgramModel::interpolate(std::uint64_t history, int known, std::uint8_t next,
                               int order) const noexcept {
  double p = 1.0 / 256.0;
  for (int context_bytes = 0; context_bytes < order && context_bytes <= known; ++context_bytes) {
    const Order& level = orders_[static_cast<std::size_t>(context_bytes)];
    const std::uint64_t key = last_bytes(history, context_bytes);
    const Context* context = level.contexts.find(key);
    if (context == nullptr) break;  // then no longer one was seen either
    const std::uint64_t* count = level.ngrams.find(key << 8 | next);
    const auto distinct = static_cast<double>(context->distinct);
    p = ((count == nullptr ? 0.0 : static_cast<double>(*count)) + distinct * p) /
        (static_cast<double>(context->count) + distinct);
  }
  return p;
}

double NgramModel::probability(std::span<const std::uint8_t> context, std::uint8_t next,
                               int order) const {
  check_order(order);
  const std::size_t known = std::min(context.size(), static_cast<std::size_t>(order - 1));
  std::uint64_t history = 0;
  for (const std::uint8_t byte : context.last(known)) history = history << 8 | byte;
  return interpolate(history, static_cast<int>(known), next, order);
}

double NgramModel::nats_per_byte(std::span<const std::uint8_t> text, int order) const {
  check_order(order);
  double sum = 0.0;
  std::uint64_t history = 0;
  int known = 0;
  for (const std::uint8_t byte : text) {
    sum -= std::log(interpolate(history, known, byte, order));
    history = history << 8 | byte;
    known = std::min(known + 1, kMaxOrder);
  }
  return text.empty() ? 0.0 : sum / static_cast<double>(text.size());
}

}  // namespace hearth::tools
