// Dates as text, in English whatever the process's locale.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace hearth::models::chat_template {

// strftime(): %Y %y %m %d %e %H %I %M %S %f %p %B %b %h %A %a %j %w %u %F %D %T %R %c %x %X %n %t
// %%; of a time without a zone, so %Z and %z are empty. Others stay as they are.
std::string date_text(std::chrono::local_seconds time, std::string_view format);

}  // namespace hearth::models::chat_template
