#include "runtime/memory/adopted_memory.h"

#include "runtime/memory/held_keepers.h"

namespace hearth {

std::shared_ptr<const AdoptedMemory> AdoptedMemory::adopt(DeviceImpl& device,
                                                          std::span<const std::byte> pages,
                                                          std::shared_ptr<const void> keeper) {
  keeper = let_go_late(std::move(keeper));
  if (!device.adopt(pages.data(), static_cast<std::int64_t>(pages.size()))) return nullptr;
  return std::shared_ptr<const AdoptedMemory>(
      new AdoptedMemory(device, pages.data(), std::move(keeper)));
}

AdoptedMemory::~AdoptedMemory() { device_.disown(pages_, std::move(keeper_)); }

}  // namespace hearth
