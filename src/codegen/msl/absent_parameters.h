// Removes the parameters of entry points that function constants switch off.
#pragma once

#include "codegen/msl/entries.h"
#include "codegen/text/text_edits.h"

namespace hearth::gpu {

// The values of function constants are pasted into the text, and function_constant(x) must not name
// a pasted one. So the attribute is removed, and so is a parameter that its constant switches off:
// it becomes a null pointer at the beginning of the body, for code that names it and never runs.
// One without an index, or an array, stays as a parameter that nothing binds.
void drop_absent_parameters(const MetalText& text, TextEdits& edits);

}  // namespace hearth::gpu
