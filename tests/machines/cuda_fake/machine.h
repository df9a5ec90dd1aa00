// The state behind the fake driver library.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "machines/cuda_fake/fake_cuda.h"

namespace hearth::cuda::fake {

struct FakeFunction {
  std::string name;
  std::vector<int> argument_bytes;
  unsigned dynamic_bytes = 0;  // that a launch may ask for beyond 48 KB
};

struct FakeModule {
  std::string kernel;
  std::vector<int> argument_bytes;
  bool is_machine_code = false;
  std::map<std::string, FakeFunction> functions;  // that were asked for
};

struct FakeEvent {
  std::int64_t after = 0;  // operations that were queued before it
};

// A kernel, something that a library queued, or a graph within the graph.
struct FakeNode {
  FakeFunction* function = nullptr;
  KernelRun run;
  std::vector<std::size_t> after;
  std::function<Result()> operation;
  std::vector<FakeNode> child;
  int more_milliseconds = 0;  // than the one that everything takes
};

struct FakeGraph {
  std::deque<FakeNode> nodes;  // a handle is an address
};

struct FakeStream {
  ContextHandle owner = nullptr;
  FakeGraph* recording = nullptr;
};

struct FakeExec {
  FakeGraph* graph = nullptr;
  std::vector<FakeNode> nodes;
};

class Machine final : public FakeCuda {
 public:
  static Machine& instance();

  std::byte* at(DevicePointer address, std::size_t bytes) override;
  int live() const override;
  int queued() const override { return static_cast<int>(operations_.size()); }
  void reset() override;

  // What a call begins with: its forced failure, the fault that ended the context, or a missing
  // context. Success: go on.
  Result begin(const char* name, bool needs_context = true);

  DevicePointer allocate(std::size_t bytes);
  // Notes memory that was allocated under another context than the current one.
  std::byte* own(DevicePointer address, std::size_t bytes);
  bool release(DevicePointer address);
  std::size_t used() const;

  void* pin(std::size_t bytes);
  bool unpin(void* memory);
  bool is_pinned(const void* memory, std::size_t bytes) const;

  void queue(std::function<Result()> operation);
  // Time passes without work.
  void queue_pause(int milliseconds);
  // Queues the work of a kernel or a library, or records it where the stream is recorded. False for
  // what is no stream.
  bool add_work(Stream stream, FakeNode work);
  // Runs the first `count` operations ever queued, as far as they have not run. The fault if any.
  Result run_until(std::int64_t count);
  std::int64_t queued_ever() const { return run_ + static_cast<std::int64_t>(operations_.size()); }

  Result run_kernel(FakeFunction* function, const KernelRun& run);
  Result run_node(const FakeNode& node);
  Result run_graph(const std::vector<FakeNode>& nodes);
  // False where a handle of a kernel or a graph is none.
  bool describe_launch(const KernelNodeParameters& node, KernelRun& run) const;

  template <class T>
  T* make() {
    T* made = new T;
    handles_[made] = [made] { delete made; };
    return made;
  }
  bool is_live(const void* handle) const { return handles_.contains(handle); }
  bool destroy(const void* handle) {
    const auto found = handles_.find(handle);
    if (found == handles_.end()) return false;
    found->second();
    handles_.erase(found);
    return true;
  }

  std::recursive_mutex mutex;
  std::map<const void*, FakeFunction*> live_functions;
  int retained = 0;
  static thread_local std::vector<ContextHandle> current;

 private:
  Result fault_ = Result::success;
  std::map<DevicePointer, std::vector<std::byte>> blocks_;
  std::map<DevicePointer, ContextHandle> owners_;  // of blocks, while there are any
  DevicePointer next_address_ = kFirstAddress;
  std::map<const std::byte*, std::vector<std::byte>> pinned_;
  std::map<const void*, std::function<void()>> handles_;  // how each is deleted
  std::deque<std::function<Result()>> operations_;
  std::int64_t run_ = 0;
  int kernels_run_ = 0;

  // No address of the host: touching it faults.
  static constexpr DevicePointer kFirstAddress = 0x7700000000000000ull;
  static constexpr DevicePointer kGap = DevicePointer{1} << 20;
};

}  // namespace hearth::cuda::fake
