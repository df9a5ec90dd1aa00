#include "codegen/batch_stub.h"

#include "codegen/text/text_builder.h"

namespace hearth::gpu {
namespace {

using runtime::KernelParameter;
using runtime::KernelSource;
using ParameterKind = KernelParameter::Kind;

std::string pointer_type(const KernelParameter& parameter) {
  return joined("device ", parameter.kind == ParameterKind::read ? "const " : "", parameter.type,
                "*");
}

// What a driver packs for each member. Structs of the kernel's own have members of 4 and 8 bytes.
std::string member_structs(const KernelSource& source) {
  std::string fields;
  for (const KernelParameter& parameter : source.parameters) {
    if (parameter.kind == ParameterKind::threadgroup) continue;
    const bool constant = parameter.kind == ParameterKind::constant;
    line(fields, "  alignas(8) ", constant ? parameter.type : pointer_type(parameter), " ",
         parameter.name, ";");
  }
  return joined("#include \"kernels/blocks/batch.h\"\nstruct HearthMember {\n", fields,
                "};\nstruct HearthBatch {\n  BatchTable<", source.members,
                "> table;\n  alignas(8) HearthMember member[", source.members, "];\n};\n");
}

std::string threadgroup_arrays(const KernelSource& source, const std::string& space) {
  std::string text;
  for (const KernelParameter& parameter : source.parameters) {
    if (parameter.kind != ParameterKind::threadgroup) continue;
    line(text, "  ", space, " ", parameter.type, " ", parameter.name, "[", parameter.count, "];");
  }
  return text;
}

std::string cuda_arrays(const KernelSource& source) {
  const LargeArrays large = large_arrays(source);
  if (large.bytes == 0) {
    return threadgroup_arrays(source, "__attribute__((shared)) alignas(16) static");
  }
  std::string text = large_array_memory(source);
  std::size_t array = 0;
  for (const KernelParameter& parameter : source.parameters) {
    if (parameter.kind != ParameterKind::threadgroup) continue;
    text += large_array(parameter, large.offsets[array++]);
  }
  return text;
}

// A call of `function` as the member of the threadgroup at `ctx`.
std::string member_call(const KernelSource& source, const std::string& function) {
  std::string arguments;
  for (const KernelParameter& parameter : source.parameters) {
    const bool own = parameter.kind == ParameterKind::threadgroup;
    arguments += joined(own ? "" : "hearth_batch.member[hearth_member].", parameter.name, ", ");
  }
  return joined("  uint hearth_member = batch_member(hearth_batch.table, hearth_ctx.tg.x);\n  ",
                function, "(", arguments,
                "batch_ctx(hearth_batch.table, hearth_member, hearth_ctx));\n");
}

// The pointers of a struct may overlap for all that a compiler knows; those of this function do
// not.
std::string cuda_batch_stub(const KernelSource& source) {
  std::string parameters;
  std::string names;
  for (const KernelParameter& parameter : source.parameters) {
    const std::string& type = parameter.type;
    std::string declared = joined("const ", type, "& ");
    if (parameter.kind == ParameterKind::threadgroup) declared = type + "* ";
    if (parameter.kind == ParameterKind::read) declared = joined("const ", type, no_alias(source));
    if (parameter.kind == ParameterKind::write) declared = type + no_alias(source);
    if (parameter.kind == ParameterKind::read_write) declared = type + "* ";
    parameters += joined(declared, parameter.name, ", ");
    names += parameter.name + ", ";
  }
  return joined(member_structs(source), "HEARTH_INLINE void hearth_run(", parameters,
                "Ctx ctx) {\n  ", callee(source), "(", names, "ctx);\n}\n",
                "extern \"C\" __attribute__((global)) void __launch_bounds__(", source.max_threads,
                ")\n", source.name, "(const __grid_constant__ HearthBatch hearth_batch) {\n",
                cuda_arrays(source), kCudaBegin, "  Ctx hearth_ctx = current_ctx();\n",
                member_call(source, "hearth_run"), "}\n");
}

std::string metal_batch_stub(const KernelSource& source) {
  return joined(member_structs(source), "kernel void ", metal_entry_name(source),
                "(\n    constant HearthBatch& hearth_batch [[buffer(0)]], ", metal_positions(),
                ") {\n", threadgroup_arrays(source, "threadgroup"), metal_ctx(),
                member_call(source, source.function), "}\n");
}

std::string lint_batch_stub(const KernelSource& source) {
  std::string arrays;
  for (const KernelParameter& parameter : source.parameters) {
    if (parameter.kind != ParameterKind::threadgroup) continue;
    arrays += joined("threadgroup ", parameter.type, "* ", parameter.name, ", ");
  }
  return joined(member_structs(source), "void hearth_entry_", source.name,
                "(constant HearthBatch& hearth_batch, ", arrays, "Ctx hearth_ctx) {\n",
                member_call(source, source.function), "}\n");
}

std::string host_batch_stub(const KernelSource& source) {
  std::string arguments;
  std::string sizes;
  int pointers = 0;
  int arrays = 0;
  for (const KernelParameter& parameter : source.parameters) {
    const std::string& type = parameter.type;
    if (parameter.kind == ParameterKind::threadgroup) {
      arguments += joined("static_cast<", type, "*>(hearth_arrays[", arrays++, "]), ");
      sizes += joined("sizeof(", type, ") * ", parameter.count, "ul, ");
      continue;
    }
    const bool reads =
        parameter.kind == ParameterKind::read || parameter.kind == ParameterKind::constant;
    arguments += joined(parameter.kind == ParameterKind::constant ? "*" : "", "static_cast<",
                        reads ? "const " : "", type, "*>(hearth_own[", pointers++, "]), ");
  }
  const std::string exported = "extern \"C\" __attribute__((visibility(\"default\"))) ";
  return joined(
      "#include \"kernels/blocks/batch.h\"\n", exported, "void ", source.name,
      "(void* const* hearth_arguments, void* const* hearth_arrays,\n"
      "    const HearthContext* hearth_context) {\n  (void)hearth_arrays;\n",
      "  const auto& hearth_table = *static_cast<const BatchTable<", source.members,
      ">*>(hearth_arguments[0]);\n  Ctx hearth_ctx = ctx_of(*hearth_context);\n"
      "  uint hearth_member = batch_member(hearth_table, hearth_ctx.tg.x);\n"
      "  void* const* hearth_own = hearth_arguments + 1 + hearth_member * ",
      pointers, "u;\n  ", callee(source), "(", arguments,
      "batch_ctx(hearth_table, hearth_member, hearth_ctx));\n}\n", exported, "unsigned long ",
      source.name, "_threadgroup_bytes(unsigned array) {\n  constexpr unsigned long bytes[] = {",
      sizes, "0ul};\n  return bytes[array < ", arrays, "u ? array : ", arrays, "u];\n}\n");
}

}  // namespace

constinit const StubWriters kBatchStubs = {.cuda = cuda_batch_stub,
                                           .host = host_batch_stub,
                                           .metal = metal_batch_stub,
                                           .lint = lint_batch_stub};

}  // namespace hearth::gpu
