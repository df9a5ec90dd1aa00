#include "devices/metal/driver/memory/buffers.h"

#include <algorithm>

#include "hearth/error.h"

namespace hearth::metal {
namespace {

// Shared by host and device, cached by the host, hazards between command buffers tracked by Metal.
constexpr UInteger kShared = 0;

}  // namespace

Buffers::Buffers(const ObjectiveC& objc, Id device, Residency& residency, bool has_gpu_addresses,
                 std::string name)
    : objc_(objc),
      device_(device),
      residency_(residency),
      has_gpu_addresses_(has_gpu_addresses),
      name_(std::move(name)),
      longest_(objc.send(device, messages::max_buffer_length)) {}

Buffers::~Buffers() {
  settle();
  for (auto& [address, block] : blocks_) residency_.remove(std::move(block.buffer));
  residency_.apply();
}

Address Buffers::allocate(std::int64_t bytes) {
  if (bytes < 0) {
    throw Error(ErrorCode::invalid_argument, "metal: allocate: negative size; got " +
                                                 std::to_string(bytes) + ", expected 0 or more");
  }
  // The API refuses empty buffers.
  const auto length = static_cast<UInteger>(std::max<std::int64_t>(bytes, 1));
  Owned made;
  if (length <= longest_) {
    const AutoreleasePool pool(objc_);
    made = objc_.send(device_, messages::new_buffer, length, kShared);
    if (!made) {
      residency_.apply();  // lets go of what was freed
      made = objc_.send(device_, messages::new_buffer, length, kShared);
    }
  }
  const auto address =
      made ? static_cast<Address>(objc_.send(made.get(), messages::contents)) : nullptr;
  if (address == nullptr) {
    throw Error(ErrorCode::out_of_memory, "metal: " + name_ +
                                              " has no such memory; got a request of " +
                                              std::to_string(bytes) + " bytes, expected at most " +
                                              std::to_string(longest_) + " of what is free");
  }
  const std::lock_guard lock(mutex_);
  keep(address, static_cast<std::int64_t>(length), std::move(made), false);
  return address;
}

void Buffers::keep(Address address, std::int64_t bytes, Owned buffer, bool is_adopted) {
  const std::uint64_t gpu_address =
      has_gpu_addresses_ ? objc_.send(buffer.get(), messages::gpu_address) : 0;
  residency_.add(buffer.get(), bytes, is_adopted);
  blocks_[address] = {bytes, std::move(buffer), gpu_address};
}

void Buffers::free(Address address) noexcept {
  if (address == nullptr) return;
  Owned buffer;
  {
    const std::lock_guard lock(mutex_);
    const auto found = blocks_.find(address);
    if (found == blocks_.end()) return;
    buffer = std::move(found->second.buffer);
    blocks_.erase(found);
    age_.fetch_add(1, std::memory_order_release);
  }
  residency_.remove(std::move(buffer));
}

bool Buffers::adopt(const std::byte* pages, std::int64_t bytes) {
  const auto address = const_cast<Address>(pages);
  const auto length = static_cast<UInteger>(bytes);
  if (bytes <= 0 || length > longest_) return false;
  const std::lock_guard lock(mutex_);
  if (blocks_.contains(address)) return false;
  const AutoreleasePool pool(objc_);
  Owned made = objc_.send(device_, messages::new_buffer_no_copy, address, length, kShared, nullptr);
  if (!made || objc_.send(made.get(), messages::contents) != address) return false;
  keep(address, bytes, std::move(made), true);
  return true;
}

void Buffers::disown(const std::byte* pages, std::shared_ptr<const void> keeper) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(const_cast<Address>(pages));
  if (found == blocks_.end()) return;
  disowned_.push_back({std::move(found->second.buffer), std::move(keeper)});
  blocks_.erase(found);
  age_.fetch_add(1, std::memory_order_release);
}

void Buffers::settle() noexcept {
  std::vector<Disowned> gone;
  {
    const std::lock_guard lock(mutex_);
    gone.swap(disowned_);
  }
  if (gone.empty()) return;
  // The buffers go before the memory that they are made of.
  for (Disowned& each : gone) residency_.remove(std::move(each.buffer));
  residency_.apply();
}

BufferPlace Buffers::find(Address address, std::int64_t bytes) {
  const std::uint64_t age = age_.load(std::memory_order_acquire);
  const auto number = reinterpret_cast<std::uintptr_t>(address) / kAlignment;
  Known& known = known_[(number ^ (number >> 9) ^ (number >> 18)) % known_.size()];
  if (known.address != address || known.age != age) {
    const std::lock_guard lock(mutex_);
    auto after = blocks_.upper_bound(address);
    const auto* const found = after == blocks_.begin() ? nullptr : &*--after;
    if (found == nullptr || address - found->first >= found->second.bytes) {
      throw Error(ErrorCode::device, "metal: " + name_ +
                                         " has no memory at an argument's address; got " +
                                         std::to_string(bytes) + " bytes of none of its blocks");
    }
    const std::int64_t offset = address - found->first;
    known = {address,
             found->second.bytes - offset,
             age,
             {found->second.buffer.get(), static_cast<UInteger>(offset),
              found->second.gpu_address + static_cast<std::uint64_t>(offset)}};
  }
  if (bytes > known.end) {
    throw Error(ErrorCode::device, "metal: " + name_ +
                                       ": an argument is not within one block; got " +
                                       std::to_string(bytes) + " bytes, expected at most " +
                                       std::to_string(known.end));
  }
  return known.place;
}

}  // namespace hearth::metal
