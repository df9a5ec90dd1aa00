// Why a server cannot listen, and what helps.
#pragma once

#include <string>

#include "hearth/error.h"

namespace hearth::tools::serve {

// Of an address that could not be listened on, which is tried once more for the system's reason.
// Port 0: any.
Error listen_error(const std::string& host, int port);

// What to listen on instead, where the system's reason was this errno.
const char* listen_advice(int code);

}  // namespace hearth::tools::serve
