// The arrays of a batch on their way to the device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "models/language/batch.h"
#include "models/language/sequences.h"

namespace hearth::models {

class BatchBuilder {
 public:
  // Shapes, into which what is added must fit, and where padding writes.
  struct Sizes {
    std::int64_t rows = 0;
    std::int64_t sequences = 0;
    std::int64_t pages = 0;  // of a sequence
    std::int64_t page_size = 0;
    std::int32_t spare_page = 0;
    std::int32_t spare_window_page = -1;  // -1: no layer has a window
    std::int32_t spare_state = 0;
  };
  explicit BatchBuilder(const Sizes& sizes);

  void add(const SequenceRows& rows);
  Batch batch(Device device);

 private:
  using Numbers = std::vector<std::int32_t>;

  // Where the rows of all sequences are in caches, and where new ones go.
  struct Places {
    Numbers table, slots;

    Places() = default;
    Places(const Sizes& sizes, std::int32_t spare_page);
    void add(const Numbers& pages, std::size_t sequence, std::size_t row, std::int64_t first,
             std::int64_t count, const Sizes& sizes);
  };

  Sizes sizes_;
  Numbers tokens_, positions_, starts_, lengths_, states_, outputs_;
  Places rows_, windows_;
  std::size_t row_ = 0;
  std::size_t sequence_ = 0;
};

}  // namespace hearth::models
