// Kernels on the fake card that compute something, so that wrong arguments or a wrong order show.
#pragma once

#include <cstdint>
#include <cstring>

#include "devices/cuda/fake_card.h"

namespace hearth::cuda {

struct Constant {
  std::uint32_t add;
  std::uint32_t times;
};

inline runtime::Argument buffer(Address address) { return {address, 4, nullptr}; }
inline runtime::Argument constant(const Constant& value) { return {nullptr, sizeof value, &value}; }

// A fake card and words of memory on it.
class MaddCard : public FakeCard {
 protected:
  void SetUp() override {
    FakeCard::SetUp();
    // Kernels compute y = x * times + add.
    fake_->kernel = [this](const fake::KernelRun& run) {
      auto x = run.argument<DevicePointer>(0);
      auto y = run.argument<DevicePointer>(1);
      const auto p = run.argument<Constant>(2);
      std::uint32_t value = 0;
      std::memcpy(&value, fake_->at(x, 4), 4);
      value = value * p.times + p.add;
      std::memcpy(fake_->at(y, 4), &value, 4);
    };
  }

  Address allocate_word(std::uint32_t value) {
    const Address address = driver_->allocate(4);
    driver_->copy_to_device(address, &value, 4);
    return address;
  }
};

}  // namespace hearth::cuda
