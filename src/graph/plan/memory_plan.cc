// Pass 4 of the planner: where every root lives.
//
// First, values that die donate their memory: to an op that overwrites its input, and to
// elementwise results of the same size. Then the others are placed in the arena by replaying the
// steps against a best-fit free list. Escapes, and what was merged with them, get storage of their
// own.
#include <algorithm>
#include <map>

#include "core/integer_math.h"
#include "graph/plan/region_builder.h"

namespace hearth {
namespace {

std::int64_t aligned(std::int64_t bytes) {
  return round_up(std::clamp<std::int64_t>(bytes, 1, kMaxBytes) + kPadding, kAlignment);
}

// Whether two arrays of the shape that begin at one address have each element in one place.
bool lies_alike(const Shape& shape, const Strides& a, const Strides& b) {
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] > 1 && a[axis] != b[axis]) return false;
  }
  return true;
}

// Free blocks of the arena by offset; grows at the end when nothing fits.
class ArenaReplay {
 public:
  std::int64_t take(std::int64_t bytes) {
    auto best = free_.end();
    for (auto block = free_.begin(); block != free_.end(); ++block) {
      if (block->second < bytes) continue;
      if (best == free_.end() || block->second < best->second) best = block;
      if (best->second == bytes) break;
    }
    if (best == free_.end()) {
      // Extend the last block if it touches the end.
      if (!free_.empty() &&
          std::prev(free_.end())->first + std::prev(free_.end())->second == end_) {
        const auto last = std::prev(free_.end());
        const std::int64_t offset = last->first;
        free_.erase(last);
        end_ = add_bytes(offset, bytes);
        return offset;
      }
      const std::int64_t offset = end_;
      end_ = add_bytes(end_, bytes);
      return offset;
    }
    const std::int64_t offset = best->first;
    const std::int64_t left = best->second - bytes;
    free_.erase(best);
    if (left > 0) free_[offset + bytes] = left;
    return offset;
  }
  void give_back(std::int64_t offset, std::int64_t bytes) {
    auto next = free_.lower_bound(offset);
    if (next != free_.end() && offset + bytes == next->first) {
      bytes += next->second;
      next = free_.erase(next);
    }
    if (next != free_.begin()) {
      const auto before = std::prev(next);
      if (before->first + before->second == offset) {
        before->second += bytes;
        return;
      }
    }
    free_[offset] = bytes;
  }
  std::int64_t end() const { return end_; }

 private:
  std::map<std::int64_t, std::int64_t> free_;
  std::int64_t end_ = 0;
};

}  // namespace

int Planner::resolve(int root) const {
  while (roots_[static_cast<std::size_t>(root)].merged_into >= 0) {
    root = roots_[static_cast<std::size_t>(root)].merged_into;
  }
  return root;
}

void Planner::note_read(const PlanValue& value, int step) {
  if (value.root < 0) return;
  PlanRoot& root = roots_[static_cast<std::size_t>(value.root)];
  root.last_step = std::max(root.last_step, step);
}

// Lets root `into`, born at `step`, live in the memory of `from`, which is read there for the last
// time. The two have the same bytes and the same layout.
bool Planner::take_over(int into, int from, int step) {
  // What has taken over an external itself may pass it on: updates in a row stay in one place.
  const bool is_passed_on = resolve(from) != from;
  from = resolve(from);
  PlanRoot& target = roots_[static_cast<std::size_t>(into)];
  PlanRoot& source = roots_[static_cast<std::size_t>(from)];
  if (into == from || target.merged_into >= 0 || source.escapes || source.last_step != step ||
      source.bytes != target.bytes) {
    return false;
  }
  if (source.external >= 0) {
    const auto slot = static_cast<std::size_t>(source.external);
    if (!switches_.donate || !facts_[slot].donatable) return false;
    if (donated_[slot] && !is_passed_on) return false;
    if (!donated_[slot]) ++plan_->donations;
    donated_[slot] = true;
  }
  target.merged_into = from;
  source.last_step = std::max(source.last_step, target.last_step);
  source.escapes |= target.escapes;
  return true;
}

// An output of a region may be written over an input that no later instruction reads.
void Planner::take_over_in_region(const BuiltRegion& built, int step) {
  const Region& region = built.lowered.region;
  const int first_result = region.first_result();
  const auto may_hold = [&](std::size_t o, std::size_t i) {
    const PlanValue& input = built.inputs[i];
    if (!input.dynamic.empty() || input.layout.offset != 0 ||
        !lies_alike(region.shape, region.inputs[i].strides, region.outputs[o].strides) ||
        size_of(region.inputs[i].dtype) != size_of(region.outputs[o].dtype)) {
      return false;
    }
    bool broadcast = false;
    for (int axis = 0; axis < region.shape.rank(); ++axis) {
      broadcast |= region.inputs[i].strides[axis] == 0 && region.shape[axis] > 1;
    }
    bool other_view = false;  // the same root through another layout
    for (std::size_t k = 0; k < built.inputs.size(); ++k) {
      other_view |= k != i && resolve(built.inputs[k].root) == resolve(input.root);
    }
    const bool read_later = region.reduction.value == static_cast<int>(i) ||
                            built.lowered.last_read[i] > region.outputs[o].value - first_result;
    return !broadcast && !other_view && !read_later;
  };
  const auto is_external = [&](std::size_t i) {
    const int root = built.inputs[i].root;
    return root >= 0 && roots_[static_cast<std::size_t>(resolve(root))].external >= 0;
  };
  for (std::size_t o = 0; o < region.outputs.size(); ++o) {
    if (region.outputs[o].value < first_result) continue;
    // What escapes lives on in memory that came from outside, if it can: a parameter that is
    // updated stays where it is, and the plan can be replayed. Else it would have new storage every
    // time, though a gradient's place in the arena is spared.
    const int output = built.output_roots[o];
    const bool escapes = roots_[static_cast<std::size_t>(output)].escapes;
    bool taken = false;
    for (const bool outside : {escapes, !escapes}) {
      for (std::size_t i = 0; i < built.inputs.size() && !taken; ++i) {
        taken = is_external(i) == outside && may_hold(o, i) &&
                take_over(output, built.inputs[i].root, step);
      }
    }
  }
}

void Planner::place_memory() {
  // An op that overwrites an input gets a copy in front, which vanishes where it can take over.
  for (std::size_t s = 0; s < order_.size(); ++s) {
    const int index = order_[s];
    if (items_[static_cast<std::size_t>(index)].kind != PlanItem::Kind::kernel) continue;
    const int overwrites =
        nodes_[items_[static_cast<std::size_t>(index)].members[0]].op->overwrites;
    if (overwrites < 0) continue;
    const int copy = new_item(PlanItem::Kind::copy, 0);
    PlanItem& kernel = items_[static_cast<std::size_t>(index)];
    PlanItem& item = items_.back();
    item.root = kernel.root;
    item.source = kernel.inputs[static_cast<std::size_t>(overwrites)];
    PlanValue result;
    result.root = kernel.root;
    result.layout.strides = contiguous_strides(roots_[static_cast<std::size_t>(kernel.root)].shape);
    kernel.inputs[static_cast<std::size_t>(overwrites)] = result;
    order_.insert(order_.begin() + static_cast<std::ptrdiff_t>(s), copy);
    built_.insert(built_.begin() + static_cast<std::ptrdiff_t>(s),
                  RegionBuilder(*this).build_copy(items_[static_cast<std::size_t>(copy)]));
    ++s;
  }
  const auto steps = static_cast<int>(order_.size());
  for (int s = 0; s < steps; ++s) {
    const PlanItem& item = items_[static_cast<std::size_t>(order_[static_cast<std::size_t>(s)])];
    const BuiltRegion& built = built_[static_cast<std::size_t>(s)];
    const auto born = [&](int root) {
      PlanRoot& made = roots_[static_cast<std::size_t>(root)];
      if (made.first_step < 0) made.first_step = s;
      made.last_step = std::max(made.last_step, s);
    };
    if (item.kind == PlanItem::Kind::kernel) {
      for (const PlanValue& input : item.inputs) note_read(input, s);
      born(item.root);
      for (const int root : item.more_roots) born(root);
    } else {
      for (const PlanValue& input : built.inputs) note_read(input, s);
      for (const int root : built.output_roots) born(root);
      if (built.reduction_root >= 0) born(built.reduction_root);
    }
  }
  for (int s = 0; s < steps; ++s) {
    PlanItem& item = items_[static_cast<std::size_t>(order_[static_cast<std::size_t>(s)])];
    const BuiltRegion& built = built_[static_cast<std::size_t>(s)];
    if (item.kind == PlanItem::Kind::copy) {
      const bool whole =
          item.source.root >= 0 && item.source.dynamic.empty() && item.source.layout.offset == 0 &&
          lies_alike(roots_[static_cast<std::size_t>(item.root)].shape, item.source.layout.strides,
                     roots_[static_cast<std::size_t>(item.root)].strides);
      if (whole && take_over(item.root, item.source.root, s)) item.kind = PlanItem::Kind::dead;
    } else if (item.kind == PlanItem::Kind::region) {
      take_over_in_region(built, s);
    }
  }
  assign_storage();
  std::size_t kept = 0;
  for (std::size_t s = 0; s < order_.size(); ++s) {
    if (items_[static_cast<std::size_t>(order_[s])].kind == PlanItem::Kind::dead) continue;
    if (kept != s) {
      order_[kept] = order_[s];
      built_[kept] = std::move(built_[s]);
    }
    ++kept;
  }
  order_.resize(kept);
  built_.resize(kept);
}

void Planner::assign_storage() {
  const auto steps = static_cast<int>(order_.size());
  std::vector<std::vector<int>> born(static_cast<std::size_t>(steps));
  std::vector<std::vector<int>> dying(static_cast<std::size_t>(steps));
  for (std::size_t r = 0; r < roots_.size(); ++r) {
    PlanRoot& root = roots_[r];
    if (root.merged_into >= 0 || !root.in_memory) continue;
    if (root.external >= 0) {
      if (!root.escapes) continue;
      plan_->storages.push_back({root.bytes, root.external});
      root.place.base = plan_->storage_base(static_cast<int>(plan_->storages.size()) - 1);
    } else if (root.first_step < 0) {
      continue;
    } else if (root.escapes) {
      plan_->storages.push_back({std::max<std::int64_t>(root.bytes, 1), -1});
      plan_->storage_bytes = add_bytes(plan_->storage_bytes, root.bytes);
      root.place.base = plan_->storage_base(static_cast<int>(plan_->storages.size()) - 1);
    } else {
      root.place.base = 0;
      born[static_cast<std::size_t>(root.first_step)].push_back(static_cast<int>(r));
      dying[static_cast<std::size_t>(root.last_step)].push_back(static_cast<int>(r));
    }
  }
  ArenaReplay arena;
  for (int s = 0; s < steps; ++s) {
    for (const int r : born[static_cast<std::size_t>(s)]) {
      PlanRoot& root = roots_[static_cast<std::size_t>(r)];
      root.place.offset_bytes = arena.take(aligned(root.bytes));
    }
    for (const int r : dying[static_cast<std::size_t>(s)]) {
      const PlanRoot& root = roots_[static_cast<std::size_t>(r)];
      arena.give_back(root.place.offset_bytes, aligned(root.bytes));
    }
  }
  plan_->arena_bytes = arena.end();
}

}  // namespace hearth
