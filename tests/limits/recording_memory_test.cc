// Recording without memory: an op that has no room throws, and the tape is as it was, for the
// thread that records and for those that read its values.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <new>
#include <thread>
#include <vector>

#include "hearth/ops.h"

namespace {

// Allocations of this thread until one fails; below 0: none does.
thread_local std::int64_t t_left = -1;

void* allocated(std::size_t bytes, std::size_t alignment) {
  if (t_left >= 0 && t_left-- == 0) throw std::bad_alloc();
  const std::size_t whole = (bytes + alignment - 1) / alignment * alignment;
  void* const memory = std::aligned_alloc(alignment, whole);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t bytes) { return allocated(bytes, __STDCPP_DEFAULT_NEW_ALIGNMENT__); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocated(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace hearth::testing {
namespace {

constexpr int kAdditions = 400;

// Adds up new externals, so that all parts of the tape grow, with one allocation that fails, unless
// there are fewer than `left` of them. What threw is recorded again; another thread then reads.
bool fails_once(std::int64_t left) {
  std::vector<Array> terms;
  for (int i = 0; i < kAdditions; ++i) terms.push_back(full({2}, static_cast<double>(i)).eval());
  Array sums = zeros({2}).eval(), products = ones({2}).eval();
  bool has_failed = false;
  t_left = left;
  for (std::size_t i = 0; i < terms.size();) {
    try {
      const Array next = add(sums, terms[i]);
      const auto [largest, place] = max_with_indices(next, 0);
      products = mul(products, add(largest, mul(cast(place, DType::f32), 0.0)));
      sums = next;
      ++i;
    } catch (const std::bad_alloc&) {
      EXPECT_FALSE(has_failed) << "more than one";
      has_failed = true;
    }
  }
  t_left = -1;
  double sum = 0;
  std::thread([&] { sum = hearth::sum(sums).item(); }).join();
  EXPECT_EQ(sum, kAdditions * (kAdditions - 1));
  EXPECT_EQ(products.to_vector<float>(), std::vector<float>(2, 0));
  return has_failed;
}

// Each on a thread of its own, within the thread of the last one, so that its tape is new.
int failures_from(std::int64_t left) {
  if (left == 80) return 0;
  int count = 0;
  std::thread([&] { count = (fails_once(left) ? 1 : 0) + failures_from(left + 1); }).join();
  return count;
}

TEST(RecordingMemory, AnOpWithoutRoomLeavesTheTapeAsItWas) { EXPECT_GT(failures_from(0), 20); }

}  // namespace
}  // namespace hearth::testing
