// What nobody catches: a program's last words are the error's.
#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>
#include <type_traits>

#include "hearth/tensor.h"

namespace hearth {
namespace {

static_assert(std::is_base_of_v<std::runtime_error, Error>);

TEST(UncaughtDeathTest, TheMessageIsPrinted) {
  const Tensor<2> x{{1, 2, 3}, {4, 5, 6}};
  EXPECT_DEATH(
      std::thread([&] { static_cast<void>(x.matmul(x)); }).join(),
      "matmul: inner extents differ; got \\[2, 3\\] and \\[2, 3\\].* at .*uncaught_test.cc:");
}

}  // namespace
}  // namespace hearth
