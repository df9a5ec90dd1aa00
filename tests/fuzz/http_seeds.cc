// Writes the seed corpus of http_fuzz: `http_seeds FOLDER`. The first byte says where the sender
// waits a moment.

#include <string>
#include <vector>

#include "seeds.h"

namespace {

std::vector<std::string> seeds() {
  const std::string post = "POST /v1/x HTTP/1.1\r\nHost: a\r\n";
  return {
      "\x05GET /health?x=y%20z HTTP/1.1\r\nHost: a\r\n\r\nGET /events HTTP/1.0\r\n\r\n",
      "\x10HEAD / HTTP/1.1\r\nOrigin: http://a\r\nAuthorization: Bearer k\r\n\r\n"
      "OPTIONS /v1/models HTTP/1.1\r\nConnection: close\r\n\r\n",
      "\x40" + post + "Content-Length: 2\r\n\r\n{}" + post + "Content-Length: 0\r\n\r\n",
      "\x50" + post + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n1;x=y\r\nz\r\n0\r\n\r\n",
      "\x01" + post + "Content-Length: 3\r\nExpect: 100-continue\r\n\r\nabc",
      "\x01" + post + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}",
      "\x01" + post + "Content-Length: 99999999999999999999\r\n\r\n",
      "\x01" + post +
          "Content-Type: multipart/form-data; boundary=b\r\nContent-Length: 9\r\n\r\n"
          "--b\r\n\r\n--",
      "\x01" + post + "Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n\x1f\x8b",
      "\x01" + post +
          "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 5\r\n\r\na=b&c",
      "\x01GET / HTTP/1.1\r\nRange: bytes=0-1,5-\r\nAccept-Encoding: gzip, br\r\n\r\n",
      "\x01GET /" + std::string(2100, 'a') + " HTTP/1.1\r\n\r\n",
      "\x01PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
  };
}

}  // namespace

int main(int argc, char** argv) { return hearth::testing::write_seeds(argc, argv, seeds()); }
