// Builds a launch of a kernel of src/kernels. One call adds a parameter of the kernel's function
// and the argument for it; calls are in the order of the text.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "kernels/launch/step_plan.h"

namespace hearth::gpu {

#include "kernels/blocks/params.h"

// For the host a parameter struct has this rank: its axes have that of their shape.
inline constexpr int kRuntimeRank = 0;
template <>
struct Axes<kRuntimeRank> {
  long base;
  const Shape* shape;
  const Strides* strides;
};

// "name<float, 3>", or "name".
std::string instance(const std::string& function, const std::vector<std::string>& arguments);

// The name of a type, without namespaces and template arguments.
template <class T>
constexpr std::string_view unqualified_name() {
  std::string_view text = __PRETTY_FUNCTION__;
  text.remove_prefix(text.find("T = ") + 4);
  text = text.substr(0, text.find_first_of("<;]"));
  return text.substr(text.rfind(':') + 1);
}

// Appends the words of a struct.
template <class Params>
void append_words(const Params& params, std::vector<std::int64_t>* words) {
  static_assert(std::is_trivially_copyable_v<Params> &&
                    std::has_unique_object_representations_v<Params> &&
                    alignof(Params) == sizeof(std::int64_t),
                "members have 64 bits");
  const std::size_t count = words->size();
  words->resize(count + sizeof(Params) / sizeof(std::int64_t));
  std::memcpy(words->data() + count, &params, sizeof(Params));
}

// The words of axes of any rank.
void append_axes(const Axes<kRuntimeRank>& axes, std::vector<std::int64_t>* words);

class KernelCall {
 public:
  // The function `function`<arguments> of src/kernels/`file`.
  KernelCall(const std::string& file, const std::string& function,
             const std::vector<std::string>& arguments = {});

  KernelCall& read(std::string type, std::string name, StepArgument argument);
  KernelCall& write(std::string type, std::string name, StepArgument argument);
  KernelCall& read_write(std::string type, std::string name, StepArgument argument);
  // The block of dynamic parameters.
  KernelCall& dynamics();
  KernelCall& threadgroup(std::string type, std::string name, std::int64_t count);

  // The struct of constants, of a family's params.h.
  template <class Params>
  KernelCall& constants(const Params& params) {
    std::vector<std::int64_t> words;
    append_words(params, &words);
    return constants(std::string(unqualified_name<Params>()), std::move(words));
  }
  // One whose last members are Axes, all of one rank, and which has no others.
  template <template <int> class Params>
  KernelCall& constants(const Params<kRuntimeRank>& params) {
    // Each of them adds an extent and a stride to a struct of one rank more.
    constexpr std::size_t kAxes =
        (sizeof(Params<2>) - sizeof(Params<1>)) / (sizeof(Axes<2>) - sizeof(Axes<1>));
    constexpr std::size_t kHead = sizeof(Params<1>) - kAxes * sizeof(Axes<1>);
    static_assert(kAxes > 0 &&
                  sizeof(Params<kRuntimeRank>) == kHead + kAxes * sizeof(Axes<kRuntimeRank>));
    std::vector<std::int64_t> words;
    append_words(params, &words);
    Axes<kRuntimeRank> axes[kAxes];
    std::memcpy(axes, words.data() + kHead / sizeof(std::int64_t), sizeof(axes));
    words.resize(kHead / sizeof(std::int64_t));
    for (const Axes<kRuntimeRank>& each : axes) append_axes(each, &words);
    return constants(instance(std::string(unqualified_name<Params<kRuntimeRank>>()),
                              {std::to_string(axes[0].shape->rank())}),
                     std::move(words));
  }
  // A struct as the dialect writes it, by its words.
  KernelCall& constants(std::string type, std::vector<std::int64_t> words);

  // The kernel takes operands at multiples of `bytes` only: see Step::unaligned_variant.
  KernelCall& align_operands(std::int64_t bytes);
  // As Command::shares; how many threadgroups step() has along x follows from them.
  KernelCall& shares(runtime::Command::Shares shares);
  // As Command::work.
  KernelCall& work(double work);

  // `most_threads` of a threadgroup is what the kernel is compiled for. A rare kernel is compiled
  // when it is launched.
  Step step(StepPlan& plan, Size3 groups, Size3 threads, std::int64_t most_threads,
            bool rare = false) const;

 private:
  KernelCall& add(Kind kind, std::string type, std::string name, const StepArgument& argument);

  runtime::KernelSource source_;
  Step step_;
};

// The argument at multiples of `bytes` only: see Step::unaligned_variant.
inline StepArgument aligned(StepArgument argument, std::int64_t bytes) {
  argument.alignment = bytes;
  return argument;
}

inline StepArgument workspace(StepPlan& plan, std::int64_t bytes) {
  return {StepArgument::From::workspace, 0, plan.add_workspace(bytes), bytes};
}

inline StepArgument input_argument(const Signature& signature, int i) {
  return strided_operand(signature.inputs[static_cast<std::size_t>(i)], i).argument;
}
inline StepArgument output_argument(const Signature& signature, int i = 0) {
  return strided_operand(signature.output_at(i), static_cast<int>(signature.inputs.size()) + i)
      .argument;
}

}  // namespace hearth::gpu
