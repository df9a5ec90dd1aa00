// Products of packed weights with few rows by tensor cores: kernels/packed/tiles.metal.
#include <algorithm>
#include <memory>
#include <string>

#include "codegen/dialect_types.h"
#include "kernels/launch/kernel_call.h"
#include "kernels/launch/occupancy.h"
#include "kernels/packed/format_struct.h"
#include "kernels/packed/operands.h"
#include "kernels/packed/packed.h"
#include "ops/packed/blocks.h"

namespace hearth::gpu {

#include "kernels/packed/params.h"

namespace {

constexpr std::int64_t kMostTileRows = 16;  // of x; beyond them the dequantized weight is faster
constexpr std::int64_t kTileScaleBytes = 8;
// Simdgroups that share out the inner axis: more where there are few tiles of outputs.
constexpr std::int64_t kFewTileSimdgroups = 4, kManyTileSimdgroups = 8;
constexpr std::int64_t kTilesForFew = 4;  // of a processor
// Registers of a thread: of one tile of columns; of wide formats; and of two tiles, or where
// weights are read byte by byte.
constexpr std::int64_t kOneTileRegisters = 128, kWideTileRegisters = 170, kTwoTilesRegisters = 256;
// Bytes of a unit beyond which a format is wide: what lanes hold of weights on their way.
constexpr std::int64_t kNarrowUnit = 28;

// Vectors in which a simdgroup stages blocks, their steps, and scales of x, or more.
std::int64_t tile_vectors(DType format, std::int64_t tiles, bool whole, std::int64_t alignment) {
  const std::int64_t bytes = bytes_of(format, std::int64_t{kTileUnits} * kUnit);
  const std::int64_t packets = (bytes + (whole ? kPacketBytes - alignment : 0) + 15) / kPacketBytes;
  // Two steps and two least values of each unit, or fewer.
  const std::int64_t step_vectors = kTileRows * (2 * kTileUnits + 4) / 4;
  const std::int64_t scale_vectors =
      kTileUnits * tiles * kTileColumns * kTileScaleBytes / kPacketBytes;
  return kTileRows * (packets | 1) + 1 + 2 * step_vectors + scale_vectors;
}

std::int64_t tile_registers(DType format, std::int64_t tiles, bool whole) {
  if (tiles > 1 || !whole) return kTwoTilesRegisters;
  return bytes_of(format, kUnit * block_of(format)) > kNarrowUnit * block_of(format)
             ? kWideTileRegisters
             : kOneTileRegisters;
}

}  // namespace

bool fits_packed_row_tiles(const Signature& signature) {
  const std::int64_t units = signature.inputs[0].shape.back() / kUnit;
  const DType format = ParamReader(signature.statics).dtype();
  // Pieces are whole blocks.
  return signature.inputs[0].dtype != DType::f64 &&
         rows_of_x(signature) <= kMaxLayers * kMostTileRows && units > 0 && units < kMostUnits &&
         std::int64_t{kTileUnits} * kUnit % block_of(format) == 0;
}

bool fits_packed_tiles(const Signature& signature) {
  const std::int64_t rows = rows_of_x(signature);
  return rows > 1 && rows <= kMostTileRows && fits_packed_row_tiles(signature);
}

namespace {

// Rows are made kMostTileRows at a time. Without `any_rows` there are no more of them; with it,
// simdgroups, in whose number sums end, are as many for few rows as for many.
Prepared tiles_of_rows(const Signature& signature, bool any_rows) {
  auto plan = std::make_shared<StepPlan>();
  if (element_count(signature.output.shape) == 0) return prepared_steps(std::move(plan));
  const PackedOperands in(signature);
  const DType format = in.format;
  const std::int64_t rows = in.rows, outputs = in.outputs, units = in.units;
  const std::int64_t tiles = ceil_div(std::min(rows, kMostTileRows), std::int64_t{kTileColumns});
  const std::int64_t layers = ceil_div(rows, kMostTileRows);
  const std::int64_t columns = tiles * kTileColumns;
  const std::string dtype = dtype_struct(signature.inputs[0].dtype);

  const StepArgument codes = workspace(*plan, layers * ceil_div(units, 2) * 2 * columns * kUnit);
  const StepArgument scales = workspace(*plan, layers * units * columns * kTileScaleBytes);
  plan->add_step(
      KernelCall("packed/codes.metal", "code_columns",
                 {dtype, std::to_string(code_order(format)), std::to_string(in.lines.shape.rank())})
          .read(in.type, "x", in.x.argument)
          .write("uint", "codes", codes)
          .write("uint2", "scales", scales)
          .constants(CodeRowsParams<kRuntimeRank>{
              .rows = rows, .units = units, .x = {in.x.base, &in.lines.shape, &in.lines.strides}})
          .step(*plan, {static_cast<std::uint32_t>(columns), static_cast<std::uint32_t>(layers)},
                {kThreads}, kThreads));

  const runtime::DeviceTraits& device = *signature.device;
  const std::int64_t groups = ceil_div(outputs, std::int64_t{kTileRows});
  const PackedTileParams params{.rows = rows,
                                .outputs = outputs,
                                .units = units,
                                .base = in.base,
                                .stride = in.stride,
                                .end = in.end};
  plan->add_step(true, [&](bool whole, bool rare) {
    const std::int64_t alignment = whole ? in.step : 1;
    const std::int64_t each = tile_vectors(format, tiles, whole, alignment);
    const std::int64_t most =
        any_rows ? tile_vectors(format, kMostTileRows / kTileColumns, whole, alignment) : each;
    std::int64_t simdgroups =
        groups < kTilesForFew * processors(device) ? kManyTileSimdgroups : kFewTileSimdgroups;
    const std::int64_t book = book_vectors(format);
    while (simdgroups > 1 &&
           (simdgroups * most + book) * kPacketBytes > device.threadgroup_memory) {
      simdgroups /= 2;
    }
    const std::int64_t threads = simdgroups * kSimdWidth;
    const std::int64_t most_threads =
        register_threads(device, tile_registers(format, tiles, whole), threads);
    KernelCall call("packed/tiles.metal", "packed_tiles",
                    {format_struct(format), dtype, std::to_string(tiles), truth(in.has_bias),
                     truth(in.has_added), truth(whole), std::to_string(alignment)});
    call.read("uint4", "codes", codes).read("uint4", "scales", scales);
    in.add_to(call, whole);
    return call.constants(params)
        .threadgroup("uint4", "staged", each * simdgroups + book)
        .work(product_work(1, rows, outputs, units * kUnit))
        .step(*plan, {static_cast<std::uint32_t>(groups), static_cast<std::uint32_t>(layers)},
              {static_cast<std::uint32_t>(threads)}, most_threads, rare);
  });
  return prepared_steps(std::move(plan));
}

}  // namespace

Prepared prepare_packed_tiles(const Signature& signature) {
  return tiles_of_rows(signature, false);
}
Prepared prepare_packed_row_tiles(const Signature& signature) {
  return tiles_of_rows(signature, true);
}

}  // namespace hearth::gpu
