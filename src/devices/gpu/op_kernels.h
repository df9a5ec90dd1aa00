// The kernels of ops on GPUs, one add function a family.
#pragma once

#include "graph/kernel.h"

namespace hearth::gpu {

void add_indexing_kernels(KernelTable& table);
void add_random_kernels(KernelTable& table);
void add_arg_reduce_kernels(KernelTable& table);
void add_matmul_kernels(KernelTable& table);
void add_attention_kernels(KernelTable& table);
void add_softmax_kernels(KernelTable& table);
void add_norm_kernels(KernelTable& table);

// The kernels that every GPU has: regions, and all of the above. A device adds its own to a copy.
const KernelTable& gpu_kernel_table();

}  // namespace hearth::gpu
