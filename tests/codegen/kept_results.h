// What compilers made of kernel texts, kept between runs of the tests: in the folder that
// HEARTH_TEST_KERNELS names, if any. A key says all that a result depends on: the text, the
// compiler with its version, the options. Failures are not kept, since other things cause some.
#pragma once

#include <optional>
#include <string>

namespace hearth::gpu_test {

std::optional<std::string> kept_result(const std::string& key);
void keep_result(const std::string& key, const std::string& result);

}  // namespace hearth::gpu_test
