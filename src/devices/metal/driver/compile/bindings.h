// Where the arguments of a command go in a kernel's tables of arguments.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "devices/metal/objc/types.h"
#include "hearth/runtime.h"

namespace hearth::metal {

struct Bindings {
  std::string entry;  // what the library calls the function
  // Of each parameter that is no threadgroup array, in order.
  std::vector<UInteger> buffers;
  // Threadgroup memory that a launch asks for: index and bytes. Arrays of generated entry points
  // are declared there, and ask for none.
  std::vector<std::pair<UInteger, UInteger>> threadgroup;
  // The last argument is the grid in threads, for a text of Metal's own: it is for the API, not for
  // the kernel.
  bool takes_grid = false;
  // Of a batched kernel (runtime/commands/batched_kernel.h): all arguments are one struct, in
  // buffer 0.
  bool is_batch = false;
};

Bindings bindings_of(const runtime::KernelSource& source);

}  // namespace hearth::metal
