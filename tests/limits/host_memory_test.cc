// Copies that no host has room for are an Error like any other.
#include <gtest/gtest.h>

#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "hearth/ops.h"

namespace hearth::testing {
namespace {

void expect_out_of_memory(const char* what, const std::function<void()>& body) {
  try {
    body();
    ADD_FAILURE() << what << ": no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::out_of_memory) << what << ": " << error.what();
    EXPECT_NE(std::string(error.what()).find("out of memory"), std::string::npos) << error.what();
  } catch (const std::exception& error) {
    ADD_FAILURE() << what << ": " << error.what();
  }
}

TEST(HostMemory, CopiesWithoutRoomAreErrors) {
  // A view of one element: only the copy needs memory. No process has as many addresses, and no
  // vector of doubles the second length.
  for (const std::int64_t elements : {std::int64_t{1} << 46, std::int64_t{1} << 59}) {
    const Array one = Array::from_data(std::vector<float>{1}, {1});
    const Array wide = expand(one, {elements}).eval();
    const Array truth = expand(equal(one, 1.0).eval(), {elements}).eval();
    expect_out_of_memory("to_vector", [&] { wide.to_vector<float>(); });
    expect_out_of_memory("to_vector of bool", [&] { truth.to_vector<bool>(); });
    expect_out_of_memory("to_doubles", [&] { wide.to_doubles(); });
    expect_out_of_memory("host_view", [&] { wide.host_view<float>(); });
    std::ostringstream out;  // reads the elements that it shows
    EXPECT_NO_THROW(out << wide);
    expect_out_of_memory("eval", [&] { add(wide, 1.0).eval(); });
  }
  expect_out_of_memory("zeros", [] { zeros({std::int64_t{1} << 46}).to_vector<float>(); });
}

}  // namespace
}  // namespace hearth::testing
