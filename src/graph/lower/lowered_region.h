// A region as devices compile it: with merged axes, liveness and fused multiply-adds, which are
// computed once for all devices.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/lower/layout.h"
#include "graph/plan/region.h"
#include "runtime/device/device_traits.h"

namespace hearth {

struct LoweredInstruction {
  DType work;                // its arguments are converted to it, but for the condition of where()
  std::int8_t product = -1;  // which argument is the product of an fma, or -1
  bool absorbed = false;     // a product that the fma carries out
  bool narrows = false;      // the result is brought back to its dtype: wrapped, or rounded
  bool rounds_source = false;  // a cast whose half source is held as f32: it is rounded first
  bool live = false;           // what leaves the region needs it
};

struct LoweredRegion {
  Region region;
  const runtime::DeviceTraits* device = &runtime::common_traits();  // that it is prepared for
  RegionLayout layout;
  std::vector<LoweredInstruction> instructions;  // one for each of the region
  std::vector<int> uses;       // of each value, by live instructions and by what leaves the region
  std::vector<int> last_read;  // of each value: the last instruction that reads it, or -1; what an
                               // fma absorbs is read by the fma

  // Instruction `i` is carried out as it stands, by itself.
  bool is_carried_out(std::size_t i) const {
    return instructions[i].live && !instructions[i].absorbed;
  }
  // The dtype that argument `k` of instruction `i` is converted to.
  DType argument_dtype(std::size_t i, int k) const;
  // The dtype that values are reduced in.
  DType reduced_dtype() const;
};

LoweredRegion lower(Region region);
// The same where the region is in its place already.
void lower(LoweredRegion* lowered);

}  // namespace hearth
