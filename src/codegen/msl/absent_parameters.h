// Parameters of entry points that depend on function constants whose values are pasted into the
// text.
#pragma once

#include "codegen/msl/entries.h"
#include "codegen/text/text_edits.h"

namespace hearth::gpu {

// Metal wants a function constant in function_constant(x), and a pasted one is none any more. So
// the attribute goes, and so does a parameter that its constant leaves out: it becomes a null
// pointer at the beginning of the body, for what names it there and never runs. One without an
// index, or an array, stays as a parameter that nobody binds.
void drop_absent_parameters(const MetalText& text, TextEdits& edits);

}  // namespace hearth::gpu
