// Copies from one device to another. Such a copy is no node of a tape: it ends the recording of the
// device that it reads, and is there when the call returns. Its gradient is the copy back.
#include <algorithm>
#include <vector>

#include "graph/op_def.h"
#include "graph/record/node.h"
#include "hearth/ops.h"
#include "ops/definition/sync.h"
#include "runtime/memory/host_vector.h"

namespace hearth {
namespace {

constexpr ParamSpec kParams[] = {{.name = "source", .type = ParamType::i64}};

std::int64_t place_of(Device device) {
  const std::vector<Device> all = Device::all();
  return std::find(all.begin(), all.end(), device) - all.begin();
}

constinit const OpDef to_device_op = {
    .name = "to_device",
    .summary = "x, copied from the device at `source` of those that there are.",
    .kind = OpKind::sync,
    .params = kParams,
    .vjp =
        [](const Vjp& v) {
          const auto source = static_cast<std::size_t>(v.statics().i64());
          return Grads{to_device(v.grad, Device::all()[source])};
        },
};

}  // namespace

inline namespace v0 {

Array to_device(const Array& x, Device device) {
  require_defined("to_device", x);
  if (x.is_scalar() || x.device() == device) return x;
  std::vector<std::byte> bytes =
      host_vector<std::byte>("to_device", bytes_of(x.dtype(), x.size()), device);
  count_sync();
  x.read(bytes.data(), static_cast<std::int64_t>(bytes.size()), x.dtype());
  return track_made(to_device_op, x, Params().i64(place_of(x.device())),
                    Array::from_bytes(bytes, x.dtype(), x.shape(), device));
}

}  // namespace v0
}  // namespace hearth
