// The inputs of paged_attention, as its kernels know them: kernels/attention/paged.metal.
#pragma once

#include <cstdint>
#include <string>

#include "codegen/dialect_types.h"
#include "kernels/launch/kernel_call.h"
#include "ops/attention/paged.h"

namespace hearth::gpu {

#include "kernels/attention/params.h"

// Elements of 16 bits that one load takes: what columns and strides are whole ones of.
inline constexpr std::int64_t kMatrixVector = 8;

// Of a unit or tile.
inline constexpr std::int64_t kPagedEntryBytes = kPagedEntry * std::int64_t{sizeof(std::int32_t)};
// Rows of a sequence up to which they are units.
inline constexpr std::int64_t kFewPagedRows = 4;

// The inputs of a launch and what its kernels know of them.
struct PagedInputs {
  const Signature& signature;
  PagedAttentionParams params{};
  StepArgument arguments[paged::kInputs];
  paged::CacheFormat key_format, value_format;
  bool has_softcap;

  // Units for all rows. `tile` rows at most are in a tile; 0: rows of longer sequences are units
  // too.
  PagedInputs(const Signature& from, std::int64_t tile);

  const TensorSpec& input(int i) const { return signature.inputs[static_cast<std::size_t>(i)]; }
  bool has(int i) const {
    return static_cast<std::size_t>(i) < signature.inputs.size() && !input(i).absent;
  }
  DType dtype() const { return input(paged::kQ).dtype; }
  DType cache_dtype() const { return input(paged::kKeys).dtype; }
  // What tensor cores multiply.
  DType matrix_dtype() const {
    return key_format != 0 || value_format != 0 ? DType::f16 : cache_dtype();
  }
  std::string memory() const { return dialect_type(dtype()); }
  std::string cache_memory() const { return dialect_type(cache_dtype()); }
  std::string value() const { return sum_type(dtype()); }

  // Whether a kernel reads keys and values alike, as floats.
  bool is_uniform() const {
    return key_format == 0 && value_format == 0 && cache_dtype() == input(paged::kValues).dtype;
  }
  // What a row of a cache is aligned to where it is loaded in vectors, or codes in words.
  static std::int64_t wide_bytes(paged::CacheFormat format) {
    return format == 0 ? kPacketBytes : is_turbo_bits(format) ? 4 : 2;
  }
  // The loader of a cache in kernels/attention/paged_codes.metal.
  static std::string loader(const TensorSpec& cache, paged::CacheFormat format, bool wide);

  // Whether rows of the caches can be loaded in vectors where the addresses fit.
  bool rows_fit_vectors() const;

 private:
  PagedOperand rows_of(int i);
  PagedNumbers numbers_of(int i);
};

}  // namespace hearth::gpu
