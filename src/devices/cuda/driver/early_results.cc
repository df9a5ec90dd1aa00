#include "devices/cuda/driver/early_results.h"

#include <cstring>

namespace hearth::cuda {

EarlyResults::~EarlyResults() {
  if (slots_[0].done == nullptr || !context_.drain()) return;
  try {
    const Context::Scope scope(context_, Context::Use::call);
    for (const Slot& slot : slots_) {
      if (slot.done != nullptr) context_.api().cuEventDestroy_v2(slot.done);
    }
    if (memory_ != nullptr) context_.api().cuMemFreeHost(memory_);
  } catch (const std::exception&) {
    // The driver's library is gone, and its memory with it.
  }
}

void EarlyResults::allocate() {
  if (memory_ != nullptr) return;
  const DriverApi& api = context_.api();
  for (Slot& slot : slots_) {
    if (slot.done != nullptr) continue;  // an earlier try ran out of memory
    context_.check(api.cuEventCreate(&slot.done, kEventDisableTiming), "cuEventCreate");
  }
  void* memory = nullptr;
  const std::size_t bytes = static_cast<std::size_t>(runtime::kEarlyBytes) * slots_.size();
  context_.check(api.cuMemHostAlloc(&memory, bytes, 0), "cuMemHostAlloc");
  memory_ = static_cast<std::byte*>(memory);
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    slots_[i].memory = memory_ + static_cast<std::int64_t>(i) * runtime::kEarlyBytes;
  }
}

void EarlyResults::keep(std::int64_t batch, const runtime::Argument& result) {
  allocate();
  Slot& slot = slots_[next_];
  next_ = (next_ + 1) % slots_.size();
  slot.batch = 0;  // of nobody, should a call be refused
  const auto source = static_cast<DevicePointer>(reinterpret_cast<std::uintptr_t>(result.address));
  const DriverApi& api = context_.api();
  context_.check(
      api.cuMemcpyDtoHAsync_v2(slot.memory, source, static_cast<std::size_t>(result.bytes),
                               context_.stream()),
      "cuMemcpyDtoHAsync");
  context_.check(api.cuEventRecord(slot.done, context_.stream()), "cuEventRecord");
  slot.batch = batch;
  slot.source = result.address;
  slot.bytes = result.bytes;
}

bool EarlyResults::read(std::int64_t batch, void* target, Address source, std::int64_t bytes) {
  for (const Slot& slot : slots_) {
    if (slot.batch != batch || slot.source != source || slot.bytes != bytes) continue;
    context_.check(context_.api().cuEventSynchronize(slot.done), "cuEventSynchronize");
    std::memcpy(target, slot.memory, static_cast<std::size_t>(bytes));
    return true;
  }
  return false;
}

}  // namespace hearth::cuda
