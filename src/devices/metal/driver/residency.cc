#include "devices/metal/driver/residency.h"

#include <algorithm>
#include <array>
#include <string>

namespace hearth::metal {
namespace {

constexpr SystemVersion kFirst{15, 0, 0};

}  // namespace

Residency::Residency(const ObjectiveC& objc, Id device, SystemVersion system) : objc_(objc) {
  if (!(system >= kFirst)) return;
  const AutoreleasePool pool(objc);
  const Id type = objc.type_named("MTLResidencySetDescriptor");
  if (type == nullptr) return;
  const Owned descriptor = objc.send(type, messages::new_residency_descriptor);
  if (!descriptor) return;
  Id error = nullptr;
  Owned set = objc.send(device, messages::new_residency_set, descriptor.get(), &error);
  std::vector<std::string> lines;
  if (!set || !objc.check(set.get(), "MTLResidencySet", MessageInfo::Receiver::object, lines)) {
    return;
  }
  removed_.reserve(kMostRemoved);
  set_ = std::move(set);
}

void Residency::attach(Id queue) const {
  if (set_) objc_.send(queue, messages::add_residency_set, set_.get());
}

void Residency::add(Id buffer) {
  if (!set_) return;
  const std::lock_guard lock(mutex_);
  added_.push_back(buffer);
}

void Residency::remove(Owned buffer) noexcept {
  if (!set_) return;
  const std::lock_guard lock(mutex_);
  const auto found = std::find(added_.begin(), added_.end(), buffer.get());
  if (found != added_.end()) {  // the set never knew it
    *found = added_.back();
    added_.pop_back();
    return;
  }
  if (removed_.size() == kMostRemoved) tell();
  removed_.push_back(std::move(buffer));
}

void Residency::apply() noexcept {
  if (!set_) return;
  const std::lock_guard lock(mutex_);
  tell();
}

void Residency::tell() noexcept {
  if (added_.empty() && removed_.empty()) return;
  const AutoreleasePool pool(objc_);
  if (!added_.empty()) {
    objc_.send(set_.get(), messages::add_allocations, added_.data(), UInteger{added_.size()});
  }
  if (!removed_.empty()) {
    std::array<Id, kMostRemoved> gone;
    std::transform(removed_.begin(), removed_.end(), gone.begin(),
                   [](const Owned& buffer) { return buffer.get(); });
    objc_.send(set_.get(), messages::remove_allocations, gone.data(), UInteger{removed_.size()});
  }
  objc_.send(set_.get(), messages::commit_residency);
  added_.clear();
  removed_.clear();
}

}  // namespace hearth::metal
