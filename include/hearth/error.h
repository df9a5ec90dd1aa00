// The one exception type of Hearth.
#pragma once

#include <stdexcept>
#include <string>

#if defined(_WIN32)
#define HEARTH_API
#else
#define HEARTH_API [[gnu::visibility("default")]]
#endif

namespace hearth {
inline namespace v0 {

// What kind of thing went wrong; bindings map these to their own exception types.
enum class ErrorCode {
  invalid_argument,  // a value outside what the op accepts
  shape,             // ranks or extents do not fit
  dtype,             // an element type the op does not take, or a mix of them
  device,            // arrays on different devices, or a fault of the device itself
  out_of_memory,     // an allocation failed after caches were given back
  unsupported,       // valid, but this device or build cannot do it
  corrupt_file,      // a file's contents break its format; the message has the byte offset
  io,                // the operating system refused to read or write
  internal,          // a fault of Hearth
};

HEARTH_API const char* name(ErrorCode code) noexcept;

// Thrown when an op is recorded, read or evaluated. Reads `op: what is wrong; got ..., expected
// ...`, and ends in ` at file:line`, the caller's, where what was called by name has a CallSite:
// functions of Tensor, layers, optimizers, Gradients::at().
class HEARTH_API Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

}  // namespace v0
}  // namespace hearth
