#include "devices/metal/driver/memory/residency.h"

#include <algorithm>
#include <string>

namespace hearth::metal {
namespace {

constexpr SystemVersion kResidencySets{15, 0, 0};

// Takes a buffer out of those that are not yet applied to a set.
bool forget(std::vector<Id>& untold, Id buffer) {
  const auto found = std::find(untold.begin(), untold.end(), buffer);
  if (found == untold.end()) return false;
  *found = untold.back();
  untold.pop_back();
  return true;
}

}  // namespace

Residency::Residency(const ObjectiveC& objc, Id device, SystemVersion system)
    : objc_(objc), device_(device) {
  if (!(system >= kResidencySets)) return;
  const AutoreleasePool pool(objc);
  if (objc.type_named("MTLResidencySetDescriptor") == nullptr) return;
  Owned set = new_set();
  std::vector<std::string> lines;
  if (!set || !objc.check(set.get(), "MTLResidencySet", MessageInfo::Receiver::object, lines)) {
    return;
  }
  const auto memory = static_cast<std::int64_t>(objc.send(device, messages::working_set_size));
  share_ = memory / kShares;
  most_ = memory / 100 * kMaxHundredths;
  removed_.reserve(kMaxRemoved);
  sets_.reserve(kMaxSets);
  sets_.push_back({std::move(set), 0, {}, {}});
}

Owned Residency::new_set() const {
  const Owned descriptor =
      objc_.send(objc_.type_named("MTLResidencySetDescriptor"), messages::new_residency_descriptor);
  if (!descriptor) return {};
  Id error = nullptr;
  return objc_.send(device_, messages::new_residency_set, descriptor.get(), &error);
}

void Residency::attach(Id queue) {
  const std::lock_guard lock(mutex_);
  queue_ = queue;
  for (const Set& each : sets_) objc_.send(queue, messages::add_residency_set, each.set.get());
}

std::size_t Residency::set_for(std::int64_t bytes) {
  for (std::size_t i = 0; i < sets_.size(); ++i) {
    if (sets_[i].bytes == 0 || sets_[i].bytes + bytes <= share_) return i;
  }
  if (sets_.size() < kMaxSets) {
    const AutoreleasePool pool(objc_);
    if (Owned made = new_set()) {
      if (queue_ != nullptr) objc_.send(queue_, messages::add_residency_set, made.get());
      sets_.push_back({std::move(made), 0, {}, {}});
      return sets_.size() - 1;
    }
  }
  const auto least = std::min_element(sets_.begin(), sets_.end(),
                                      [](const Set& a, const Set& b) { return a.bytes < b.bytes; });
  return static_cast<std::size_t>(least - sets_.begin());
}

void Residency::enter(Entries::value_type& entry) {
  const std::size_t at = set_for(entry.second.bytes);
  Set& set = sets_[at];
  set.added.reserve(set.added.size() + 1);
  if (!forget(set.removed, entry.first)) set.added.push_back(entry.first);
  set.bytes += entry.second.bytes;
  held_ += entry.second.bytes;
  entry.second.set = at;
  --left_out_;
}

void Residency::leave(Entries::value_type& entry) {
  Set& set = sets_[entry.second.set];
  if (!forget(set.added, entry.first)) set.removed.push_back(entry.first);
  set.bytes -= entry.second.bytes;
  held_ -= entry.second.bytes;
  has_room_ = true;
  entry.second.set = kNowhere;
  ++left_out_;
}

// Adopted memory is left out until `bytes` more fit, or none is left.
void Residency::make_room(std::int64_t bytes) {
  for (Entries::value_type& each : adopted_) {
    if (held_ + bytes <= most_) return;
    if (each.second.set != kNowhere) leave(each);
  }
}

void Residency::fill_room(Entries& entries, std::int64_t most) {
  for (Entries::value_type& each : entries) {
    if (left_out_ == 0) return;
    if (each.second.set == kNowhere && held_ + each.second.bytes <= most) enter(each);
  }
}

void Residency::add(Id buffer, std::int64_t bytes, bool is_adopted) {
  if (sets_.empty()) return;
  const std::lock_guard lock(mutex_);
  Entries& entries = is_adopted ? adopted_ : own_;
  Entries::value_type& entry = *entries.insert_or_assign(buffer, Entry{bytes}).first;
  ++left_out_;
  if (!is_adopted) make_room(bytes);
  if (held_ + bytes <= most_) enter(entry);
}

void Residency::remove(Owned buffer) noexcept {
  if (sets_.empty()) return;
  without_throwing([&] {
    const std::lock_guard lock(mutex_);
    Entries& entries = own_.contains(buffer.get()) ? own_ : adopted_;
    const auto entry = entries.find(buffer.get());
    if (entry == entries.end()) return;
    if (removed_.size() == kMaxRemoved) tell();
    if (entry->second.set != kNowhere) leave(*entry);
    --left_out_;
    entries.erase(entry);
    const bool is_known = std::any_of(sets_.begin(), sets_.end(), [&](const Set& each) {
      return std::find(each.removed.begin(), each.removed.end(), buffer.get()) !=
             each.removed.end();
    });
    if (is_known) removed_.push_back(std::move(buffer));
  });
}

void Residency::apply() noexcept {
  if (sets_.empty()) return;
  without_throwing([&] {
    const std::lock_guard lock(mutex_);
    if (has_room_) {
      fill_room(own_, most_);
      // What comes back has to stay for a while: adopted memory is large.
      fill_room(adopted_, most_ - share_);
      has_room_ = false;
    }
    tell();
  });
}

void Residency::tell() {
  const AutoreleasePool pool(objc_);
  for (Set& each : sets_) {
    if (each.added.empty() && each.removed.empty()) continue;
    if (!each.added.empty()) {
      objc_.send(each.set.get(), messages::add_allocations, each.added.data(),
                 UInteger{each.added.size()});
    }
    if (!each.removed.empty()) {
      objc_.send(each.set.get(), messages::remove_allocations, each.removed.data(),
                 UInteger{each.removed.size()});
    }
    objc_.send(each.set.get(), messages::commit_residency);
    each.added.clear();
    each.removed.clear();
  }
  removed_.clear();
}

}  // namespace hearth::metal
