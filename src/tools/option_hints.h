// Options of other programs that Hearth does without, or has by other means.
#pragma once

#include <string_view>

namespace hearth::tools {

// What to do in place of the option, as it was written, "-ngl" or "--rope-scaling=yarn", of that
// command; null where nobody is known to have it.
const char* option_hint(std::string_view option, std::string_view command = {});

}  // namespace hearth::tools
