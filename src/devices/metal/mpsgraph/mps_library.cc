#include "devices/metal/mpsgraph/mps_library.h"

#include <algorithm>

#include "hearth/error.h"
#include "kernels/attention/library/problem.h"
#include "kernels/matmul/problem.h"

namespace hearth::metal {
namespace {

constexpr SystemVersion kMpsGraphSystem{15, 0, 0};
constexpr const char* kMpsFrameworks[] = {
    "/System/Library/Frameworks/MetalPerformanceShaders.framework/MetalPerformanceShaders",
    "/System/Library/Frameworks/MetalPerformanceShadersGraph.framework/"
    "MetalPerformanceShadersGraph",
};
constexpr const char* kClasses[] = {
    "MPSCommandBuffer",   "MPSNDArrayDescriptor", "MPSNDArray",
    "MPSGraph",           "MPSGraphDevice",       "MPSGraphShapedType",
    "MPSGraphTensorData", "MPSGraphExecutable",   "MPSGraphCompilationDescriptor",
};

}  // namespace

std::unique_ptr<MpsLibrary> MpsLibrary::open(const ObjectiveC& objc, Id device,
                                             SystemVersion system, bool on_request,
                                             std::vector<std::string>& notes) {
  const AutoreleasePool pool(objc);
  const auto fail = [&](const std::string& why) {
    notes.push_back("no MPSGraph: " + why);
    return nullptr;
  };
  if (!(system >= kMpsGraphSystem)) return fail("the system is too old; got one before macOS 15");
  for (const char* framework : kMpsFrameworks) {
    if (!objc.open_framework(framework, notes)) return fail("a framework is missing");
  }
  bool fits = true;
  for (const char* name : {"NSNumber", "NSDictionary"}) {
    const Id type = objc.type_named(name);
    fits = type != nullptr && objc.check(type, name, MessageInfo::Receiver::type, notes) && fits;
  }
  for (const char* name : kClasses) fits = objc.check_class(name, notes) && fits;
  if (!fits) return fail("the system's classes are not those that are known here");
  Owned graph_device =
      objc.keep(objc.send(objc.type_named("MPSGraphDevice"), messages::graph_device, device));
  if (!graph_device) return fail("it does not take the device");
  return std::unique_ptr<MpsLibrary>(new MpsLibrary(objc, std::move(graph_device), on_request));
}

runtime::LibraryTraits MpsLibrary::traits() const {
  runtime::LibraryTraits traits;
  traits.matmul = {.exists = true, .on_request = on_request_};
  traits.plain_attention = {.exists = true, .on_request = on_request_};
  return traits;
}

std::unique_ptr<runtime::Function> MpsLibrary::function(const runtime::LibraryCall& call) {
  MpsProgram program;
  if (call.function == gpu::kMatmulFunction) {
    program = mps_matmul(call);
  } else if (call.function == gpu::kAttentionFunction) {
    program = mps_attention(call);
  } else {
    throw Error(ErrorCode::unsupported, "metal: " + call.name + ": MPSGraph is not asked for it");
  }
  return std::make_unique<MpsCall>(*this, call, std::move(program));
}

std::shared_ptr<const MpsExecutable> MpsLibrary::executable(const MpsProgram& program,
                                                            const runtime::LibraryCall& call) {
  const std::vector<std::int64_t> key = program.key();
  // Compiled under the lock: the same graph is wanted once, and another may wait.
  const std::lock_guard lock(mutex_);
  const auto found = executables_.find(key);
  if (found != executables_.end()) {
    found->second.used = ++clock_;
    return found->second.executable;
  }
  const AutoreleasePool pool(objc_);
  auto made =
      std::make_shared<const MpsExecutable>(program.compile(objc_, graph_device_.get(), call));
  if (executables_.size() == kMaxExecutables) {
    executables_.erase(std::min_element(
        executables_.begin(), executables_.end(),
        [](const auto& a, const auto& b) { return a.second.used < b.second.used; }));
  }
  executables_[key] = {made, ++clock_};
  return made;
}

}  // namespace hearth::metal
