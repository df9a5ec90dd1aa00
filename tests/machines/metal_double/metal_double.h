// A library that stands for the Objective-C runtime, Foundation and Metal on a machine that has
// none of them: this folder is built as one shared library, and tests steer and watch it through
// this. Kernels run where a `Gpu` runs them.
//
// Stricter than the real ones: work runs as late as it may; commands of a concurrent encoder run in
// the most surprising order that its barriers allow; and what a caller must never do is a fault,
// after which everything goes on as well as it can.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "devices/metal/objc/types.h"

namespace hearth::metal::fake {

// A kernel as its text describes it.
struct GpuKernel {
  struct Buffer {
    std::string name;
    UInteger index = 0;
    bool writes = false;
    std::int64_t bytes = 0;  // at least, where there are pointers in it
  };
  // A pointer in a struct of a constant.
  struct Pointer {
    std::string name;        // "batch.member[3].x"
    std::size_t buffer = 0;  // of `buffers`, by number
    std::int64_t offset = 0;
    bool writes = false;
  };
  virtual ~GpuKernel() = default;
  std::string name;
  std::vector<Buffer> buffers;
  std::vector<Pointer> pointers;
  std::vector<UInteger> threadgroup;  // indices of memory that a launch brings
};

struct GpuLibrary {
  virtual ~GpuLibrary() = default;
  // Null where the text has no kernel of this name.
  virtual std::shared_ptr<const GpuKernel> kernel(const std::string& name) = 0;
};

// Bytes [begin, end) that a launch read or wrote, as the host sees them.
struct Touched {
  const std::byte* begin;
  const std::byte* end;
  bool written;
};

struct GpuLaunch {
  std::shared_ptr<const GpuKernel> kernel;
  struct Argument {
    std::byte* memory = nullptr;  // of allocate(), or a constant
    std::int64_t bytes = 0;
    bool is_constant = false;
  };
  std::vector<Argument> arguments;        // of kernel->buffers
  std::vector<Argument> reached;          // by kernel->pointers; no memory where one is null
  std::vector<std::int64_t> threadgroup;  // bytes, of kernel->threadgroup
  Size groups, threads, grid;             // the grid in threads
};

// What runs kernels.
class Gpu {
 public:
  virtual ~Gpu() = default;
  // Memory that the host may access. Null where there is none.
  virtual std::byte* allocate(std::int64_t bytes) = 0;
  virtual void free(std::byte* memory) = 0;
  // Memory of the host's own is the GPU's too, until it is freed.
  virtual void adopt(std::byte* memory, std::int64_t bytes) = 0;
  // Null where the text is wrong, with the compiler's messages. `language` is as in CompileOptions.
  virtual std::shared_ptr<GpuLibrary> compile(const std::string& text, UInteger language,
                                              std::string& messages) = 0;
  // Empty, or what went wrong. `touched` gets what the launch touched, if that can be told.
  virtual std::string run(const GpuLaunch& launch, std::vector<Touched>& touched) = 0;
};

struct CompileOptions {
  bool fast_math = true;  // as when nothing is said
  UInteger language_version = 0;
};

struct MetalDouble {
  Gpu* gpu = nullptr;

  // The machine.
  int devices = 1;
  SystemVersion system{15, 0, 0};
  // What NSProcessInfo says, where that is not `system`.
  std::optional<SystemVersion> told_system;
  bool tells_product_version = true;  // as kern.osproductversion
  std::string build = "24A335";
  std::string device_name = "Apple M2 Max";
  bool unified = true;
  Integer family = 1008;  // MTLGPUFamilyApple8
  bool is_metal3 = true;
  UInteger argument_buffers_tier = 1;  // MTLArgumentBuffersTier2
  UInteger simdgroup_width = 32;
  UInteger memory = UInteger{8} << 30;
  UInteger longest_buffer = UInteger{4} << 30;
  UInteger most_threads = 1024;  // of a pipeline
  // What the texts of pipelines made from now on declare: it is only known when they run.
  UInteger static_threadgroup_memory = 0;
  bool may_capture = false;  // as MTL_CAPTURE_ENABLED says
  bool gives_residency_sets = true;
  bool tells_feeds = true;  // of graphs of MPSGraph
  bool gives_buffers_in_place = true;
  int graph_commits = 0;  // before a graph of MPSGraph is encoded, which may commit what there is
  bool archives_fail = false;  // where pipelines are added
  // Messages that objects do not understand, by selector; and those whose types are given here.
  std::map<std::string, bool> missing;
  std::map<std::string, std::string> other_types;
  // Messages that raise an exception, by selector.
  std::map<std::string, bool> raises;
  // Command buffers are done when commit returns. Otherwise when somebody waits, or when 64 are
  // under way.
  bool runs_at_once = false;
  // Released objects stay, so that who uses them is found out. Otherwise memory tells who leaks.
  bool keeps_released = true;
  // Seconds that kernels take on the device, by a part of their names. A command buffer without any
  // of these takes what it took here.
  std::map<std::string, double> seconds;

  // What happened.
  std::vector<std::string> faults;
  std::map<std::string, int> calls;  // by selector
  std::vector<CompileOptions> compiled;
  bool compiles_concurrently = false;
  bool is_capturing = false;
  std::vector<std::string> captured;  // kernels
  int pipelines_compiled = 0;
  int pipelines_from_archives = 0;
  int graphs_compiled = 0;
  int continued = 0;             // command buffers that MPSGraph committed
  std::vector<std::string> ran;  // kernels, in the order in which they ran
  UInteger resident = 0;         // buffers in sets of queues; stays when all else is forgotten

  // Objects that were made and not released, by class.
  virtual std::map<std::string, int> live() const = 0;
  // Forgets what happened and makes the machine as it was; objects stay.
  virtual void reset() = 0;

 protected:
  ~MetalDouble() = default;
};

// The library exports it under this name, as extern "C".
inline constexpr const char* kAccess = "hearth_metal_double";
using Access = MetalDouble* (*)();

}  // namespace hearth::metal::fake
