// What an open encoder was told of pipelines and buffers, so that it is not told again.
#pragma once

#include <array>
#include <cstddef>

#include "devices/metal/objc/types.h"

namespace hearth::metal {

// Metal keeps what is bound from one dispatch of an encoder to the next, and buffers alive with it.
class BoundArguments {
 public:
  // Of a new encoder.
  void clear() noexcept { *this = {}; }

  bool has_pipeline(Id pipeline) const noexcept { return pipeline == pipeline_; }
  bool has_buffer(Id buffer, UInteger offset, UInteger index) const noexcept {
    return index < kIndices && places_[index] == Place{buffer, offset};
  }
  // Once the encoder was told; a null buffer says that bytes lie there.
  void set_pipeline(Id pipeline) noexcept { pipeline_ = pipeline; }
  void set_buffer(Id buffer, UInteger offset, UInteger index) noexcept {
    if (index < kIndices) places_[index] = {buffer, offset};
  }

 private:
  static constexpr std::size_t kIndices = 31;  // that Metal has

  struct Place {
    Id buffer = nullptr;
    UInteger offset = 0;
    bool operator==(const Place&) const = default;
  };

  Id pipeline_ = nullptr;
  std::array<Place, kIndices> places_ = {};
};

}  // namespace hearth::metal
