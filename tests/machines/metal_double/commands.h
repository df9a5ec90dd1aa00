// Buffers, queues, command buffers and encoders of the Metal double.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "machines/metal_double/libraries.h"
#include "machines/metal_double/metal_double.h"
#include "machines/metal_double/objc/object.h"

namespace hearth::metal::fake {

struct Buffer final : Object {
  static constexpr const char* kType = "MTLBuffer";
  Buffer(std::byte* at, UInteger bytes);
  void dispose() override;
  void* contents() { return memory; }
  UInteger length() { return size; }
  UInteger gpu_address();
  // The buffer at an address of a GPU, or the last before it, alive or not; null where there is
  // none.
  static Buffer* at(UInteger address);

  std::byte* memory;
  UInteger size;
  UInteger address;  // as the GPU sees it: no address of the host, and no other buffer's ever
  int sets = 0;      // residency sets that it is in
};

struct ResidencyDescriptor final : Object {
  static constexpr const char* kType = "MTLResidencySetDescriptor";
  ResidencyDescriptor() : Object(class_named(kType)) {}
  static Id make() { return new ResidencyDescriptor; }
};

// Does not keep its buffers alive: who adds them has to.
struct ResidencySet final : Object {
  static constexpr const char* kType = "MTLResidencySet";
  ResidencySet() : Object(class_named(kType)) {}
  void dispose() override;
  void add(const Id* allocations, UInteger count);
  void remove(const Id* allocations, UInteger count);
  void commit();

  std::set<Buffer*> buffers;  // with what is not committed
  std::set<Buffer*> committed;
  bool is_changed = false;
  bool is_attached = false;
};

// A buffer that an encoder was told of, as MTLResourceUsage.
struct Told {
  const Buffer* buffer;
  UInteger usage;
};

// A command, or a barrier before the next ones.
struct Step {
  static Step barrier() {
    Step made;
    made.is_barrier = true;
    return made;
  }
  bool is_barrier = false;
  // Of a command.
  GpuLaunch launch;
  std::function<void(std::vector<Touched>&)>
      graph;                                      // what runs in place of the launch, if it is one
  std::vector<std::vector<std::byte>> constants;  // that launch.arguments point into
  // Whose memory a command may touch; what a barrier is for, or empty: all memory.
  std::vector<const Buffer*> buffers;
  // What its encoder was told, and how much of it before the command.
  std::shared_ptr<const std::vector<Told>> told;
  std::size_t told_before = 0;
};

// Of a queue, in the order of commit().
struct CommandBuffer final : Object {
  static constexpr const char* kType = "MTLCommandBuffer";
  explicit CommandBuffer(struct Queue& of);
  void dispose() override;
  Id new_encoder(UInteger dispatch_type);
  void commit();
  void wait();
  UInteger status() { return progress; }
  Id error_object();
  double start_time() { return start; }
  double end_time() { return end; }
  // Keeps an object until the work is done.
  void hold(Id object);
  void run();
  // What the pointers in the command's constants point to. False after a fault.
  bool follow_pointers(Step& step) const;

  struct Queue* queue;
  struct Encoder* open = nullptr;
  bool is_captured;
  std::vector<Id> held;
  std::vector<Step> steps;
  UInteger progress = 0;  // MTLCommandBufferStatus
  std::string error;
  double start = 0, end = 0;
};

struct Queue final : Object {
  static constexpr const char* kType = "MTLCommandQueue";
  explicit Queue(Id of) : Object(class_named(kType)), device(of) {}
  void dispose() override;
  Id command_buffer();
  void add_set(Id set);
  // Runs what was committed up to this one; null: all.
  void finish(const CommandBuffer* last);

  Id device;
  std::deque<CommandBuffer*> committed;  // and not done
  std::vector<ResidencySet*> sets;
};

struct Encoder final : Object {
  static constexpr const char* kType = "MTLComputeCommandEncoder";
  Encoder(CommandBuffer& of, bool concurrently)
      : Object(class_named(kType)), buffer(&of), is_concurrent(concurrently) {
    retain(buffer);
  }
  void dispose() override;
  void set_pipeline(Id value);
  void set_buffer(Id value, UInteger offset, UInteger index);
  void set_bytes(const void* bytes, UInteger length, UInteger index);
  void set_threadgroup_memory(UInteger length, UInteger index);
  void dispatch_groups(Size groups, Size threads);
  void dispatch_threads(Size grid, Size threads);
  void use_resources(const Id* resources, UInteger count, UInteger usage);
  void barrier_scope(UInteger scope);
  void barrier_resources(const Id* resources, UInteger count);
  void end_encoding();

  static constexpr std::size_t kTable = 31;
  struct Bound {
    bool is_there = false;
    Buffer* buffer = nullptr;  // null: constant
    UInteger offset = 0;
    std::vector<std::byte> constant;
  };

  bool may_encode(const char* what);
  void dispatch(Size groups, Size threads, Size grid);
  bool bind(const GpuKernel& kernel, Step& step);
  void check_sizes(const Pipeline& with, Size groups, Size threads);

  CommandBuffer* buffer;
  bool is_concurrent;
  bool is_ended = false;
  Pipeline* pipeline = nullptr;
  std::array<Bound, kTable> table;
  std::array<UInteger, kTable> threadgroup{};
  std::shared_ptr<std::vector<Told>> told = std::make_shared<std::vector<Told>>();
};

}  // namespace hearth::metal::fake
