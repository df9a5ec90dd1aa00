#include "devices/metal/driver/commands/device_copies.h"

#include <algorithm>

#include "core/integer_math.h"

namespace hearth::metal {
namespace {

using runtime::Argument;
using runtime::Command;
using runtime::KernelParameter;
using Kind = KernelParameter::Kind;

constexpr char kText[] = R"(
struct UnitParams {
  uint count;
  uint value;
};
template <typename T>
void copy_units(device const T* x, device T* y, constant UnitParams& p, Ctx ctx) {
  if (ctx.gid.x < p.count) y[ctx.gid.x] = x[ctx.gid.x];
}
template <typename T>
void fill_units(device T* y, constant UnitParams& p, Ctx ctx) {
  if (ctx.gid.x < p.count) y[ctx.gid.x] = T(p.value);
}
)";

struct UnitParams {
  std::uint32_t count;
  std::uint32_t value;
};

constexpr std::uint32_t kThreads = 256;
constexpr std::int64_t kMaxUnits = std::int64_t{1} << 30;  // of a launch

// What memory at an address can be seen as.
struct Unit {
  const char* type;
  std::int64_t bytes;
};
constexpr Unit kUnits[] = {{"uint4", 16}, {"uint", 4}, {"uchar", 1}};

const Unit& unit_at(std::uintptr_t addresses, std::int64_t bytes) {
  for (const Unit& unit : kUnits) {
    if (addresses % static_cast<std::uintptr_t>(unit.bytes) == 0 && bytes >= unit.bytes) {
      return unit;
    }
  }
  return kUnits[2];
}

std::uintptr_t number(Address address) { return reinterpret_cast<std::uintptr_t>(address); }

}  // namespace

const runtime::Function& DeviceCopies::kernel(bool copies, const char* unit) {
  runtime::KernelSource source;
  const std::string function = copies ? "copy_units" : "fill_units";
  source.name = "hearth_" + function + "_" + unit;
  std::unique_ptr<runtime::Function>& made = kernels_[source.name];
  if (made == nullptr) {
    source.text = kText;
    source.function = function + "<" + unit + ">";
    if (copies) source.parameters.push_back({Kind::read, unit, "x"});
    source.parameters.push_back({Kind::write, unit, "y"});
    source.parameters.push_back({Kind::constant, "UnitParams", "p"});
    source.max_threads = kThreads;
    made = load_(source);
  }
  return *made;
}

void DeviceCopies::copy(Address target, Address source, std::int64_t bytes) {
  while (bytes > 0) {
    const Unit& unit = unit_at(number(target) | number(source), bytes);
    const std::int64_t count = std::min(bytes / unit.bytes, kMaxUnits);
    const std::int64_t done = count * unit.bytes;
    const UnitParams p{static_cast<std::uint32_t>(count), 0};
    const Argument arguments[] = {{source, done}, {target, done}, {nullptr, sizeof p, &p}};
    const auto groups = static_cast<std::uint32_t>(ceil_div(count, kThreads));
    const Command command{&kernel(true, unit.type), {groups}, {kThreads}, arguments, 0, {}};
    submit_({&command, 1});
    source += done;
    target += done;
    bytes -= done;
  }
}

void DeviceCopies::fill(Address target, std::uint8_t value, std::int64_t bytes) {
  while (bytes > 0) {
    const Unit& unit = unit_at(number(target), bytes);
    const std::int64_t count = std::min(bytes / unit.bytes, kMaxUnits);
    const std::int64_t done = count * unit.bytes;
    const UnitParams p{static_cast<std::uint32_t>(count), value * 0x01010101u};
    const Argument arguments[] = {{target, done}, {nullptr, sizeof p, &p}};
    const auto groups = static_cast<std::uint32_t>(ceil_div(count, kThreads));
    const Command command{&kernel(false, unit.type), {groups}, {kThreads}, arguments, 0, {}};
    submit_({&command, 1});
    target += done;
    bytes -= done;
  }
}

}  // namespace hearth::metal
