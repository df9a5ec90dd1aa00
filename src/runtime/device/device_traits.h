// What implementations know of the device that they are selected and prepared for. The shapes of
// launches follow from these numbers.
#pragma once

#include <cstdint>
#include <functional>

#include "hearth/runtime.h"
#include "runtime/commands/library_call.h"

namespace hearth {
inline namespace v0 {
namespace runtime {

// What the vendor's libraries do on a device.
struct LibraryTraits {
  // Matrix products.
  struct Matmul {
    bool exists = false;
    // Results may have gaps between rows and matrices, and matrices any size. Else results are
    // packed, and no operand reaches over 2^31 elements.
    bool strided = false;
    // Runs only where a user's rule names it.
    bool on_request = false;
    std::int64_t workspace_bytes = 0;  // for one product: what its maker recommends
  };
  // Attention of 16-bit floats; with a bias, bounded, with the logarithms of the rows' sums, and
  // its gradient.
  struct Attention {
    bool exists = false;
    std::int64_t max_columns = 0;  // of a head
  };
  // Attention of floats of up to 32 bits, without all that.
  struct PlainAttention {
    bool exists = false;
    bool on_request = false;
  };
  // Convolutions of floats of up to 32 bits, and their gradients. Operands may have their channels
  // innermost, and are multiplied faster so where tensor cores do it.
  struct Conv {
    bool exists = false;
  };
  // Factorizations of matrices of f32 and f64, and systems of equations whose matrix is a triangle.
  struct Factorizations {
    // Opens the library where that has not been done: whether it is there. Thread-safe. Null: no.
    std::function<bool()> opens;
    // Bytes of workspace that a call of the library, which is open, asks for. Asked when the call
    // is planned: what the library itself needs on the device is made then, too. Thread-safe, as
    // long as the driver lives. Null: none.
    std::function<std::int64_t(const LibraryCall&)> workspace;
    // Runs only where a user's rule names it.
    bool on_request = false;
  };

  Matmul matmul;
  Attention attention;
  PlainAttention plain_attention;
  Conv conv;
  Factorizations factorizations;
};

struct DeviceTraits : Properties {
  DeviceTraits() = default;
  DeviceTraits(const Properties& properties, const LibraryTraits& vendor)
      : Properties(properties), libraries(vendor) {}

  LibraryTraits libraries;
};

// Of no device in particular: what every GPU has.
const DeviceTraits& common_traits();

}  // namespace runtime
}  // namespace v0
}  // namespace hearth
