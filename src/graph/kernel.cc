#include "graph/kernel.h"

#include "graph/op_def.h"

namespace hearth {

void KernelTable::add(const Kernel& kernel) { kernels_[kernel.op].push_back(kernel); }

const Kernel* KernelTable::find(const Signature& signature) const {
  const auto at = kernels_.find(signature.op);
  if (at == kernels_.end()) return host_memory ? signature.op->host_kernel : nullptr;
  const Kernel* best = nullptr;
  for (const Kernel& kernel : at->second) {
    if (best != nullptr && kernel.priority <= best->priority) continue;
    if (kernel.accepts == nullptr || kernel.accepts(signature)) best = &kernel;
  }
  return best;
}

}  // namespace hearth
