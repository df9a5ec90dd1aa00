// Texts where the host has no memory left: they end, and those that read them get to know.
#include "sanitizers.h"

// Sanitizers have allocations of their own.
#if !HEARTH_KEEPS_FREED_MEMORY

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <new>
#include <span>
#include <utility>

#include "models/drafting/drafter.h"
#include "models/serving/text_runner.h"
#include "models/texts_alone.h"

namespace {

thread_local bool has_no_memory = false;  // this thread, from now on

}  // namespace

void* operator new(std::size_t size) {
  void* const memory = has_no_memory ? nullptr : std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace hearth::models {
namespace {

struct NoMemory {
  NoMemory() { has_no_memory = true; }
  ~NoMemory() { has_no_memory = false; }
};

// Takes all memory in the midst of its n-th call, until somebody gives it back.
class HungryDrafter final : public Drafter {
 public:
  explicit HungryDrafter(int call) : left_(call) {}
  void draft(std::span<Draft>) override {
    if (left_-- != 0) return;
    has_no_memory = true;
    throw std::bad_alloc();
  }
  void forget(std::int64_t) noexcept override {}

 private:
  int left_;
};

class HostMemory : public ::testing::Test {
 protected:
  std::unique_ptr<GenerationStream> add(TextRunner& runner, const GenerationRequest& request) {
    auto stream = std::make_unique<GenerationStream>();
    Texts one;
    one.push_back(
        std::make_unique<RunningText>(loaded_, runner.longest_text(), request, stream->channel()));
    const NoMemory none;
    runner.add(std::move(one));
    return stream;
  }
  static void expect_broken_off(GenerationStream& stream) {
    const Answer answer = read(stream);
    EXPECT_EQ(answer.last.finish, FinishReason::failed);
    EXPECT_EQ(answer.last.error_code, ErrorCode::out_of_memory);
    EXPECT_EQ(answer.last.error, "out of memory");
  }

  const LoadedModel loaded_ = loaded_golden("llama");
  const SchedulerOptions options_{.pages = 40, .page_size = 8, .parallel = 2};
};

TEST_F(HostMemory, AStepEndsTheTextsThatRun) {
  SchedulerOptions options = options_;
  options.drafts = 4;
  TextRunner runner(loaded_.model, options, std::make_unique<HungryDrafter>(3));
  const auto first = add(runner, request_of(loaded_, 1, 9, 30));
  const auto second = add(runner, request_of(loaded_, 2, 9, 30));
  const GenerationRequest waits = request_of(loaded_, 3, 9, 5);
  const auto third = add(runner, waits);
  while (!has_no_memory) runner.step();
  runner.flush();
  has_no_memory = false;
  expect_broken_off(*first);
  expect_broken_off(*second);
  EXPECT_EQ(runner.stats().faults, 1);
  for (int i = 0; i < 20 && !runner.is_idle(); ++i) runner.step();
  EXPECT_TRUE(runner.is_idle());
  runner.flush();
  EXPECT_EQ(read(*third).tokens, tokens_alone(loaded_, waits));
}

TEST_F(HostMemory, WhatCannotBeWrittenEndsItsText) {
  TextRunner runner(loaded_.model, options_);
  const auto stream = add(runner, request_of(loaded_, 1, 9, 30));
  runner.step();
  {
    const NoMemory none;
    runner.flush();
  }
  expect_broken_off(*stream);
  runner.step();
  EXPECT_TRUE(runner.is_idle());
}

TEST_F(HostMemory, AllEndWhereTheSchedulerGoes) {
  TextRunner runner(loaded_.model, options_);
  const auto runs = add(runner, request_of(loaded_, 1, 9, 30));
  runner.step();
  const auto waits = add(runner, request_of(loaded_, 2, 9, 30));
  {
    const NoMemory none;
    runner.end_all(FinishReason::cancelled);
    runner.flush();
  }
  expect_broken_off(*runs);
  expect_broken_off(*waits);
}

}  // namespace
}  // namespace hearth::models

#endif
