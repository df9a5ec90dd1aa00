#include "models/sampling/chain_rows.h"

namespace hearth::models {
namespace {

bool stands_in(const std::vector<SamplingStep>& steps, const std::vector<SamplingStep>& order) {
  auto from = order.begin();
  for (const SamplingStep step : steps) {
    from = std::find(from, order.end(), step);
    if (from == order.end()) return false;
    ++from;
  }
  return true;
}

}  // namespace

std::vector<ChainGroup> chain_groups(std::span<SamplingState* const> states,
                                     std::uint64_t refused) {
  std::vector<ChainGroup> groups = {{default_sampling_steps(), {}, {}}};
  for (std::size_t i = 0; i < states.size(); ++i) {
    ChainRow row = chain_row(*states[i], refused);
    auto group = std::find_if(groups.begin(), groups.end(), [&](const ChainGroup& one) {
      return stands_in(row.steps, one.order);
    });
    if (group == groups.end()) group = groups.insert(group, {row.steps, {}, {}});
    group->places.push_back(static_cast<std::int64_t>(i));
    group->rows.push_back(std::move(row));
  }
  std::erase_if(groups, [](const ChainGroup& group) { return group.rows.empty(); });
  return groups;
}

}  // namespace hearth::models
