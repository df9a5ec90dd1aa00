#include "tools/serve/listen_error.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <system_error>

namespace hearth::tools::serve {
namespace {

constexpr const char* kOtherHost =
    "another --host, an address of this machine: 127.0.0.1 for itself alone, 0.0.0.0 for all of it";

// The errno that listening on the address ends with; 0: it would be listened on now.
int reason_of(const addrinfo& address) {
  const int made = ::socket(address.ai_family, address.ai_socktype, address.ai_protocol);
  if (made < 0) return errno;
  const int yes = 1;
  ::setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  const bool listens =
      ::bind(made, address.ai_addr, address.ai_addrlen) == 0 && ::listen(made, 1) == 0;
  const int code = listens ? 0 : errno;
  ::close(made);
  return code;
}

}  // namespace

const char* listen_advice(int code) {
  switch (code) {
    case 0:  // it was taken only then
    case EADDRINUSE:
      return "another --port, as another program has this one; --port 0 is one that is free";
    case EACCES:
    case EPERM:
      return "a --port from 1024 on, as those below are the system's own";
    default:
      return kOtherHost;
  }
}

Error listen_error(const std::string& host, int port) {
  const bool is_v6 = host.find(':') != std::string::npos;
  const std::string place =
      (is_v6 ? "[" + host + "]" : host) + (port == 0 ? "" : ":" + std::to_string(port));
  const auto error = [&](const std::string& reason, const char* expected) {
    return Error(ErrorCode::io, "serve: an address that cannot be listened on (" + reason +
                                    "); got " + place + ", expected " + expected);
  };
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const int status = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (status != 0) return error(::gai_strerror(status), kOtherHost);
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owned(found, &::freeaddrinfo);
  int code = 0;
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    code = reason_of(*each);
    if (code == 0) break;
  }
  const std::string reason =
      code == 0 ? "it was taken a moment ago" : std::generic_category().message(code);
  return error(reason, listen_advice(code));
}

}  // namespace hearth::tools::serve
