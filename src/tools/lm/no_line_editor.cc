// In place of line_editor.cc where there is no libedit.
#include "tools/lm/line_editor.h"

namespace hearth::tools {

std::unique_ptr<LineEditor> make_line_editor() { return nullptr; }

}  // namespace hearth::tools
