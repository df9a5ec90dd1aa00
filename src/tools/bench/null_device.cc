#include "tools/bench/null_device.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <vector>

#include "devices/cpu/device.h"
#include "devices/cpu/families.h"
#include "graph/selector.h"
#include "runtime/memory/host_pool.h"

namespace hearth::tools {
namespace {

struct Written {
  Address address;
  std::int64_t bytes;
};
struct TracedLaunch {
  std::vector<Address> reads;
  std::vector<Written> writes;
};

// What a region is to the trace, beside what the CPU made of it.
struct RegionState {
  Prepared cpu;
  std::size_t inputs;
  std::vector<std::int64_t> output_bytes;
};

Prepared prepare_region(LoweredRegion lowered) {
  const Region& region = lowered.region;
  auto state = std::make_shared<RegionState>();
  state->inputs = region.inputs.size();
  const std::int64_t count = element_count(region.shape);
  for (const RegionOutput& output : region.outputs) {
    state->output_bytes.push_back(count * size_of(output.dtype));
  }
  if (region.reduction.op != nullptr) {
    std::int64_t left = 1;
    for (int axis = 0; axis < region.shape.rank(); ++axis) {
      if ((region.reduction.axes >> axis & 1) == 0) left *= region.shape[axis];
    }
    state->output_bytes.push_back(left * size_of(region.reduction.dtype));
  }
  state->cpu = cpu::selector().region().prepare(std::move(lowered));
  const std::int64_t workspace = state->cpu.workspace_bytes;
  return {std::move(state), workspace};
}

class IdleDevice final : public DeviceImpl {
 public:
  IdleDevice() : DeviceImpl("idle", 0), pool_(kReserved) {
    void* raw = mmap(nullptr, static_cast<std::size_t>(kReserved), PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (raw == MAP_FAILED) {
      throw Error(ErrorCode::out_of_memory, "idle device: no addresses left; got a request of " +
                                                std::to_string(kReserved) + " bytes");
    }
    arena_ = static_cast<Address>(raw);
  }

  std::string description() const override { return "plans and runs nothing"; }
  bool host_visible() const noexcept override { return false; }

  Address allocate(std::int64_t bytes) override {
    const Address address = pool_.allocate(bytes);
    if (tracing_) fresh_[address] = bytes;
    return address;
  }
  void free(Address address, std::int64_t bytes) noexcept override { pool_.free(address, bytes); }
  MemoryStatistics memory() const override { return pool_.statistics(); }
  void reset_peak() override { pool_.reset_peak(); }
  void set_memory_limit(std::int64_t bytes) override { pool_.set_limit(bytes); }
  std::int64_t room() const override { return pool_.room(); }
  void trim() override { pool_.trim(); }
  Address arena(std::int64_t bytes) override {
    pool_.note_arena(bytes);
    return arena_;
  }

  void dispatch(LaunchFunction, const Launch& launch) override {
    if (tracing_) trace_.push_back(describe(launch));
  }
  void copy_to_device(Address, const void*, std::int64_t) override {}
  void copy_to_host(void* target, Address, std::int64_t bytes) override {
    std::memset(target, 0, static_cast<std::size_t>(bytes));
  }
  void synchronize() override {}
  const Selector& selector() const override { return selector_; }

  void start() {
    trace_.clear();
    fresh_.clear();
    tracing_ = true;
  }
  std::int64_t finish() {
    tracing_ = false;
    return peak();
  }

 private:
  // Addresses only; nothing here is ever touched.
  static constexpr std::int64_t kReserved = std::int64_t{1} << 40;

  static TracedLaunch describe(const Launch& launch) {
    TracedLaunch out;
    const auto read = [&](std::size_t count) {
      for (std::size_t i = 0; i < count; ++i) {
        if (launch.operands[i] != nullptr) out.reads.push_back(launch.operands[i]);
      }
    };
    if (launch.signature != nullptr) {
      read(launch.signature->inputs.size());
      for (int i = 0; i < launch.output_count; ++i) {
        const TensorSpec& output = launch.signature->output_at(i);
        if (output.absent) continue;
        out.writes.push_back(
            {launch.output(i), element_count(output.shape) * size_of(output.dtype)});
      }
    } else {
      const auto& state = *static_cast<const RegionState*>(launch.state);
      read(state.inputs);
      for (std::size_t i = 0; i < state.output_bytes.size(); ++i) {
        out.writes.push_back({launch.operands[state.inputs + i], state.output_bytes[i]});
      }
    }
    return out;
  }

  bool is_arena(Address address) const { return address >= arena_ && address < arena_ + kReserved; }
  bool is_fresh(Address address) const {
    auto at = fresh_.upper_bound(address);
    return at != fresh_.begin() && address < std::prev(at)->first + std::prev(at)->second;
  }

  std::int64_t peak() const {
    struct Value {
      std::int64_t bytes;
      std::size_t first, last;
    };
    std::vector<Value> values;
    std::map<Address, std::size_t> here;  // start of a value to its number
    const auto holder = [&](Address address) {
      auto at = here.upper_bound(address);
      if (at == here.begin()) return here.end();
      --at;
      return address < at->first + std::max<std::int64_t>(values[at->second].bytes, 1) ? at
                                                                                       : here.end();
    };
    const std::size_t end = trace_.size();
    for (std::size_t step = 0; step < end; ++step) {
      for (const Address address : trace_[step].reads) {
        const auto at = holder(address);
        if (at != here.end()) values[at->second].last = std::max(values[at->second].last, step);
      }
      for (const Written& written : trace_[step].writes) {
        if (!is_arena(written.address) && !is_fresh(written.address)) continue;
        const auto same = here.find(written.address);
        if (same != here.end() && values[same->second].bytes == written.bytes &&
            values[same->second].last == step) {
          continue;  // in place: one value that goes on
        }
        auto at = here.lower_bound(written.address);
        while (at != here.end() && at->first < written.address + written.bytes) at = here.erase(at);
        here[written.address] = values.size();
        values.push_back({written.bytes, step, is_arena(written.address) ? step : end});
      }
    }
    std::vector<std::int64_t> change(end + 2, 0);
    for (const Value& value : values) {
      change[value.first] += value.bytes;
      change[std::min(value.last, end) + 1] -= value.bytes;
    }
    std::int64_t alive = 0;
    std::int64_t most = 0;
    for (const std::int64_t bytes : change) {
      alive += bytes;
      most = std::max(most, alive);
    }
    return most;
  }

  HostPool pool_;
  const Selector selector_{
      {.families = cpu::families(),
       .region = {.prepare = prepare_region, .launch = cpu::selector().region().launch}}};
  Address arena_ = nullptr;
  bool tracing_ = false;
  std::vector<TracedLaunch> trace_;
  std::map<Address, std::int64_t> fresh_;  // allocated while tracing
};

IdleDevice& idle() {
  static IdleDevice* const device = [] {
    auto* made = new IdleDevice;
    register_device(made);
    return made;
  }();
  return *device;
}

}  // namespace

Device null_device() { return Device(&idle()); }
void start_liveness_trace() { idle().start(); }
std::int64_t finish_liveness_trace() { return idle().finish(); }

}  // namespace hearth::tools
