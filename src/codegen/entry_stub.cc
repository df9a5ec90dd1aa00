#include "codegen/entry_stub.h"

#include <vector>

#include "codegen/batch_stub.h"
#include "codegen/dialect_types.h"
#include "codegen/msl/text.h"
#include "core/integer_math.h"

namespace hearth::gpu {
namespace {

using runtime::KernelParameter;
using runtime::KernelSource;
using ParameterKind = KernelParameter::Kind;

std::string join(const std::vector<std::string>& items, const std::string& separator) {
  std::string all;
  for (const std::string& item : items) all += (all.empty() ? "" : separator) + item;
  return all;
}

// A call of the kernel's function with these arguments, as a statement.
std::string call(const KernelSource& source, std::vector<std::string> arguments,
                 const std::string& context) {
  arguments.push_back(context);
  return "  " + callee(source) + "(" + join(arguments, ", ") + ");\n";
}

std::vector<std::string> names(const KernelSource& source) {
  std::vector<std::string> all;
  for (const KernelParameter& parameter : source.parameters) all.push_back(parameter.name);
  return all;
}

std::string cuda_entry_stub(const KernelSource& source) {
  std::vector<std::string> parameters;
  std::string arrays = large_array_memory(source);
  const LargeArrays large = large_arrays(source);
  std::size_t array = 0;
  for (const KernelParameter& parameter : source.parameters) {
    const std::string& type = parameter.type;
    const std::string& name = parameter.name;
    switch (parameter.kind) {
      case ParameterKind::read:
        parameters.push_back("const " + type + no_alias(source) + name);
        break;
      case ParameterKind::write:
        parameters.push_back(type + no_alias(source) + name);
        break;
      case ParameterKind::read_write:
        parameters.push_back(type + "* " + name);
        break;
      case ParameterKind::constant:
        parameters.push_back("const __grid_constant__ " + type + " " + name);
        break;
      case ParameterKind::threadgroup:
        arrays += large.bytes > 0 ? large_array(parameter, large.offsets[array++])
                                  : "  __attribute__((shared)) alignas(16) static " + type + " " +
                                        name + "[" + std::to_string(parameter.count) + "];\n";
        break;
    }
  }
  return "extern \"C\" __attribute__((global)) void __launch_bounds__(" +
         std::to_string(source.max_threads) + ")\n" + source.name + "(" + join(parameters, ", ") +
         ") {\n" + arrays + kCudaBegin + call(source, names(source), "current_ctx()") + "}\n";
}

std::string host_entry_stub(const KernelSource& source) {
  std::vector<std::string> arguments;
  std::vector<std::string> sizes;
  int pointers = 0;
  for (const KernelParameter& parameter : source.parameters) {
    const std::string& type = parameter.type;
    if (parameter.kind == ParameterKind::threadgroup) {
      arguments.push_back("static_cast<" + type + "*>(hearth_arrays[" +
                          std::to_string(sizes.size()) + "])");
      sizes.push_back("sizeof(" + type + ") * " + std::to_string(parameter.count) + "ul");
      continue;
    }
    const std::string pointer = "hearth_arguments[" + std::to_string(pointers++) + "]";
    switch (parameter.kind) {
      case ParameterKind::read:
        arguments.push_back("static_cast<const " + type + "*>(" + pointer + ")");
        break;
      case ParameterKind::constant:
        arguments.push_back("*static_cast<const " + type + "*>(" + pointer + ")");
        break;
      default:
        arguments.push_back("static_cast<" + type + "*>(" + pointer + ")");
        break;
    }
  }
  const std::string count = std::to_string(sizes.size());
  sizes.push_back("0ul");
  const std::string exported = "extern \"C\" __attribute__((visibility(\"default\"))) ";
  return exported + "void " + source.name +
         "(void* const* hearth_arguments, void* const* hearth_arrays,\n"
         "    const HearthContext* hearth_context) {\n"
         "  (void)hearth_arguments;\n  (void)hearth_arrays;\n" +
         call(source, arguments, "ctx_of(*hearth_context)") + "}\n" + exported + "unsigned long " +
         source.name +
         "_threadgroup_bytes(unsigned array) {\n  constexpr unsigned long bytes[] = {" +
         join(sizes, ", ") + "};\n  return bytes[array < " + count + "u ? array : " + count +
         "u];\n}\n";
}

// A parameter with its address space, as Metal and lint declare it.
std::string in_address_space(const KernelParameter& parameter) {
  switch (parameter.kind) {
    case ParameterKind::read:
      return "device const " + parameter.type + "* " + parameter.name;
    case ParameterKind::constant:
      return "constant " + parameter.type + "& " + parameter.name;
    case ParameterKind::threadgroup:
      return "threadgroup " + parameter.type + "* " + parameter.name;
    default:
      return "device " + parameter.type + "* " + parameter.name;
  }
}

std::string metal_entry_stub(const KernelSource& source) {
  std::vector<std::string> parameters;
  std::string arrays;
  for (const KernelParameter& parameter : source.parameters) {
    if (parameter.kind == ParameterKind::threadgroup) {
      arrays += "  threadgroup " + parameter.type + " " + parameter.name + "[" +
                std::to_string(parameter.count) + "];\n";
    } else {
      parameters.push_back(in_address_space(parameter) + " [[buffer(" +
                           std::to_string(parameters.size()) + ")]]");
    }
  }
  parameters.push_back(metal_positions());
  return "kernel void " + metal_entry_name(source) + "(\n    " + join(parameters, ",\n    ") +
         ") {\n" + arrays + metal_ctx() + call(source, names(source), "hearth_ctx") + "}\n";
}

// clang has no threadgroup variables, so arrays come as parameters. The name is not the entry's: a
// kernel's own function may have that and the same parameters.
std::string lint_entry_stub(const KernelSource& source) {
  std::vector<std::string> parameters;
  for (const KernelParameter& parameter : source.parameters) {
    parameters.push_back(in_address_space(parameter));
  }
  parameters.emplace_back("Ctx hearth_ctx");
  return "void hearth_entry_" + source.name + "(" + join(parameters, ", ") + ") {\n" +
         call(source, names(source), "hearth_ctx") + "}\n";
}

constexpr StubWriters kStubs = {.cuda = cuda_entry_stub,
                                .host = host_entry_stub,
                                .metal = metal_entry_stub,
                                .lint = lint_entry_stub};

}  // namespace

LargeArrays large_arrays(const KernelSource& source, std::int64_t most_static) {
  LargeArrays made;
  for (const KernelParameter& parameter : source.parameters) {
    if (parameter.kind != ParameterKind::threadgroup) continue;
    const std::int64_t each = size_of_dialect_type(parameter.type);
    if (each == 0 || parameter.count > (std::int64_t{1} << 40) / each) return {};
    made.offsets.push_back(made.bytes);
    made.bytes += round_up(each * parameter.count, 16);
  }
  return made.bytes > most_static ? made : LargeArrays();
}

std::string large_array_memory(const KernelSource& source) {
  if (large_arrays(source).bytes == 0) return "";
  return "  extern __attribute__((shared)) __attribute__((aligned(16))) uchar hearth_arrays[];\n";
}

std::string large_array(const KernelParameter& parameter, std::int64_t offset) {
  return "  " + parameter.type + "* const " + parameter.name + " = reinterpret_cast<" +
         parameter.type + "*>(hearth_arrays + " + std::to_string(offset) + ");\n";
}

std::string metal_entry_name(const KernelSource& source) {
  const bool is_taken = source.function.substr(0, source.function.find('<')) == source.name;
  return is_taken ? "hearth_entry_" + source.name : source.name;
}

std::string callee(const KernelSource& source) {
  return source.metal ? kMetalCallee : source.function;
}

std::string no_alias(const KernelSource& source) { return source.metal ? "* " : "* __restrict__ "; }

std::string metal_positions() {
  return join({"uint3 hearth_tg [[threadgroup_position_in_grid]]",
               "uint3 hearth_tid [[thread_position_in_threadgroup]]",
               "uint3 hearth_gid [[thread_position_in_grid]]",
               "uint3 hearth_ntid [[threads_per_threadgroup]]",
               "uint3 hearth_ntg [[threadgroups_per_grid]]",
               "uint hearth_lane [[thread_index_in_simdgroup]]",
               "uint hearth_sg [[simdgroup_index_in_threadgroup]]",
               "uint hearth_nsg [[simdgroups_per_threadgroup]]"},
              ",\n    ");
}

std::string metal_ctx() {
  return "  Ctx hearth_ctx = {hearth_tg, hearth_tid, hearth_gid, hearth_ntid, hearth_ntg,\n"
         "                    hearth_lane, hearth_sg, hearth_nsg};\n";
}

std::string entry_stub(const KernelSource& source, Target target) {
  const StubWriters& write = source.members > 0 ? kBatchStubs : kStubs;
  switch (target) {
    case Target::cuda:
      return write.cuda(source);
    case Target::host:
      return write.host(source);
    case Target::metal:
      return write.metal(source);
    case Target::lint:
      return write.lint(source);
  }
  return {};
}

}  // namespace hearth::gpu
