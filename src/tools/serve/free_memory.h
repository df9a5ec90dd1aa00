// Memory that a request needed for a moment.
#pragma once

namespace hearth::tools::serve {

// Gives what was freed to the system: glibc keeps it for each thread that ever needed much. Takes
// some milliseconds; of other C libraries nothing is asked.
void give_memory_back() noexcept;

}  // namespace hearth::tools::serve
