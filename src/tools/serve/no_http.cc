// Of programs that are built without the library of HTTP.
#include <utility>

#include "hearth/error.h"
#include "tools/serve/http_transport.h"

namespace hearth::tools::serve {

class HttpTransport::Server {};

HttpTransport::HttpTransport(HttpOptions, std::function<ApiResponse(const ApiRequest&)>) {
  throw Error(ErrorCode::unsupported,
              "serve: HTTP in a program that was built without it; got no cpp-httplib when it was "
              "configured, expected version 0.11 (libcpp-httplib-dev)");
}
HttpTransport::~HttpTransport() = default;
int HttpTransport::start() { return 0; }
void HttpTransport::stop() {}
bool HttpTransport::wait_until_idle(std::chrono::milliseconds) { return true; }

}  // namespace hearth::tools::serve
