// Values that ops wait for as they are recorded.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/record/tape.h"
#include "hearth/array.h"
#include "ops/definition/rules.h"

namespace hearth {

// Statistics::syncs: one wait more.
inline void count_sync() { counters().syncs.fetch_add(1, std::memory_order_relaxed); }

// Submits what is recorded and waits for the only element, or for all.
inline std::int64_t number_now(const Array& x) {
  count_sync();
  return x.item<std::int64_t>();
}
template <class T>
std::vector<T> elements_now(const Array& x) {
  count_sync();
  return x.to_vector<T>();
}

}  // namespace hearth
