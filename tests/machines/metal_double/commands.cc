#include "machines/metal_double/commands.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <map>

#include "machines/metal_double/objc/foundation.h"
#include "machines/metal_double/order.h"
#include "machines/metal_double/state.h"

namespace hearth::metal::fake {
namespace {

enum Status : UInteger { kNew = 0, kCommitted = 2, kCompleted = 4, kFailed = 5 };
constexpr std::size_t kMaxUnderWay = 64;

// Above what a host has.
constexpr UInteger kFirstAddress = UInteger{1} << 52;
constexpr UInteger kApart = UInteger{1} << 20;

UInteger next_address(UInteger bytes) {
  static UInteger next = kFirstAddress;
  const std::lock_guard lock(state().mutex);
  const UInteger address = next;
  next += (bytes / kApart + 2) * kApart;
  return address;
}

std::map<UInteger, Buffer*>& addresses() {
  static auto* all = new std::map<UInteger, Buffer*>;
  return *all;
}

std::string hexadecimal(UInteger number) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "0x%lx", number);
  return text.data();
}

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

Buffer::Buffer(std::byte* at, UInteger bytes)
    : Object(class_named(kType)), memory(at), size(bytes), address(next_address(bytes)) {
  const std::lock_guard lock(state().mutex);
  addresses()[address] = this;
}

UInteger Buffer::gpu_address() {
  if (!state().is_metal3 || state().argument_buffers_tier < 1) {
    fault("gpuAddress of a buffer of a device without such addresses");
  }
  return address;
}

Buffer* Buffer::at(UInteger address) {
  const std::lock_guard lock(state().mutex);
  const auto after = addresses().upper_bound(address);
  return after == addresses().begin() ? nullptr : std::prev(after)->second;
}

void Buffer::dispose() {
  if (sets != 0) fault("a buffer is released while it is in a residency set");
  state().gpu->free(memory);
}

void ResidencySet::dispose() {
  if (is_attached) state().resident -= committed.size();
  for (Buffer* const each : buffers) --each->sets;
}

void ResidencySet::add(const Id* allocations, UInteger count) {
  const std::lock_guard lock(state().mutex);
  if (count == 0) fault("no allocations for a residency set");
  for (UInteger i = 0; i < count; ++i) {
    auto* const each = as<Buffer>(allocations[i]);
    if (each == nullptr) continue;
    if (!buffers.insert(each).second) {
      fault("a buffer is added to a residency set that has it");
    } else {
      ++each->sets;
    }
  }
  is_changed = true;
}

void ResidencySet::remove(const Id* allocations, UInteger count) {
  const std::lock_guard lock(state().mutex);
  if (count == 0) fault("no allocations for a residency set");
  for (UInteger i = 0; i < count; ++i) {
    auto* const each = as<Buffer>(allocations[i]);
    if (each == nullptr) continue;
    if (buffers.erase(each) == 0) {
      fault("a buffer is removed from a residency set that does not have it");
    } else {
      --each->sets;
    }
  }
  is_changed = true;
}

void ResidencySet::commit() {
  const std::lock_guard lock(state().mutex);
  if (!is_changed) fault("a residency set is committed that has not changed");
  if (is_attached) state().resident += buffers.size() - committed.size();
  committed = buffers;
  is_changed = false;
}

CommandBuffer::CommandBuffer(Queue& of)
    : Object(class_named(kType)), queue(&of), is_captured(state().is_capturing) {
  retain(queue);
}

void CommandBuffer::dispose() {
  if (open != nullptr) fault("a command buffer is released while it is encoded");
  for (const Id object : held) release(object);
  held.clear();
  release(queue);
}

Id CommandBuffer::new_encoder(UInteger dispatch_type) {
  const std::lock_guard lock(state().mutex);
  if (progress != kNew) fault("an encoder of a command buffer that was committed");
  if (open != nullptr) fault("a second encoder while the first is open");
  if (!steps.empty()) steps.push_back(Step::barrier());
  open = new Encoder(*this, dispatch_type == 1);
  return autorelease(open);
}

void CommandBuffer::hold(Id object) {
  retain(object);
  held.push_back(object);
}

void CommandBuffer::commit() {
  const std::lock_guard lock(state().mutex);
  if (open != nullptr) fault("commit before the end of encoding");
  if (progress != kNew) return fault("a command buffer is committed twice");
  for (const ResidencySet* const set : queue->sets) {
    if (set->is_changed) fault("a command buffer is committed before a residency set of its queue");
  }
  if (is_captured != state().is_capturing) {
    fault("a command buffer is begun or committed outside of its capture");
  }
  for (const Step& step : steps) {
    if (is_captured && !step.is_barrier) state().captured.push_back(step.launch.kernel->name);
  }
  progress = kCommitted;
  retain(this);
  queue->committed.push_back(this);
  if (state().runs_at_once) queue->finish(this);
}

void CommandBuffer::wait() {
  const std::lock_guard lock(state().mutex);
  if (progress == kNew) return fault("somebody waits for a command buffer that is not committed");
  if (progress == kCommitted) queue->finish(this);
}

Id CommandBuffer::error_object() {
  return progress == kFailed ? autorelease(new ErrorObject(error)) : nullptr;
}

bool CommandBuffer::follow_pointers(Step& step) const {
  const GpuKernel& kernel = *step.launch.kernel;
  for (const GpuKernel::Pointer& pointer : kernel.pointers) {
    UInteger address = 0;
    std::memcpy(&address, step.launch.arguments[pointer.buffer].memory + pointer.offset,
                sizeof address);
    GpuLaunch::Argument& reached = step.launch.reached.emplace_back();
    if (address == 0) continue;
    const std::string what = kernel.name + ": " + pointer.name;
    const Buffer* const found = address < kFirstAddress ? nullptr : Buffer::at(address);
    if (found == nullptr) {
      fault(what + " is no gpuAddress; got " + hexadecimal(address));
      return false;
    }
    if (found->is_released) {
      fault(what + " points to a released buffer");
      return false;
    }
    const UInteger offset = address - found->address;
    if (offset >= found->size) {
      fault(what + " points beyond its buffer; got byte " + std::to_string(offset) + " of " +
            std::to_string(found->size));
      return false;
    }
    UInteger usage = 0;  // what was said last counts
    for (std::size_t i = 0; i < step.told_before; ++i) {
      if ((*step.told)[i].buffer == found) usage = (*step.told)[i].usage;
    }
    if (usage == 0) {
      const bool is_resident =
          std::any_of(queue->sets.begin(), queue->sets.end(), [&](const ResidencySet* set) {
            return set->committed.contains(const_cast<Buffer*>(found));
          });
      fault(what + (is_resident ? " points to a buffer that is resident, and that nobody orders: "
                                  "useResource was not sent"
                                : " points to a buffer that is not resident"));
      return false;
    }
    if (pointer.writes && (usage & 2) == 0) {
      fault(what + " points to a buffer that is used for reading");
      return false;
    }
    step.buffers.push_back(found);
    reached = {found->memory + offset, static_cast<std::int64_t>(found->size - offset), false};
  }
  return true;
}

void CommandBuffer::run() {
  start = now();
  std::erase_if(steps, [&](Step& step) { return !step.is_barrier && !follow_pointers(step); });
  double told = 0;
  const auto before = waits(steps);
  std::vector<std::vector<Touched>> touched(steps.size());
  for (const std::size_t i : latest_first(steps, before)) {
    state().ran.push_back(steps[i].launch.kernel->name);
    for (const auto& [part, seconds] : state().seconds) {
      if (state().ran.back().find(part) != std::string::npos) told += seconds;
    }
    if (steps[i].graph) {
      steps[i].graph(touched[i]);
      continue;
    }
    const std::string wrong = state().gpu->run(steps[i].launch, touched[i]);
    if (error.empty()) error = wrong;
  }
  const std::string hazard = find_hazard(steps, before, touched);
  if (!hazard.empty()) fault(hazard);
  end = told > 0 ? start + told : std::max(now(), start + 1e-9);
  progress = error.empty() ? kCompleted : kFailed;
  for (const Id object : held) release(object);
  held.clear();
  steps.clear();
}

Id Queue::command_buffer() {
  const std::lock_guard lock(state().mutex);
  if (committed.size() >= kMaxUnderWay) finish(committed.front());
  return autorelease(new CommandBuffer(*this));
}

void Queue::dispose() {
  finish(nullptr);
  for (ResidencySet* const set : sets) release(set);
  sets.clear();
}

void Queue::add_set(Id given) {
  const std::lock_guard lock(state().mutex);
  auto* const set = as<ResidencySet>(given);
  if (set == nullptr) return;
  if (std::find(sets.begin(), sets.end(), set) != sets.end()) {
    return fault("a queue gets a residency set that it has");
  }
  if (sets.size() == 32) return fault("a queue of more than 32 residency sets");
  if (!set->is_attached) state().resident += set->committed.size();
  set->is_attached = true;
  retain(set);
  sets.push_back(set);
}

void Queue::finish(const CommandBuffer* last) {
  while (!committed.empty()) {
    CommandBuffer* const next = committed.front();
    committed.pop_front();
    next->run();
    const bool was_last = next == last;
    release(next);
    if (was_last) return;
  }
}

void Encoder::dispose() {
  if (!is_ended) fault("an encoder is released before the end of encoding");
  for (Bound& each : table) release(each.buffer);
  release(pipeline);
  release(buffer);
}

bool Encoder::may_encode(const char* what) {
  if (is_ended) fault(std::string(what) + " after the end of encoding");
  return !is_ended;
}

void Encoder::set_pipeline(Id value) {
  if (!may_encode("a pipeline is set")) return;
  auto* const given = as<Pipeline>(value);
  if (given == nullptr) return;
  retain(given);
  release(pipeline);
  pipeline = given;
}

void Encoder::set_buffer(Id value, UInteger offset, UInteger index) {
  if (!may_encode("a buffer is set")) return;
  auto* const given = as<Buffer>(value);
  if (given == nullptr) return;
  if (index >= kTable) return fault("no such index of a buffer; got " + std::to_string(index));
  if (offset >= given->size) {
    fault("an offset beyond the buffer; got " + std::to_string(offset) + " of " +
          std::to_string(given->size) + " bytes");
    return;
  }
  retain(given);
  release(table[index].buffer);
  table[index] = {true, given, offset, {}};
}

void Encoder::set_bytes(const void* bytes, UInteger length, UInteger index) {
  if (!may_encode("bytes are set")) return;
  if (index >= kTable) return fault("no such index of a buffer; got " + std::to_string(index));
  if (length == 0 || length > 4096) {
    return fault("bytes for a buffer of 1 to 4096; got " + std::to_string(length));
  }
  const auto* const from = static_cast<const std::byte*>(bytes);
  release(table[index].buffer);
  table[index] = {true, nullptr, 0, {from, from + length}};
}

void Encoder::set_threadgroup_memory(UInteger length, UInteger index) {
  if (!may_encode("threadgroup memory is set")) return;
  if (index >= kTable || length % 16 != 0) {
    return fault("threadgroup memory is not in whole 16 bytes; got " + std::to_string(length));
  }
  threadgroup[index] = length;
}

void Encoder::dispatch_groups(Size groups, Size threads) {
  dispatch(
      groups, threads,
      {groups.width * threads.width, groups.height * threads.height, groups.depth * threads.depth});
}

void Encoder::dispatch_threads(Size grid, Size threads) {
  const auto divide = [](UInteger all, UInteger each) {
    return each == 0 ? 0 : (all + each - 1) / each;
  };
  dispatch({divide(grid.width, threads.width), divide(grid.height, threads.height),
            divide(grid.depth, threads.depth)},
           threads, grid);
}

void Encoder::check_sizes(const Pipeline& with, Size groups, Size threads) {
  const std::string& name = with.kernel->name;
  const UInteger count = threads.width * threads.height * threads.depth;
  if (groups.width * groups.height * groups.depth == 0 || count == 0) {
    fault(name + ": a grid of nothing");
  }
  if (count > with.max_threads) {
    fault(name + ": too many threads in a threadgroup; got " + std::to_string(count) + " of " +
          std::to_string(with.max_threads));
  }
  if (with.whole_simdgroups && count % 32 != 0) {
    fault(name + ": threads are no multiple of 32; got " + std::to_string(count));
  }
  UInteger memory = with.static_memory;
  for (const UInteger each : threadgroup) memory += each;
  if (memory > 32 * 1024) {
    fault(name + ": too much threadgroup memory; got " + std::to_string(memory) + " bytes");
  }
}

bool Encoder::bind(const GpuKernel& kernel, Step& step) {
  for (const GpuKernel::Buffer& wanted : kernel.buffers) {
    const bool known = wanted.index < kTable && table[wanted.index].is_there;
    if (!known) {
      fault(kernel.name + ": buffer " + std::to_string(wanted.index) + " (" + wanted.name +
            ") is not bound");
      return false;
    }
    const Bound& bound = table[wanted.index];
    const UInteger bytes =
        bound.buffer == nullptr ? bound.constant.size() : bound.buffer->size - bound.offset;
    if (static_cast<std::int64_t>(bytes) < wanted.bytes) {
      fault(kernel.name + ": buffer " + std::to_string(wanted.index) + " (" + wanted.name +
            ") is too short; got " + std::to_string(bytes) + " of " + std::to_string(wanted.bytes) +
            " bytes");
      return false;
    }
    GpuLaunch::Argument& argument = step.launch.arguments.emplace_back();
    if (bound.buffer == nullptr) {
      step.constants.push_back(bound.constant);
      argument = {step.constants.back().data(), static_cast<std::int64_t>(bound.constant.size()),
                  true};
    } else {
      buffer->hold(bound.buffer);
      step.buffers.push_back(bound.buffer);
      argument = {bound.buffer->memory + bound.offset,
                  static_cast<std::int64_t>(bound.buffer->size - bound.offset), false};
    }
  }
  return true;
}

void Encoder::dispatch(Size groups, Size threads, Size grid) {
  const std::lock_guard lock(state().mutex);
  if (!may_encode("a dispatch")) return;
  if (pipeline == nullptr) return fault("a dispatch without a pipeline");
  const std::size_t faults = state().faults.size();
  check_sizes(*pipeline, groups, threads);
  Step step;
  step.launch.kernel = pipeline->kernel;
  step.constants.reserve(pipeline->kernel->buffers.size());
  if (!bind(*pipeline->kernel, step)) return;
  for (const UInteger index : pipeline->kernel->threadgroup) {
    step.launch.threadgroup.push_back(static_cast<std::int64_t>(threadgroup[index]));
  }
  if (state().faults.size() != faults) return;
  step.launch.groups = groups;
  step.launch.threads = threads;
  step.launch.grid = grid;
  step.told = told;
  step.told_before = told->size();
  buffer->hold(pipeline);
  if (!is_concurrent && !buffer->steps.empty()) buffer->steps.push_back(Step::barrier());
  buffer->steps.push_back(std::move(step));
}

void Encoder::use_resources(const Id* resources, UInteger count, UInteger usage) {
  if (!may_encode("resources are used")) return;
  if (count == 0) return fault("no resources are used");
  if (usage == 0 || usage > 3) fault("resources are neither read nor written");
  for (UInteger i = 0; i < count; ++i) {
    const auto* const each = as<Buffer>(resources[i]);
    if (each != nullptr) told->push_back({each, usage});
  }
}

void Encoder::barrier_scope(UInteger scope) {
  if (!may_encode("a barrier")) return;
  if (scope != 1) return fault("a barrier that is not for buffers; got " + std::to_string(scope));
  buffer->steps.push_back(Step::barrier());
}

void Encoder::barrier_resources(const Id* resources, UInteger count) {
  if (!may_encode("a barrier")) return;
  if (count == 0) return fault("a barrier for no resources");
  Step step = Step::barrier();
  for (UInteger i = 0; i < count; ++i) {
    const auto* const each = as<Buffer>(resources[i]);
    if (each != nullptr) step.buffers.push_back(each);
  }
  if (!step.buffers.empty()) buffer->steps.push_back(std::move(step));
}

void Encoder::end_encoding() {
  if (!may_encode("the end of encoding")) return;
  is_ended = true;
  buffer->open = nullptr;
}

void define_commands() {
  define<messages::contents, &Buffer::contents>();
  define<messages::length, &Buffer::length>();
  define<messages::gpu_address, &Buffer::gpu_address>();
  define<messages::new_residency_descriptor, &ResidencyDescriptor::make>();
  define<messages::add_allocations, &ResidencySet::add>();
  define<messages::remove_allocations, &ResidencySet::remove>();
  define<messages::commit_residency, &ResidencySet::commit>();
  define<messages::add_residency_set, &Queue::add_set>();
  define<messages::command_buffer, &Queue::command_buffer>();
  define<messages::compute_encoder, &CommandBuffer::new_encoder>();
  define<messages::commit, &CommandBuffer::commit>();
  define<messages::wait_until_completed, &CommandBuffer::wait>();
  define<messages::status, &CommandBuffer::status>();
  define<messages::error, &CommandBuffer::error_object>();
  define<messages::gpu_start_time, &CommandBuffer::start_time>();
  define<messages::gpu_end_time, &CommandBuffer::end_time>();
  define<messages::set_pipeline, &Encoder::set_pipeline>();
  define<messages::set_buffer, &Encoder::set_buffer>();
  define<messages::set_bytes, &Encoder::set_bytes>();
  define<messages::set_threadgroup_memory, &Encoder::set_threadgroup_memory>();
  define<messages::dispatch_groups, &Encoder::dispatch_groups>();
  define<messages::dispatch_threads, &Encoder::dispatch_threads>();
  define<messages::use_resources, &Encoder::use_resources>();
  define<messages::barrier_scope, &Encoder::barrier_scope>();
  define<messages::barrier_resources, &Encoder::barrier_resources>();
  define<messages::end_encoding, &Encoder::end_encoding>();
}

}  // namespace hearth::metal::fake
