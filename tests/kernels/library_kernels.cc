// The kernels of src/kernels, from what every implementation of the families prepares: for the
// samples of its op, in dtypes of every size, in several layouts, with optional inputs and results
// left out, with epilogues, with larger extents, on devices that have all that an implementation
// may need.
#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "graph/record/node.h"
#include "hearth/error.h"
#include "kernels/families.h"
#include "kernels/instances.h"
#include "kernels/launch/step_plan.h"
#include "kernels/sample_kernels.h"
#include "ops/definition/defs.h"
#include "ops/definition/sample_signature.h"
#include "ops/packed/turbo.h"

namespace hearth::gpu_test {
namespace {

using runtime::DeviceTraits;
using runtime::KernelSource;

// One of each size, signed and not. f64 is left out, which Metal has not; truth values are for ops
// that take nothing else.
std::vector<DType> dtypes_of(const OpDef& op) {
  std::vector<DType> dtypes;
  for (const DType dtype :
       {DType::f32, DType::f16, DType::bf16, DType::i64, DType::u32, DType::i8}) {
    if (op.accepts_dtype == nullptr || op.accepts_dtype(dtype)) dtypes.push_back(dtype);
  }
  if (dtypes.empty()) dtypes.push_back(DType::bool_);
  return dtypes;
}

// Of kernels that several launch the first counts, whose threads CUDA's compiler is told.
std::vector<DeviceTraits> kinds_of_device() {
  const DeviceTraits plain;
  DeviceTraits cuda;
  cuda.processors = 128;
  cuda.processor_threads = 2048;
  cuda.processor_registers = 64 * 1024;
  cuda.thread_registers = 255;
  cuda.processor_memory = 228 * 1024;
  cuda.large_threadgroup_memory = 49 * 1024;  // what tiles of prompts take, at least
  cuda.has_tile_products = true;
  cuda.libraries.matmul = {.exists = true, .strided = true};
  cuda.libraries.attention = {.exists = true, .max_columns = 256};
  cuda.libraries.factorizations.opens = [] { return true; };
  DeviceTraits metal;
  metal.processors = 16;
  metal.processor_registers = 52 * 1024;
  metal.processor_memory = 60 * 1024;
  metal.has_simdgroup_matrix = true;
  metal.libraries.matmul = {.exists = true};
  metal.libraries.plain_attention = {.exists = true};
  return {cuda, plain, metal};
}

// The sample with those of its extents multiplied that are in `chosen`.
SampleCase scaled(SampleCase sample, const std::set<std::int64_t>& chosen, std::int64_t factor) {
  for (SampleInput& input : sample.inputs) {
    for (int axis = 0; axis < input.shape.rank(); ++axis) {
      if (chosen.contains(input.shape[axis])) input.shape[axis] *= factor;
    }
  }
  return sample;
}

// Of turbo_quantize, which no list of ops has: another order of sums may change its results by a
// bit, so that no table compares them.
std::vector<SampleCase> turbo_samples(const OpDef& op) {
  std::vector<SampleCase> all;
  if (&op != &turbo_quantize_op) return all;
  for (std::int64_t bits = 2; bits <= 4; ++bits) {
    all.emplace_back().inputs = {{{3, 2, 64}}};
    all.back().params.i64(bits);
  }
  return all;
}

std::vector<SampleCase> own_samples(const OpDef& op) {
  return op.samples == nullptr ? turbo_samples(op) : op.samples();
}

// The valid samples of an op; with some extents 64 times as large, two of them 1024 times, or one
// of them 4096 times. Not all of these are valid.
std::vector<SampleCase> samples_of(const OpDef& op) {
  std::vector<SampleCase> all;
  for (const SampleCase& sample : own_samples(op)) {
    if (sample.error != SampleCase::kValid) continue;
    all.push_back(sample);
    std::set<std::int64_t> distinct;
    for (const SampleInput& input : sample.inputs) {
      for (const std::int64_t extent : input.shape) {
        if (extent > 1) distinct.insert(extent);
      }
    }
    const std::vector<std::int64_t> extents(distinct.begin(), distinct.end());
    for (unsigned bits = 1; bits < 1u << extents.size(); ++bits) {
      std::set<std::int64_t> chosen;
      for (std::size_t i = 0; i < extents.size(); ++i) {
        if ((bits >> i & 1u) != 0) chosen.insert(extents[i]);
      }
      all.push_back(scaled(sample, chosen, 64));
      if (chosen.size() == 2) all.push_back(scaled(sample, chosen, 1024));
      if (chosen.size() == 1) all.push_back(scaled(sample, chosen, 4096));
    }
  }
  return all;
}

// With the last two axes of some inputs, or the first two, in the other order in memory.
Signature with_swapped(Signature signature, unsigned inputs, bool last) {
  for (std::size_t i = 0; i < signature.inputs.size(); ++i) {
    TensorSpec& input = signature.inputs[i];
    const int rank = input.shape.rank();
    if ((inputs >> i & 1u) == 0 || rank < (last ? 2 : 3)) continue;
    const int axis = last ? rank - 2 : 0;
    Shape swapped = input.shape;
    std::swap(swapped[axis], swapped[axis + 1]);
    input.strides = contiguous_strides(swapped);
    std::swap(input.strides[axis], input.strides[axis + 1]);
  }
  return signature;
}

bool has_layout(const Signature& signature, LayoutNeed need) {
  return std::all_of(signature.inputs.begin(), signature.inputs.end(), [&](const TensorSpec& each) {
    switch (need) {
      case LayoutNeed::strided:
        return true;
      case LayoutNeed::last_axis_dense:
        return each.shape.rank() == 0 || each.shape.back() == 1 || each.strides.back() == 1;
      case LayoutNeed::matrices:
        return has_dense_matrices(each.shape, each.strides);
      case LayoutNeed::aligned_rows:
        return has_aligned_rows(each, each.strides, 0);
      case LayoutNeed::dense:
        return is_dense(each.shape, each.strides);
    }
    return false;
  });
}

// Everything that an op's implementations are asked for here. The samples live as long.
std::vector<Signature> signatures_of(const OpDef& op) {
  static std::deque<SampleCase> kept;
  std::vector<Signature> all;
  for (SampleCase& sample : samples_of(op)) {
    const SampleCase& named = kept.emplace_back(std::move(sample));
    for (const DType dtype : dtypes_of(op)) {
      try {
        all.push_back(sample_signature(op, named, dtype));
      } catch (const Error&) {
        continue;  // extents that depend on each other, or on parameters
      }
      if (element_count(all.back().output.shape) == 0) {
        all.pop_back();
        continue;
      }
      const Signature dense = all.back();
      constexpr unsigned kAll = ~0u;
      for (const unsigned inputs : {kAll, 1u, 2u}) {
        all.push_back(with_swapped(dense, inputs, true));
        all.push_back(with_swapped(dense, inputs, false));
      }
      for (int i = op.min_inputs; i < static_cast<int>(dense.inputs.size()); ++i) {
        all.push_back(dense);
        all.back().inputs[static_cast<std::size_t>(i)].absent = true;
      }
    }
  }
  return all;
}

// The signature with one more step of an epilogue.
Signature with_step(Signature signature, const OpDef& op, DType result, int rank_of_other = -1) {
  Epilogue step{.op = &op};
  if (rank_of_other >= 0) {
    TensorSpec other = signature.output;
    const int kept = other.shape.rank() - rank_of_other;
    for (int axis = 0; axis < kept; ++axis) other.strides[axis] = 0;
    step.input = static_cast<int>(signature.inputs.size());
    signature.inputs.push_back(other);
  }
  signature.output.dtype = result;
  signature.epilogue.push_back(step);
  return signature;
}

// With every epilogue that the implementation takes, of up to three steps.
std::vector<Signature> with_epilogues(const Implementation& implementation,
                                      const Signature& signature) {
  std::vector<Signature> all = {signature};
  if (implementation.fuses == nullptr) return all;
  for (std::size_t from = 0, round = 0; round < 3; ++round) {
    for (const std::size_t end = all.size(); from < end; ++from) {
      const Signature base = all[from];
      const DType dtype = base.output.dtype;
      for (Signature& more : std::vector{
               with_step(base, defs::add_op, dtype, 1),
               with_step(base, defs::add_op, dtype, base.output.shape.rank()),
               with_step(base, defs::relu_op, dtype), with_step(base, defs::gelu_tanh_op, dtype),
               with_step(base, defs::cast_op, DType::f16),
               with_step(base, defs::cast_op, DType::bf16)}) {
        if (implementation.fuses(more)) all.push_back(std::move(more));
      }
    }
  }
  return all;
}

// Without each set of results that nobody may want.
std::vector<Signature> with_omissions(const Implementation& implementation,
                                      const Signature& signature) {
  std::vector<Signature> all;
  for (std::uint32_t bits = 0; bits < 1u << signature.output_count(); ++bits) {
    if ((bits & ~implementation.may_omit) != 0) continue;
    Signature& made = all.emplace_back(signature);
    for (int i = 0; i < signature.output_count(); ++i) {
      TensorSpec& output =
          i == 0 ? made.output : made.more_outputs[static_cast<std::size_t>(i) - 1];
      output.absent = (bits >> i & 1u) != 0;
    }
  }
  return all;
}

void collect(const Implementation& implementation, const Signature& signature, Instances* into) {
  std::vector<Prepared> prepared;
  if (implementation.variants != nullptr) {
    for (Candidate& each : implementation.variants(signature)) {
      prepared.push_back(std::move(each.prepared));
    }
  } else if (implementation.prepare != nullptr) {
    prepared.push_back(implementation.prepare(signature));
  }
  for (const Prepared& each : prepared) {
    into->add(*static_cast<const gpu::KernelPlan*>(each.state.get()));
  }
}

bool serves(const Implementation& implementation, const Signature& signature) {
  return has_layout(signature, implementation.layout) &&
         (implementation.accepts == nullptr || implementation.accepts(signature)) &&
         (implementation.fits == nullptr || implementation.fits(signature));
}

std::vector<KernelSource> make_kernels() {
  std::map<const OpDef*, std::vector<Signature>> signatures;
  Instances kernels;
  for (const DeviceTraits& device : kinds_of_device()) {
    for (const Family& family : gpu::families()) {
      for (const Implementation& each : family) {
        if (each.launch == nullptr || own_samples(*each.op).empty()) continue;
        if (each.needs != nullptr && !each.needs(device)) continue;
        const auto [at, is_new] = signatures.try_emplace(each.op);
        if (is_new) at->second = signatures_of(*each.op);
        for (Signature signature : at->second) {
          signature.device = &device;
          if (!serves(each, signature)) continue;
          for (const Signature& fused : with_epilogues(each, signature)) {
            for (const Signature& one : with_omissions(each, fused)) collect(each, one, &kernels);
          }
        }
      }
    }
  }
  return kernels.cover();
}

}  // namespace

const std::vector<KernelSource>& library_kernels() {
  static const std::vector<KernelSource> kernels = make_kernels();
  return kernels;
}

}  // namespace hearth::gpu_test
