// Formatting of values into texts, as Python has it.
#pragma once

#include <string_view>

#include "models/chat_template/value.h"

namespace hearth::models::chat_template {

// `format % value`; a tuple is several values. Knows %s %r %d %i %u %f %F %e %g %x %X %o %c %%,
// with flags, width and precision. Throws Error{invalid_argument}.
Value printf_formatted(Context& context, const MarkedText& format, const Value& value);

// format.format(...): {} {0} {name}, each with :specification of fill, alignment, sign, width,
// comma, precision and type, and !r or !s. Throws Error{invalid_argument}, also for attributes and
// items within braces.
Value brace_formatted(Context& context, const MarkedText& format, const Arguments& arguments);

}  // namespace hearth::models::chat_template
