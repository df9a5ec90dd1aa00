#include "kernels/launch/op_kernels.h"

#include "kernels/attention/problem.h"
#include "kernels/matmul/problem.h"
#include "kernels/regions/region_kernel.h"

namespace hearth::gpu {

const KernelTable& gpu_kernel_table() {
  static const KernelTable* const table = [] {
    auto* made = new KernelTable;
    made->region = gpu_region_kernel();
    add_indexing_kernels(*made);
    add_cat_kernels(*made);
    add_scatter_kernels(*made);
    add_scatter_share_kernels(*made);
    add_scatter_bin_kernels(*made);
    add_random_kernels(*made);
    add_arg_reduce_kernels(*made);
    add_matmul_kernels(*made);
    add_attention_kernels(*made);
    add_few_attention(*made);
    add_attention_weights(*made);
    add_softmax_kernels(*made);
    add_norm_kernels(*made);
    add_rope_kernels(*made);
    add_cross_entropy_kernels(*made);
    return made;
  }();
  return *table;
}

void add_driver_kernels(const runtime::Driver& driver, KernelTable& table) {
  if (driver.has_library(kStridedMatmul)) {
    add_library_matmul(table);
    add_composed_attention(table);
  }
  if (driver.has_library(kAttentionFunction) && !driver.has_library(kPlainAttention)) {
    add_library_attention(table, driver.has_library(kWideAttention));
  }
  if (driver.properties().has_tile_products) {
    add_matrix_attention(table);
    add_short_attention(table);
  }
  if (driver.properties().has_simdgroup_matrix) {
    add_simdgroup_matmul(table, driver.properties().processors,
                         driver.has_library(kMatmulFunction));
    add_simdgroup_attention(table, driver.has_library(kPlainAttention));
  }
}

}  // namespace hearth::gpu
