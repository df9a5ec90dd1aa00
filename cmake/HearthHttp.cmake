# hearth_http: the target of cpp-httplib, for `hearth serve`. It is there only where the library is
# and lets a server bring its own connections, which bound what a peer may send: version 0.11, as
# Debian 12 has it. A system that is built for from another has none.
include_guard()
if(CMAKE_CROSSCOMPILING)
  return()
endif()
find_package(PkgConfig)
if(NOT PKG_CONFIG_FOUND)
  return()
endif()
pkg_check_modules(HEARTH_HTTPLIB IMPORTED_TARGET GLOBAL cpp-httplib>=0.11)
if(NOT TARGET PkgConfig::HEARTH_HTTPLIB)
  return()
endif()

include(CheckCXXSourceCompiles)
set(CMAKE_REQUIRED_LIBRARIES PkgConfig::HEARTH_HTTPLIB)
set(CMAKE_REQUIRED_FLAGS -std=c++20)
check_cxx_source_compiles("
#include <httplib.h>
class Connection final : public httplib::Stream {
 public:
  bool is_readable() const override { return true; }
  bool is_writable() const override { return true; }
  ssize_t read(char*, size_t) override { return -1; }
  ssize_t write(const char*, size_t) override { return -1; }
  void get_remote_ip_and_port(std::string&, int&) const override {}
  void get_local_ip_and_port(std::string&, int&) const override {}
  socket_t socket() const override { return 0; }
};
class Bounded final : public httplib::Server {
  bool process_and_close_socket(socket_t) override {
    Connection connection;
    bool closed = false;
    return process_request(connection, true, closed, [](httplib::Request&) {});
  }
};
int main() { Bounded server; }
" HEARTH_HTTPLIB_IS_BOUNDED)
unset(CMAKE_REQUIRED_LIBRARIES)
unset(CMAKE_REQUIRED_FLAGS)
if(HEARTH_HTTPLIB_IS_BOUNDED)
  add_library(hearth_http INTERFACE)
  target_link_libraries(hearth_http INTERFACE PkgConfig::HEARTH_HTTPLIB)
  # What bodies are unpacked by. Without it, packed ones are refused.
  pkg_check_modules(HEARTH_ZLIB IMPORTED_TARGET GLOBAL zlib)
  if(TARGET PkgConfig::HEARTH_ZLIB)
    target_link_libraries(hearth_http INTERFACE PkgConfig::HEARTH_ZLIB)
    target_compile_definitions(hearth_http INTERFACE HEARTH_HAS_ZLIB=1)
  endif()
endif()
