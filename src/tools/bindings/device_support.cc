#include "tools/bindings/device_support.h"

#include <algorithm>

#include "codegen/kernel_text.h"
#include "devices/cpu/families.h"
#include "kernels/families.h"
#include "ops/definition/sample_signature.h"

namespace hearth::tools {
namespace {

using gpu::Target;
using runtime::DeviceTraits;

DeviceKind gpu_kind(const char* name, Target target, const char* no_f64) {
  return {name, true, gpu::has_f64(target), no_f64};
}

bool runs_without_kernel_of_its_own(OpKind kind) {
  return kind == OpKind::leaf || kind == OpKind::elementwise || kind == OpKind::reduce ||
         kind == OpKind::view || kind == OpKind::output || kind == OpKind::sync;
}

// Whether an implementation takes a valid sample, on a device of no other traits.
bool is_accepted(const std::vector<Family>& families, const OpDef& op, DType dtype,
                 const DeviceTraits& traits) {
  const auto samples = op.samples == nullptr ? std::vector<SampleCase>() : op.samples();
  for (const SampleCase& sample : samples) {
    if (sample.error != SampleCase::kValid) continue;
    Signature signature = sample_signature(op, sample, dtype);
    signature.device = &traits;
    for (const Family& family : families) {
      for (const Implementation& one : family) {
        const bool is_there = one.op == &op && (one.needs == nullptr || one.needs(traits));
        if (is_there && (one.accepts == nullptr || one.accepts(signature))) return true;
      }
    }
  }
  return false;
}

DeviceTraits with_library() {
  DeviceTraits traits;
  traits.libraries.matmul = {.exists = true, .strided = true};
  traits.libraries.attention = {.exists = true, .max_columns = 128};
  traits.libraries.plain_attention = {.exists = true};
  traits.libraries.conv = {.exists = true};
  traits.libraries.factorizations.opens = [] { return true; };
  return traits;
}

}  // namespace

const std::vector<DeviceKind>& device_kinds() {
  static const std::vector<DeviceKind> kinds = {
      {"cpu", false, true, ""},
      gpu_kind("cuda", Target::cuda, "CUDA has no f64"),
      gpu_kind("metal", Target::metal, "Metal has no f64"),
      gpu_kind("sim", Target::host, "the simulator has no f64")};
  return kinds;
}

std::string lack_of(const DeviceKind& kind, const OpDef& op, DType dtype) {
  if (dtype == DType::f64 && !kind.has_f64) return kind.no_f64;
  if (runs_without_kernel_of_its_own(op.kind) || has_composite(op)) return "";
  DeviceTraits traits;
  traits.has_f64 = kind.has_f64;
  const std::vector<Family>& families = kind.is_gpu ? gpu::families() : cpu::families();
  if (is_accepted(families, op, dtype, traits)) return "";
  return "no kernel takes it, and it is not made of other ops";
}

std::string need_of(const Implementation& implementation) {
  if (implementation.needs == nullptr || implementation.needs(DeviceTraits())) return "";
  DeviceTraits tiles, matrices;
  tiles.has_tile_products = true;
  matrices.has_simdgroup_matrix = true;
  if (implementation.needs(tiles)) return "tile_products";
  if (implementation.needs(matrices)) return "simdgroup_matrix";
  DeviceTraits library = with_library(), packed = library;
  packed.libraries.matmul.strided = false;
  if (implementation.needs(library) || implementation.needs(packed)) return "library";
  return "several";
}

}  // namespace hearth::tools
