#include "machines/cuda_fake/machine.h"

#include <algorithm>

namespace hearth::cuda::fake {

thread_local std::vector<ContextHandle> Machine::current;

Machine& Machine::instance() {
  static auto* machine = new Machine;
  return *machine;
}

void Machine::reset() {
  const std::lock_guard lock(mutex);
  cards = 1;
  major = 9;
  minor = 0;
  driver_version = 13000;
  memory = std::size_t{256} << 20;
  runs_at_once = false;
  kernels_wait = true;
  fail.clear();
  illegal_at_kernel = 0;
  algorithms = 4;
  algorithms_run.clear();
  kernel = nullptr;
  more_milliseconds = nullptr;
  calls.clear();
  runs.clear();
  misuse.clear();
  fault_ = Result::success;
  blocks_.clear();
  owners_.clear();
  pinned_.clear();
  // What a lost card leaves behind.
  for (const auto& [handle, remove] : handles_) remove();
  handles_.clear();
  live_functions.clear();
  operations_.clear();
  run_ = 0;
  kernels_run_ = 0;
  retained = 0;
  current.clear();
}

Result Machine::begin(const char* name, bool needs_context) {
  ++calls[name];
  if (const auto forced = fail.find(name); forced != fail.end()) {
    const Result result = forced->second;
    fail.erase(forced);
    if (result >= Result::illegal_address && result < Result::graph_exec_update_failure) {
      fault_ = result;
    }
    return result;
  }
  if (fault_ != Result::success) return fault_;
  if (needs_context && current.empty()) {
    misuse.push_back(std::string(name) + " without a context");
    return Result::invalid_context;
  }
  return Result::success;
}

std::byte* Machine::at(DevicePointer address, std::size_t bytes) {
  auto block = blocks_.upper_bound(address);
  if (block == blocks_.begin()) return nullptr;
  --block;
  const DevicePointer offset = address - block->first;
  if (offset > block->second.size() || bytes > block->second.size() - offset) return nullptr;
  return block->second.data() + offset;
}

int Machine::live() const {
  return static_cast<int>(blocks_.size() + pinned_.size() + handles_.size()) + retained;
}

std::size_t Machine::used() const {
  std::size_t bytes = 0;
  for (const auto& [address, block] : blocks_) bytes += block.size();
  return bytes;
}

DevicePointer Machine::allocate(std::size_t bytes) {
  if (bytes > memory - used()) return 0;
  const DevicePointer address = next_address_;
  blocks_[address].resize(bytes, std::byte{0xcd});
  owners_[address] = current.back();
  next_address_ += (bytes + 2 * kGap) / kGap * kGap;
  return address;
}

std::byte* Machine::own(DevicePointer address, std::size_t bytes) {
  auto block = blocks_.upper_bound(address);
  if (block != blocks_.begin() && owners_[(--block)->first] != current.back()) {
    misuse.emplace_back("memory of another card");
    return nullptr;
  }
  return at(address, bytes);
}

bool Machine::release(DevicePointer address) {
  if (blocks_.contains(address)) own(address, 0);
  if (!operations_.empty()) misuse.emplace_back("memory freed beside queued work");
  return blocks_.erase(address) == 1;
}

void* Machine::pin(std::size_t bytes) {
  std::vector<std::byte> block(bytes, std::byte{0xab});
  std::byte* address = block.data();
  pinned_.emplace(address, std::move(block));
  return address;
}

bool Machine::unpin(void* pinned) {
  if (!operations_.empty()) misuse.emplace_back("pinned memory freed beside queued work");
  return pinned_.erase(static_cast<const std::byte*>(pinned)) == 1;
}

bool Machine::is_pinned(const void* pointer, std::size_t bytes) const {
  const auto* first = static_cast<const std::byte*>(pointer);
  return std::any_of(pinned_.begin(), pinned_.end(), [&](const auto& block) {
    return first >= block.first && first + bytes <= block.first + block.second.size();
  });
}

void Machine::queue(std::function<Result()> operation) {
  operations_.push_back(std::move(operation));
}

Result Machine::run_until(std::int64_t count) {
  while (run_ < count && !operations_.empty()) {
    const auto operation = std::move(operations_.front());
    operations_.pop_front();
    ++run_;
    if (const Result result = operation(); result != Result::success) {
      fault_ = result;
      operations_.clear();
    }
  }
  return fault_;
}

Result Machine::run_kernel(FakeFunction* function, const KernelRun& run) {
  if (!live_functions.contains(function)) {
    misuse.push_back("kernel " + run.name + " runs after its module was unloaded");
    return Result::illegal_address;
  }
  runs.push_back(run);
  if (++kernels_run_ == illegal_at_kernel) return Result::illegal_address;
  if (kernel) kernel(run);
  return Result::success;
}

void Machine::queue_pause(int milliseconds) {
  while (milliseconds-- > 0) queue([] { return Result::success; });
}

bool Machine::add_work(Stream stream, FakeNode work) {
  if (!is_live(reinterpret_cast<const void*>(stream))) return false;
  FakeGraph* const recording = reinterpret_cast<FakeStream*>(stream)->recording;
  if (recording == nullptr) {
    queue_pause(work.more_milliseconds);
    queue([this, work] { return run_node(work); });
    return true;
  }
  if (!recording->nodes.empty()) work.after.push_back(recording->nodes.size() - 1);
  recording->nodes.push_back(std::move(work));
  return true;
}

Result Machine::run_node(const FakeNode& node) {
  if (!node.child.empty()) return run_graph(node.child);
  return node.operation ? node.operation() : run_kernel(node.function, node.run);
}

Result Machine::run_graph(const std::vector<FakeNode>& nodes) {
  std::vector<bool> done(nodes.size());
  for (std::size_t left = nodes.size(); left > 0; --left) {
    // The last that may run: whoever forgot an edge sees it.
    for (std::size_t i = nodes.size(); i-- > 0;) {
      const FakeNode& node = nodes[i];
      if (done[i] || !std::all_of(node.after.begin(), node.after.end(),
                                  [&](std::size_t before) { return done[before]; })) {
        continue;
      }
      if (const Result result = run_node(node); result != Result::success) return result;
      done[i] = true;
      break;
    }
  }
  return Result::success;
}

bool Machine::describe_launch(const KernelNodeParameters& node, KernelRun& run) const {
  const auto found = live_functions.find(node.function);
  if (found == live_functions.end()) return false;
  const FakeFunction& function = *found->second;
  const unsigned allowed = std::max(function.dynamic_bytes, 49152u);
  if (node.shared_memory_bytes > allowed) return false;
  run.shared_bytes = node.shared_memory_bytes;
  run.name = function.name;
  const unsigned groups[3] = {node.grid_x, node.grid_y, node.grid_z};
  const unsigned threads[3] = {node.block_x, node.block_y, node.block_z};
  for (int i = 0; i < 3; ++i) {
    if (groups[i] == 0 || threads[i] == 0) return false;
    run.groups[i] = groups[i];
    run.threads[i] = threads[i];
  }
  if (std::uint64_t{threads[0]} * threads[1] * threads[2] > 1024) return false;
  const std::vector<int>& sizes = function.argument_bytes;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto* value = static_cast<const std::byte*>(node.parameters[i]);
    run.arguments.emplace_back(value, value + sizes[i]);
  }
  return true;
}

}  // namespace hearth::cuda::fake
