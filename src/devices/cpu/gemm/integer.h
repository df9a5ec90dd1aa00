// Matrix multiply of integers, modulo 2^bits.
#pragma once

#include "devices/cpu/gemm/gemm.h"

namespace hearth::cpu {

// Rows [begin, end) of C for the integer dtype of `args`, on the calling thread.
void gemm_integer_rows(const GemmArgs& args, std::int64_t begin, std::int64_t end);

}  // namespace hearth::cpu
