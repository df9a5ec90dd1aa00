// Arrays over existing memory of the host.
#include <unistd.h>

#include <algorithm>
#include <cstdint>

#include "core/integer_math.h"
#include "graph/record/node.h"

namespace hearth {
namespace {

// Of packed arrays, whose kernels load vectors.
constexpr std::int64_t kBlockAlignment = 16;

std::span<const std::byte> pages_of(const std::byte* begin, const std::byte* end) {
  static const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const std::uintptr_t before = reinterpret_cast<std::uintptr_t>(begin) % page;
  const std::byte* const first = begin - before;
  const auto bytes = static_cast<std::uintptr_t>(end - first);
  return {first, round_up(bytes, page)};
}

const std::byte* end_of(const HostElements& elements) {
  return elements.bytes.data() + elements.bytes.size();
}

bool fits_in_place(const HostElements& elements, const DeviceImpl& device) {
  if (elements.bytes.empty() || !device.shares_memory()) return false;
  const auto address = reinterpret_cast<std::uintptr_t>(elements.bytes.data());
  const std::int64_t alignment =
      is_packed(elements.dtype) ? kBlockAlignment : size_of(elements.dtype);
  if (address % static_cast<std::uintptr_t>(alignment) != 0) return false;
  // Kernels of the host may look at a few bytes more.
  const auto pages = pages_of(elements.bytes.data(), end_of(elements));
  return !device.host_visible() || pages.data() + pages.size() - end_of(elements) >= kPadding;
}

struct Part {
  const HostElements* elements;
  Array* array;
};

// `parts` are concatenated.
void adopt(std::span<const Part> parts, const std::shared_ptr<const void>& keeper, Device device) {
  if (parts.empty()) return;
  const auto pages = pages_of(parts.front().elements->bytes.data(), end_of(*parts.back().elements));
  const auto memory = AdoptedMemory::adopt(device.impl(), pages, keeper);
  if (memory == nullptr && parts.size() > 1) {  // it may be too much for one block
    adopt(parts.first(parts.size() / 2), keeper, device);
    adopt(parts.subspan(parts.size() / 2), keeper, device);
    return;
  }
  for (const Part& part : parts) {
    const HostElements& from = *part.elements;
    *part.array = memory == nullptr ? Array::from_bytes(from.bytes, from.dtype, from.shape, device)
                                    : make_adopted(device.impl(), memory, from.bytes.data(),
                                                   from.dtype, from.shape);
  }
}

}  // namespace

inline namespace v0 {

std::vector<Array> host_arrays(std::span<const HostElements> elements,
                               const std::shared_ptr<const void>& keeper, Device device) {
  std::vector<Array> arrays(elements.size());
  std::vector<Part> parts;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const HostElements& from = elements[i];
    const auto wanted = static_cast<std::size_t>(bytes_of(from.dtype, element_count(from.shape)));
    if (from.bytes.size() == wanted && fits_in_place(from, device.impl())) {
      parts.push_back({&from, &arrays[i]});
    } else {
      arrays[i] = Array::from_bytes(from.bytes, from.dtype, from.shape, device);
    }
  }
  std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) {
    return a.elements->bytes.data() < b.elements->bytes.data();
  });
  adopt(parts, keeper, device);
  return arrays;
}

}  // namespace v0
}  // namespace hearth
