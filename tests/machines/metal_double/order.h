// In which order the commands of a command buffer run, and whether that may matter.
#pragma once

#include <string>
#include <vector>

#include "machines/metal_double/commands.h"

namespace hearth::metal::fake {

// Which commands have to be done before each: those that a barrier for all memory, or for a buffer
// that both may touch, keeps before it. By number among `steps`; barriers wait for nothing.
std::vector<std::vector<std::size_t>> waits(const std::vector<Step>& steps);

// An order of the commands that these waits allow, the latest first.
std::vector<std::size_t> latest_first(const std::vector<Step>& steps,
                                      const std::vector<std::vector<std::size_t>>& waits);

// Empty, or what two commands that may run in either order touch, one of them writing.
std::string find_hazard(const std::vector<Step>& steps,
                        const std::vector<std::vector<std::size_t>>& waits,
                        const std::vector<std::vector<Touched>>& touched);

}  // namespace hearth::metal::fake
