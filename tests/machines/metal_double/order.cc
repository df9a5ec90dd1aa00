#include "machines/metal_double/order.h"

#include <algorithm>

namespace hearth::metal::fake {
namespace {

bool share(const std::vector<const Buffer*>& some, const Step& a, const Step& b) {
  const auto touches = [](const Step& step, const Buffer* buffer) {
    return std::find(step.buffers.begin(), step.buffers.end(), buffer) != step.buffers.end();
  };
  return std::any_of(some.begin(), some.end(),
                     [&](const Buffer* each) { return touches(a, each) && touches(b, each); });
}

bool overlap(const Touched& a, const Touched& b) {
  return (a.written || b.written) && a.begin < b.end && b.begin < a.end;
}

}  // namespace

std::vector<std::vector<std::size_t>> waits(const std::vector<Step>& steps) {
  std::vector<std::vector<std::size_t>> all(steps.size());
  for (std::size_t later = 0; later < steps.size(); ++later) {
    if (steps[later].is_barrier) continue;
    for (std::size_t barrier = 0; barrier < later; ++barrier) {
      if (!steps[barrier].is_barrier) continue;
      for (std::size_t i = 0; i < barrier; ++i) {
        if (steps[i].is_barrier) continue;
        const bool orders =
            steps[barrier].buffers.empty() || share(steps[barrier].buffers, steps[i], steps[later]);
        if (orders) all[later].push_back(i);
      }
    }
  }
  return all;
}

std::vector<std::size_t> latest_first(const std::vector<Step>& steps,
                                      const std::vector<std::vector<std::size_t>>& waits) {
  std::vector<std::size_t> order;
  std::vector<bool> done(steps.size());
  const auto is_ready = [&](std::size_t i) {
    return !steps[i].is_barrier && !done[i] &&
           std::all_of(waits[i].begin(), waits[i].end(), [&](std::size_t at) { return done[at]; });
  };
  for (bool found = true; found;) {
    found = false;
    for (std::size_t i = steps.size(); i-- > 0 && !found;) {
      if (!is_ready(i)) continue;
      found = done[i] = true;
      order.push_back(i);
    }
  }
  return order;
}

std::string find_hazard(const std::vector<Step>& steps,
                        const std::vector<std::vector<std::size_t>>& waits,
                        const std::vector<std::vector<Touched>>& touched) {
  // What has to be done before, by way of others too.
  std::vector<std::vector<bool>> before(steps.size(), std::vector<bool>(steps.size()));
  for (std::size_t i = 0; i < steps.size(); ++i) {
    for (const std::size_t at : waits[i]) {
      before[i][at] = true;
      for (std::size_t k = 0; k < at; ++k) before[i][k] = before[i][k] || before[at][k];
    }
  }
  for (std::size_t later = 0; later < steps.size(); ++later) {
    for (std::size_t i = 0; i < later; ++i) {
      if (before[later][i]) continue;
      for (const Touched& a : touched[i]) {
        for (const Touched& b : touched[later]) {
          if (!overlap(a, b)) continue;
          return "no barrier: " + steps[later].launch.kernel->name +
                 (b.written ? " writes" : " reads") + " what " + steps[i].launch.kernel->name +
                 (a.written ? " writes" : " reads") + " before it";
        }
      }
    }
  }
  return "";
}

}  // namespace hearth::metal::fake
