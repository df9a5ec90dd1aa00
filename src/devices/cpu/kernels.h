// The kernels of the CPU that are no fused regions, one function a family.
#pragma once

#include "graph/kernel.h"

namespace hearth::cpu {

void add_softmax_kernels(KernelTable& table);
void add_norm_kernels(KernelTable& table);
void add_rope_kernels(KernelTable& table);
void add_attention_kernels(KernelTable& table);
void add_attention_backward_kernels(KernelTable& table);
void add_cross_entropy_kernels(KernelTable& table);
void add_arg_reduce_kernels(KernelTable& table);
void add_indexing_kernels(KernelTable& table);
void add_select_kernels(KernelTable& table);
void add_random_kernels(KernelTable& table);
void add_matmul_kernels(KernelTable& table);

// All of the above.
void add_cpu_kernels(KernelTable& table);

}  // namespace hearth::cpu
