// Products of packed weights with a few rows: kernels/packed/matvec.metal.
#include <algorithm>
#include <memory>
#include <stdexcept>

#include "codegen/dialect_types.h"
#include "core/packed/formats.h"
#include "kernels/launch/kernel_call.h"
#include "kernels/launch/occupancy.h"
#include "kernels/packed/format_struct.h"
#include "kernels/packed/operands.h"
#include "kernels/packed/packed.h"
#include "ops/packed/blocks.h"

namespace hearth::gpu {

#include "kernels/packed/params.h"

namespace {

// Beyond it products with the dequantized weight are faster.
constexpr std::int64_t kMostMatvecRows = 16;
constexpr std::int64_t kMostRowsTogether = 8;  // whose sums lanes hold
constexpr std::int64_t kMostSimdgroups = 8;
// Registers of a thread, of one row: compilers take more unless told. One threadgroup has all
// threads that a processor has registers for where it has the memory: each codes x for itself.
constexpr std::int64_t kRowRegisters = 85;
// Of several rows: the share of a processor's threads whose registers it has room for.
constexpr std::int64_t kResidentShare = 2;
constexpr std::int64_t kScaleBytes = 8;  // of a unit of x: a scale and two sums

// Of a row's units: unit_places() of the text.
std::int64_t unit_places(std::int64_t units) { return ceil_div(units, 4) * 4; }

// What a format's struct says.
struct FormatTraits {
  int together, apart, order, book;
};
FormatTraits format_traits(DType format) {
  switch (format) {
#define BLOCK_FORMAT(dtype, name, number, elements, bytes, encoder, largest) \
  case DType::dtype:                                                         \
    return {static_cast<int>(on_host::packed_formats::name::together),       \
            static_cast<int>(on_host::packed_formats::name::apart),          \
            static_cast<int>(on_host::packed_formats::name::order),          \
            static_cast<int>(on_host::packed_formats::name::book)};
#include "core/packed/block_formats.def"
    default:
      throw std::logic_error("packed_linear: not a packed dtype");
  }
}

DType matvec_format(const Signature& signature) { return ParamReader(signature.statics).dtype(); }

struct MatvecShape {
  explicit MatvecShape(const Signature& signature)
      : format(matvec_format(signature)),
        rows(rows_of_x(signature)),
        outputs(signature.inputs[1].shape[0]),
        units(signature.inputs[0].shape.back() / kUnit),
        row_threads(register_threads(*signature.device, kRowRegisters)) {
    const std::int64_t coded = unit_places(units) * (2 * kPacketBytes + kScaleBytes);
    const std::int64_t each = staged_vectors(format) * kPacketBytes;
    // What every GPU has, or a share of a processor's where that is more.
    const runtime::DeviceTraits& device = *signature.device;
    const std::int64_t common = runtime::common_traits().threadgroup_memory;
    const std::int64_t share = device.processor_memory * kMostSimdgroups * kSimdWidth / row_threads;
    const std::int64_t book = book_vectors(format) * kPacketBytes;
    const std::int64_t budget = std::min(std::max(share, common), device.threadgroup_memory) - book;
    const std::int64_t all = row_threads / kSimdWidth;
    const std::int64_t large = std::min(device.large_threadgroup_memory, device.processor_memory);
    const bool takes_all = coded + all * each + book <= large;
    codes_here = rows == 1 && (takes_all || coded + each <= budget);
    if (rows == 1 && takes_all) {
      simdgroups = all;
      return;
    }
    const std::int64_t left = (codes_here ? budget - coded : common - book) / each;
    while (simdgroups > left) simdgroups /= 2;
  }

  DType format;
  std::int64_t rows, outputs, units;
  std::int64_t row_threads;  // of a processor, where rows == 1
  bool codes_here;           // x is coded by the threadgroups that multiply
  std::int64_t simdgroups = kMostSimdgroups;
};

}  // namespace

std::int64_t staged_units(DType format) {
  const std::int64_t many = bytes_of(format, std::int64_t{kManyUnits} * kUnit);
  return many <= kStagedBytes ? kManyUnits : kFewUnits;
}

std::int64_t staged_vectors(DType format) {
  const std::int64_t bytes = bytes_of(format, staged_units(format) * kUnit);
  return (bytes + 2 * (kPacketBytes - 1)) / kPacketBytes + 1;
}

std::int64_t book_vectors(DType format) {
  return ceil_div<std::int64_t>(format_traits(format).book, 4);
}

std::int64_t code_order(DType format) { return format_traits(format).order; }

CodedRows coded_rows(StepPlan& plan, std::int64_t rows, std::int64_t units) {
  const std::int64_t places = unit_places(units);
  return {workspace(plan, rows * places * 2 * kPacketBytes),
          workspace(plan, rows * places * kScaleBytes)};
}

std::vector<std::string> code_arguments(DType dtype, DType format, int rank) {
  const FormatTraits traits = format_traits(format);
  return {dtype_struct(dtype), std::to_string(traits.together), std::to_string(traits.apart),
          std::to_string(traits.order), std::to_string(rank)};
}

CodedRows add_coded_rows(StepPlan& plan, const TensorSpec& x, DType format) {
  const StridedOperand from = strided_operand(x, 0);
  const auto [lines, steps] = merged_lines(x);
  const std::int64_t rows = element_count(lines), units = x.shape.back() / kUnit;
  const CodedRows coded = coded_rows(plan, rows, units);
  plan.add_step(
      KernelCall("packed/codes.metal", "code_rows", code_arguments(x.dtype, format, lines.rank()))
          .read(dialect_type(x.dtype), "x", from.argument)
          .write("uint4", "codes", coded.codes)
          .write("uint2", "scales", coded.scales)
          .constants(CodeRowsParams<kRuntimeRank>{
              .rows = rows, .units = units, .x = {from.base, &lines, &steps}})
          .step(plan, {static_cast<std::uint32_t>(rows)}, {kThreads}, kThreads));
  return coded;
}

bool fits_packed_row_lanes(const Signature& signature) {
  const std::int64_t units = signature.inputs[0].shape.back() / kUnit;
  return signature.inputs[0].dtype != DType::f64 &&
         rows_of_x(signature) <= kMaxLayers * kMostRowsTogether && units > 0 && units < kMostUnits;
}

bool fits_packed_matvec(const Signature& signature) {
  return rows_of_x(signature) <= kMostMatvecRows && fits_packed_row_lanes(signature);
}

Prepared prepare_packed_matvec(const Signature& signature) {
  auto plan = std::make_shared<StepPlan>();
  if (element_count(signature.output.shape) == 0) return prepared_steps(std::move(plan));
  const MatvecShape shape(signature);
  const PackedOperands in(signature);
  const TensorSpec& x = signature.inputs[0];
  const std::string rank = std::to_string(in.lines.shape.rank());
  const std::string dtype = dtype_struct(x.dtype);
  const Axes<kRuntimeRank> axes{in.x.base, &in.lines.shape, &in.lines.strides};
  const bool has_vectors = in.x.base * size_of(x.dtype) % kPacketBytes == 0;

  CodedRows coded;
  if (!shape.codes_here) coded = add_coded_rows(*plan, x, shape.format);

  const std::int64_t threads = shape.simdgroups * kSimdWidth;
  const runtime::DeviceTraits& device = *signature.device;
  const std::int64_t resident =
      shape.codes_here
          ? std::min(resident_threads(device), processors(device) * shape.row_threads) / threads
          : resident_groups(device, kResidentShare * threads);
  const runtime::Command::Shares shares{u32(ceil_div(shape.outputs, shape.simdgroups)),
                                        u32(std::max<std::int64_t>(resident, 1))};
  const std::int64_t most_threads =
      shape.codes_here ? std::max(threads, shape.row_threads) : threads;
  const PackedMatvecParams<kRuntimeRank> params{.rows = in.rows,
                                                .outputs = in.outputs,
                                                .units = in.units,
                                                .base = in.base,
                                                .stride = in.stride,
                                                .end = in.end,
                                                .x = axes};
  std::int64_t together = 1;  // rows that a kernel is made for
  while (together < std::min(shape.rows, kMostRowsTogether)) together *= 2;
  const std::int64_t layers = ceil_div(shape.rows, together);
  plan->add_step(true, [&](bool whole, bool rare) {
    std::vector<std::string> arguments = {format_struct(shape.format), dtype};
    if (!shape.codes_here) arguments.push_back(std::to_string(together));
    for (std::string each : {std::string(truth(in.has_bias)), std::string(truth(in.has_added)),
                             std::string(truth(whole)), std::to_string(whole ? in.step : 1)}) {
      arguments.push_back(std::move(each));
    }
    const bool vectors = shape.codes_here && whole && has_vectors;
    if (shape.codes_here) arguments.push_back(truth(vectors));
    arguments.push_back(rank);
    KernelCall call("packed/matvec.metal",
                    shape.codes_here ? "packed_matvec_row" : "packed_matvec_rows", arguments);
    if (shape.codes_here) {
      call.read(in.type, "x", vectors ? aligned(in.x.argument, kPacketBytes) : in.x.argument);
    } else {
      call.read("uint4", "codes", coded.codes).read("uint2", "scales", coded.scales);
    }
    in.add_to(call, whole);
    call.constants(params);
    if (shape.codes_here) {
      const std::int64_t places = unit_places(shape.units);
      call.threadgroup("uint4", "codes", 2 * places).threadgroup("uint2", "scales", places);
    }
    return call
        .threadgroup("uint4", "staged",
                     staged_vectors(shape.format) * shape.simdgroups + book_vectors(shape.format))
        .work(product_work(1, shape.rows, shape.outputs, shape.units * kUnit))
        .shares(shares)
        .step(*plan, {1, u32(layers)}, {u32(threads)}, most_threads, rare);
  });
  return prepared_steps(std::move(plan));
}

}  // namespace hearth::gpu
