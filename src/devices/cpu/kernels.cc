#include "devices/cpu/kernels.h"

namespace hearth::cpu {

void add_cpu_kernels(KernelTable& table) {
  add_softmax_kernels(table);
  add_norm_kernels(table);
  add_rope_kernels(table);
  add_attention_kernels(table);
  add_attention_backward_kernels(table);
  add_cross_entropy_kernels(table);
  add_arg_reduce_kernels(table);
  add_indexing_kernels(table);
  add_select_kernels(table);
  add_random_kernels(table);
  add_matmul_kernels(table);
}

}  // namespace hearth::cpu
