// The kernels of ops on GPUs, one add function a family.
#pragma once

#include <optional>

#include "graph/kernel.h"
#include "runtime/commands/driver.h"

namespace hearth::gpu {

void add_indexing_kernels(KernelTable& table);
void add_cat_kernels(KernelTable& table);
void add_scatter_kernels(KernelTable& table);
void add_scatter_share_kernels(KernelTable& table);
void add_scatter_bin_kernels(KernelTable& table);
void add_random_kernels(KernelTable& table);
void add_arg_reduce_kernels(KernelTable& table);
void add_matmul_kernels(KernelTable& table);
void add_attention_kernels(KernelTable& table);
void add_few_attention(KernelTable& table);
void add_attention_weights(KernelTable& table);
void add_softmax_kernels(KernelTable& table);
void add_norm_kernels(KernelTable& table);
void add_rope_kernels(KernelTable& table);
void add_cross_entropy_kernels(KernelTable& table);

// What add_matmul_kernels() prepares: any strides, with launch_steps().
Prepared portable_matmul(const Signature& signature);
bool fuses_matmul(const Signature& signature);
// The same where an operand is a vector and its kernel is the best there is.
std::optional<Prepared> matvec(const Signature& signature);
// The same for 2 to 16 vectors and an f32 matrix of `large` elements or more: whether it is, and
// what is prepared for it, with launch_steps(). It takes no epilogue.
inline constexpr std::int64_t kLargeMatrix = std::int64_t{1} << 24;
bool is_matvec_few(const Signature& signature, std::int64_t large = kLargeMatrix);
Prepared matvec_few(const Signature& signature);

// Attention of many rows, any but f64: kernels/attention/tiles.metal.
Prepared portable_attention(const Signature& signature);

// The kernels that every GPU has: regions, and all of the above. A device adds its own to a copy.
const KernelTable& gpu_kernel_table();

void add_library_matmul(KernelTable& table);
// What it prepares, with launch_steps(). Products of `large` multiplications or more are cut where
// that makes them faster.
Prepared library_matmul(const Signature& signature, std::int64_t large);
// The same by a library without kStridedMatmul, where it takes the product with its epilogue.
std::optional<Prepared> packed_library_matmul(const Signature& signature);
// matmul by simdgroup matrices on a GPU of so many cores, or by packed_library_matmul() if there is
// a `library`, whichever is faster.
void add_simdgroup_matmul(KernelTable& table, int cores, bool library);
// Where products are a library's: attention is composed of them as far as memory allows.
void add_composed_attention(KernelTable& table);
// `wide`: heads of up to 256 columns.
void add_library_attention(KernelTable& table, bool wide);
// The same by a library that has kPlainAttention, where it takes it, with launch_steps().
std::optional<Prepared> plain_library_attention(const Signature& signature);
void add_matrix_attention(KernelTable& table);
void add_short_attention(KernelTable& table);
// attention of many rows by simdgroup matrices, or by plain_library_attention() if there is a
// `library`, whichever is faster.
void add_simdgroup_attention(KernelTable& table, bool library);
// The kernels for what not every GPU has: the vendor's libraries, tensor cores and simdgroup
// matrices. Where they accept, they go before the others.
void add_driver_kernels(const runtime::Driver& driver, KernelTable& table);

}  // namespace hearth::gpu
