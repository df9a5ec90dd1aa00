// The GPU runtime: kernels, buffers and commands, without tensors.
//
//   using namespace hearth;
//   Device gpu = Device::named("cuda");
//   auto x = runtime::Buffer::from_data<float>(values, gpu);
//   runtime::Kernel scale(gpu, source);           // a kernel of the dialect, compiled on first use
//   runtime::CommandEncoder encoder(gpu);
//   encoder.dispatch(scale, {groups}, {256}, {x, runtime::constant(parameters)});
//   encoder.wait();
//
// What may run concurrently follows from the bytes that each dispatch reads and writes; nobody
// places a barrier. Kernels are written once, in the dialect of docs/kernels.md, and run on every
// GPU. Everything throws hearth::Error; no call ends the process. Objects may be used from any
// thread, one at a time; several encoders of a device may be used at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "hearth/device.h"
#include "hearth/dtype.h"
#include "hearth/host_view.h"
#include "hearth/shape.h"

namespace hearth {
inline namespace v0 {
namespace runtime {

struct Size3 {
  std::uint32_t x = 1, y = 1, z = 1;
  // The greatest std::int64_t where that does not hold the product.
  std::int64_t product() const noexcept {
    std::int64_t all = 0;
    const bool overflows = __builtin_mul_overflow(std::uint64_t{x} * y, z, &all);
    return overflows ? std::numeric_limits<std::int64_t>::max() : all;
  }
  friend bool operator==(const Size3&, const Size3&) = default;
};

struct KernelParameter {
  enum class Kind : std::uint8_t {
    read,         // device const T*
    write,        // device T*: what the kernel touches it writes, and it reads none of it
    read_write,   // device T*
    constant,     // constant T&: a struct of 4- and 8-byte members, passed by value
    threadgroup,  // threadgroup T*: `count` elements shared by a threadgroup, uninitialised
  };
  Kind kind = Kind::read;
  std::string type;  // T, as the dialect writes it: "float", "half", "ScaleParams"
  std::string name;
  std::int64_t count = 0;  // of a threadgroup array
};

// A kernel as text. The text is a subset of the Metal Shading Language in which a kernel is a plain
// function template over pointers, a struct of parameters and a `Ctx`; the entry point around it is
// generated for each target from the list of parameters.
struct KernelSource {
  // Letters, digits and underscores: the entry point, and the name in errors and timelines.
  std::string name;
  // Structs, functions and function templates of the dialect.
  std::string text;
  // The function that the entry point calls with the parameters in order and a Ctx: "scale<float>".
  std::string function;
  std::vector<KernelParameter> parameters;
  // Threads of a threadgroup, at most; compilers may use more registers where it is less.
  int max_threads = 1024;
  // Threads may be divided among threadgroups in any way along x: a launch with other threadgroups
  // but as many threads, or more, does the same.
  bool flat = false;
  // For Hearth itself: a kernel that runs up to this many launches of its function as one.
  int members = 0;
  // As metal_kernel() makes it: the text is Metal's own, and `function` is its entry point.
  bool metal = false;
};

// What Metal's API would be told besides a text.
struct MetalOptions {
  // Values by name, as C++ writes them: {"has_mask", "true"}. Those that are left out must not be
  // used, but where the text asks is_function_constant_defined().
  std::map<std::string, std::string> function_constants;
  // Bytes of [[threadgroup(i)]] parameters, by index.
  std::map<int, std::int64_t> threadgroup_bytes;
  // Files that the text includes in quotes, by their paths; those in angle brackets are Metal's.
  std::map<std::string, std::string> files;
  // Macros by name.
  std::map<std::string, std::string> defines;
  int max_threads = 1024;  // as in KernelSource
};

// A kernel of a text in Metal's own form, for every device:
//   kernel void axpy(device const float* x [[buffer(0)]], device float* y [[buffer(1)]],
//                    constant float& a [[buffer(2)]], uint i [[thread_position_in_grid]]) {...}
// `name` is the entry point's, or its host_name, or a template with arguments: "softmax<float, 4>".
// Its parameters are buffers and constants in the order of their indices, then threadgroup memory.
// A pointer to const is read; one that is not is read and written. `constant T&` is a constant; a
// pointer to `constant` or `device const` takes a buffer, or bytes. Throws Error{invalid_argument}
// for names and values that the text has not, Error{unsupported} for parameters that are neither
// memory, constants nor positions of compute kernels, such as textures.
HEARTH_API KernelSource metal_kernel(const std::string& text, const std::string& name,
                                     const MetalOptions& options = {});
// Of all entry points of a text that need no template arguments.
HEARTH_API std::vector<std::string> metal_kernel_names(const std::string& text,
                                                       const MetalOptions& options = {});

struct Properties {
  std::string name;                              // "NVIDIA H200"
  std::string architecture;                      // "sm_90": what compiled kernels depend on
  std::int64_t memory = 0;                       // bytes in all
  int processors = 1;                            // streaming multiprocessors, or GPU cores
  int processor_threads = 1024;                  // that one runs at the same time
  std::int64_t processor_registers = 32 * 1024;  // of one, of 32 bits
  std::int64_t processor_memory = 32 * 1024;     // bytes of one for threadgroups
  int thread_registers = 128;                    // that the compiler gives one thread, at most
  // What one processor does in a clock, at its best.
  struct PerClock {
    int multiply_adds = 128;     // of f32
    int threadgroup_bytes = 64;  // of threadgroup memory, read or written
    int cache_bytes = 32;        // of the last-level cache, read
  };
  PerClock per_clock;
  int max_threads = 1024;                       // of a threadgroup
  std::int64_t threadgroup_memory = 32 * 1024;  // bytes of a threadgroup, for every kernel
  // What the threadgroup arrays among a kernel's parameters may take instead, where that is more.
  std::int64_t large_threadgroup_memory = 0;
  std::int64_t cache_bytes = 0;  // last-level cache
  bool unified = false;          // host and device share memory
  bool has_f64 = false;
  bool has_tile_products = false;     // 16-bit floats, by tensor cores: kernels/blocks/mma.h
  bool has_simdgroup_matrix = false;  // 8 x 8 matrices are fast: kernels/prelude/simdgroup.h
};

// Of a device that runs kernels. Throws Error{unsupported} for one that does not, such as "cpu".
HEARTH_API Properties properties(Device device);

// Memory of a device: dtype, shape and a range of bytes. A value that shares: copies and views name
// the same memory, which lives as long as one of them, and as long as queued work needs it.
class HEARTH_API Buffer {
 public:
  Buffer() noexcept = default;
  // Contents are unspecified.
  Buffer(Device device, DType dtype, const Shape& shape);
  static Buffer zeros(Device device, DType dtype, const Shape& shape);
  template <class T>
  static Buffer from_data(std::span<const T> data, Device device) {
    Buffer made(device, dtype_of_v<T>, {static_cast<std::int64_t>(data.size())});
    made.write(std::as_bytes(data));
    return made;
  }
  template <class T>
  static Buffer from_data(const std::vector<T>& data, Device device) {
    return from_data(std::span<const T>(data), device);
  }

  bool defined() const noexcept { return storage_ != nullptr; }
  Device device() const;
  DType dtype() const noexcept { return dtype_; }
  const Shape& shape() const noexcept { return shape_; }
  std::int64_t bytes() const noexcept { return bytes_of(dtype_, element_count(shape_)); }
  // Of the first byte, from the beginning of the memory that is shared.
  std::int64_t byte_offset() const noexcept { return offset_; }

  // `shape` elements from element `first` on, the same memory. Throws Error{shape} beyond the end.
  Buffer view(std::int64_t first, const Shape& shape) const;
  // The same bytes as elements of another dtype. Throws Error{shape} where sizes do not fit.
  Buffer reinterpret(DType dtype, const Shape& shape) const;

  // Queues a copy to the device; `data` may be reused immediately. Throws Error{shape} for a wrong
  // size.
  void write(std::span<const std::byte> data) const;
  // Queues a copy of the bytes of `source`, of the same device; the two do not overlap. Throws
  // Error{shape} for another size.
  void copy_from(const Buffer& source) const;
  // Waits for what is queued, then copies to the host.
  void read(std::span<std::byte> data) const;
  template <class T>
  std::vector<T> to_vector() const {
    std::vector<T> out = host_vector<T>("Buffer::to_vector", bytes() / std::int64_t{sizeof(T)});
    read(std::as_writable_bytes(std::span<T>(out)));
    return out;
  }
  // The elements as the host sees them, when all that is queued is done: the memory itself where
  // host and device share it. Elsewhere a view of const elements is a copy, and another throws
  // Error{unsupported}. While the view lives, queueing what writes these bytes throws
  // Error{invalid_argument}, on every device, and so does queueing what reads them where the host
  // may write. Throws Error{dtype} where T does not store the buffer's dtype.
  template <class T>
  HostView<T> host_view() const {
    return HostView<T>(host_bytes(dtype_of_v<std::remove_const_t<T>>, !std::is_const_v<T>));
  }

  // For Hearth itself.
  std::byte* address() const noexcept;
  HostBytes host_bytes(DType dtype, bool writes) const;

 private:
  friend class BufferPool;  // hearth/buffer_pool.h
  struct Storage;
  std::shared_ptr<Storage> storage_;
  DType dtype_ = DType::f32;
  Shape shape_;
  std::int64_t offset_ = 0;
};

class Function;

// A kernel of one device. Cheap to copy; equal sources of a device are compiled once.
class HEARTH_API Kernel {
 public:
  // Compiles, or finds it in memory or on disk. Throws Error{device} with the compiler's messages.
  Kernel(Device device, const KernelSource& source);
  const std::string& name() const noexcept;
  Device device() const noexcept { return device_; }

  // For Hearth itself.
  const Function& function() const noexcept { return *function_; }

 private:
  Device device_;
  const Function* function_;
};

// Compiles kernels side by side, or finds them in memory or on disk, so that no Kernel of these
// sources waits for the compiler. Throws Error{device} with the compiler's messages for the first
// that fails, when the others are ready.
HEARTH_API void prewarm(Device device, std::span<const KernelSource> sources);

// What a kernel parameter gets.
class HEARTH_API Value {
 public:
  Value(const Buffer& buffer) : buffer_(&buffer) {}  // NOLINT(google-explicit-constructor)
  Value(const void* constant, std::int64_t bytes) : constant_(constant), bytes_(bytes) {}

 private:
  friend class CommandEncoder;
  const Buffer* buffer_ = nullptr;
  const void* constant_ = nullptr;
  std::int64_t bytes_ = 0;
};

// The bytes of `value`, copied when the dispatch is encoded.
template <class T>
Value constant(const T& value) {
  return {&value, static_cast<std::int64_t>(sizeof(T))};
}

// A command of a Capture.
struct CapturedCommand {
  // Memory that it may touch: bytes [begin, begin + bytes) of the device's addresses.
  struct Access {
    std::string parameter;  // the kernel's name of it
    std::uintptr_t begin = 0;
    std::int64_t bytes = 0;
    bool reads = false, writes = false;
  };
  std::string kernel;
  Size3 groups, threads;
  int group = 0;           // those of one group may run side by side; groups follow one another
  std::vector<int> after;  // earlier commands, by number, that have to be done first
  std::vector<Access> accesses;
};

struct CapturedCommands;

// Commands that were encoded once and may run many times.
class HEARTH_API Capture {
 public:
  Capture() noexcept = default;
  bool defined() const noexcept { return commands_ != nullptr; }
  int commands() const noexcept;
  // How many groups of commands run one after the other.
  int groups() const noexcept;
  // All of them, in the order in which they were added.
  std::vector<CapturedCommand> list() const;
  // From now on every command that named memory of `from` names that of `to`: same device, at least
  // as many bytes. Both live as long as the capture.
  void rebind(const Buffer& from, const Buffer& to);
  // Queues all commands.
  void replay();

 private:
  friend class CommandEncoder;
  std::shared_ptr<CapturedCommands> commands_;
};

// Collects dispatches and queues them in batches. What an encoder queued runs before what it queues
// later; between encoders, in the order of commit().
class HEARTH_API CommandEncoder {
 public:
  explicit CommandEncoder(Device device);
  CommandEncoder(CommandEncoder&&) noexcept;
  CommandEncoder& operator=(CommandEncoder&&) noexcept;
  // What was not committed is dropped.
  ~CommandEncoder();

  // Adds a launch of `groups` threadgroups of `threads` threads, a multiple of 32. One value for
  // each parameter that is no threadgroup array, in order. Buffers are kept alive until the work is
  // done. Throws Error{invalid_argument} where values do not fit the parameters.
  void dispatch(const Kernel& kernel, Size3 groups, Size3 threads,
                std::initializer_list<Value> values);
  // The same with the threads of the whole grid, for a kernel of metal_kernel(): of threadgroups
  // that reach beyond it, only the threads within run.
  void dispatch_threads(const Kernel& kernel, Size3 grid, Size3 threads,
                        std::initializer_list<Value> values);
  // Queues what was added and returns without waiting.
  void commit() { commit({}); }
  // With a label, which stands in timelines around the kernels, and for which Profile::batches()
  // sums up their times.
  void commit(std::string_view label);
  // Waits for what was queued before, commits, waits, and gives the seconds that the device took
  // from the beginning of the first command to the end of the last, by its own clock; nothing where
  // the device has none. Throws as wait() does.
  std::optional<double> commit_and_time(std::string_view label = {});
  // Commits and waits for all work of the device. Throws Error{device} with the name of the kernel
  // that failed.
  void wait();
  // What was added since the last commit, as something to replay; the encoder is empty then.
  Capture capture();

 private:
  struct State;
  void add(const Kernel& kernel, Size3 groups, Size3 threads, Size3 grid,
           std::initializer_list<Value> values);
  std::unique_ptr<State> state_;
};

// What a kernel took, all its launches together.
struct KernelTime {
  std::string name;
  std::int64_t launches = 0;
  double seconds = 0;
};

// While one lives, what the process does is recorded: calls on the host, and the kernels of every
// GPU, which run one after the other then, each timed by the device between two marks around it. So
// the times are those of kernels that have the device for themselves, and the program is slower;
// the CPU's kernels are timed as they run. The same for the whole process, written at its end: set
// HEARTH_TRACE=timeline.json. Several may live at once.
class HEARTH_API Profile {
 public:
  Profile();
  ~Profile();
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;

  // So far, the longest first.
  std::vector<KernelTime> kernels() const;
  // The same of what was committed with a label: KernelTime::name is the label, and launches are
  // commits.
  std::vector<KernelTime> batches() const;
  // So far, in the format of Chrome's traces (chrome://tracing, ui.perfetto.dev). Throws Error{io}.
  void write_timeline(const std::string& path) const;

 private:
  std::size_t first_;
};

}  // namespace runtime
}  // namespace v0
}  // namespace hearth
