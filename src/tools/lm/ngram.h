// Byte n-gram language models: the baselines that a trained model is measured against.
//
// Witten-Bell interpolation: with T(h) the number of distinct bytes seen after the context h,
//   p(c | h) = (count(h, c) + T(h) * p(c | h')) / (count(h) + T(h)),
// where h' is h without its oldest byte and p below the empty context is 1/256. A context never
// seen leaves the shorter one's estimate as it is. (Witten and Bell, IEEE Transactions on
// Information Theory 37(4), 1991, method C.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "hearth/error.h"

namespace hearth::tools {

class NgramModel {
 public:
  static constexpr int kMaxOrder = 7;

  // Counts all n-grams of up to `max_order` bytes: order 3 looks at two bytes of context. Throws
  // Error{invalid_argument} when max_order is not in 1..kMaxOrder.
  NgramModel(std::span<const std::uint8_t> text, int max_order);

  int max_order() const noexcept { return static_cast<int>(orders_.size()); }

  // p(next | the last bytes of `context`), by n-grams of up to `order` bytes; a context shorter
  // than order - 1 is used whole. Throws Error{invalid_argument} when order is not in 1..max_order.
  double probability(std::span<const std::uint8_t> context, std::uint8_t next, int order) const;

  // Mean of -ln p over `text`, the first bytes with what context there is; 0 for an empty text.
  double nats_per_byte(std::span<const std::uint8_t> text, int order) const;

 private:
  // A map from up to 7 bytes to T, by linear probing. Values are never erased.
  template <class T>
  class ByteMap {
   public:
    T& operator[](std::uint64_t key);
    const T* find(std::uint64_t key) const noexcept;
    template <class Visit>
    void for_each(Visit&& visit) const;

   private:
    struct Slot {
      std::uint64_t tag = 0;  // key + 1; 0 is free
      T value{};
    };
    std::size_t slot_of(std::uint64_t key) const noexcept;
    void grow();

    std::vector<Slot> slots_;
    std::size_t used_ = 0;
  };

  struct Context {
    std::uint64_t count = 0;
    std::uint64_t distinct = 0;
  };
  struct Order {
    ByteMap<std::uint64_t> ngrams;  // context and next byte: how often
    ByteMap<Context> contexts;
  };

  void check_order(int order) const;
  double interpolate(std::uint64_t history, int known, std::uint8_t next, int order) const noexcept;

  std::vector<Order> orders_;  // orders_[k] holds n-grams of k + 1 bytes
};

}  // namespace hearth::tools
