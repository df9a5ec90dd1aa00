// The implementations of an op on a device: what one declares, how it is prepared, how it is
// launched. graph/selector.h picks one of them.
//
// Operands of a launch are numbered: the inputs, then the outputs. Pointers are device addresses;
// on the CPU they are host pointers.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "graph/lower/lowered_region.h"
#include "hearth/dtype.h"
#include "hearth/shape.h"
#include "runtime/device/device_spec.h"
#include "runtime/device/device_traits.h"

namespace hearth {

struct OpDef;
inline namespace v0 {
namespace runtime {
class Encoder;  // runtime/commands/encoder.h
}
}  // namespace v0

// An operand as a plan knows it. Strides are in elements.
struct TensorSpec {
  DType dtype = DType::f32;
  Shape shape;
  Strides strides;
  bool absent = false;  // an optional input that was not given
};

// The strides of a matrix operand over the `batch_rank` batch axes of the result, which are aligned
// at the last one; 0 where the operand is broadcast.
Strides batch_strides(const TensorSpec& spec, int batch_rank);

// True if the last two axes are a matrix as LayoutNeed::matrices has it, row by row or column by
// column. Axes of one element may step as they like.
bool has_dense_matrices(const Shape& shape, const Strides& strides);
inline constexpr std::int64_t kRowAlignment = 16;  // bytes
// True if an operand of this shape and dtype fits LayoutNeed::aligned_rows.
bool has_aligned_rows(const TensorSpec& spec, const Strides& strides, std::int64_t offset);

// An elementwise op that a kernel applies to its result before it stores it. The op's operands are
// the result so far and, where it has two, another input.
struct Epilogue {
  const OpDef* op = nullptr;
  int input = -1;  // of the signature, seen over the shape of the op's result, 0 where broadcast
  bool result_is_second = false;
};

// One op as an implementation sees it. `statics` are the op's static parameters (ParamReader). The
// dynamic parameters are the words from `dynamic` on in the dynamic block.
struct Signature {
  const OpDef* op = nullptr;
  std::span<const std::uint64_t> statics;
  std::vector<TensorSpec> inputs;
  // Dense row-major, but for kernels that have Implementation::writes_padded or
  // writes_channels_last.
  TensorSpec output;
  // The results after the first, in the same order of axes. When a kernel prepares and is launched,
  // a result is absent that nobody wants and that Implementation::may_omit names.
  std::vector<TensorSpec> more_outputs;
  int dynamic = 0;
  std::vector<Epilogue> epilogue;  // in order; their inputs lie after the op's own
  const runtime::DeviceTraits* device = &runtime::common_traits();  // that it is prepared for

  int output_count() const { return 1 + static_cast<int>(more_outputs.size()); }
  const TensorSpec& output_at(int i) const {
    return i == 0 ? output : more_outputs[static_cast<std::size_t>(i) - 1];
  }
};

struct Launch {
  static constexpr int kNoOperand = -1;
  const Signature* signature;  // lives as long as the plan
  const void* state;           // what prepare() made
  const Address* operands;     // signature->inputs.size() inputs (null where absent),
                               // then the outputs; for regions: inputs, outputs, reduction
  int operand_count;
  Address workspace;              // Prepared::workspace_bytes, 64-byte aligned
  const std::uint64_t* dynamics;  // the plan's dynamic block
  int dynamic_count;
  runtime::Encoder* encoder = nullptr;  // where kernels encode themselves; null on hosts
  int output_count = 1;                 // of a region with its reduction
  int early = kNoOperand;               // an output that the host may ask for before the plan ends:
                                        // the last write of it
  std::int64_t early_bytes = 0;

  Address input(int i) const { return operands[i]; }
  // Null where the signature says that it is absent.
  Address output(int i = 0) const { return operands[operand_count - output_count + i]; }
};

// An implementation's part of a plan.
struct Prepared {
  std::shared_ptr<const void> state;
  std::int64_t workspace_bytes = 0;
  LaunchFunction launch = nullptr;  // instead of Implementation::launch
};

// The layouts that an implementation can read. The planner copies an input with another one, and
// counts the copy.
enum class LayoutNeed : std::uint8_t {
  strided,
  last_axis_dense,
  matrices,      // of the last two axes one is dense, and the other steps over it
  aligned_rows,  // the last axis is dense; the start and all other steps, which go forward, are
                 // multiples of kRowAlignment
  dense,
};

// One way to run a signature, ready to be launched.
struct Candidate {
  std::string name;  // "tiles"; a variant's is "simdgroup/64x64x16"
  Prepared prepared;
};

// Problems for which the same candidate is fastest.
struct TuningClass {
  std::string problem;  // dtypes, layouts, epilogue, extents in steps: "f32 nt m1024 n1024 k512"
  // Multiplications and additions of this one, of which two count as one. 0: it has no rivals.
  double work = 0;
};

// Which candidates are measured, where that is worth it (kernels/autotune/tuner.h).
enum class Tuning : std::uint8_t {
  none,    // none: it serves what it accepts
  rivals,  // those of its variants, and of all after it that would serve as well
};

// What the bits of a row of results depend on. Rows are those of different texts: what an op makes
// of one of them says nothing of another.
enum class RowBits : std::uint8_t {
  own,     // that row, and extents other than the number of rows
  shared,  // how many rows there are, too, or a library: not with Numerics::batch_invariant
  chosen,  // as own, but slower than what is shared: with Numerics::batch_invariant only. Of an op
           // that has one, what serves then does not depend on the number of rows.
};

// One way to run an op: where extents, dtypes or strides decide between two, these are two. What
// only a launch knows, addresses and dynamic parameters, it may choose by. Immutable; lists of them
// are constexpr, best first.
struct Implementation {
  const char* name;  // "tiles": what rules call it, unique among those that a device has of an op
  const OpDef* op;
  // Whether devices of such traits have it. Null: all.
  bool (*needs)(const runtime::DeviceTraits&) = nullptr;
  // Whether it runs only where a user's rule names it. Null: no.
  bool (*on_request)(const runtime::DeviceTraits&) = nullptr;
  RowBits row_bits = RowBits::own;
  // Depends on dtypes, ranks, extents, static parameters and the device only, never on strides: an
  // op is expanded when it is recorded if nothing accepts it. Null: always.
  bool (*accepts)(const Signature&) = nullptr;
  // Whether it takes operands of these strides. For each that has this there is a later one without
  // that accepts the same. Null: always.
  bool (*fits)(const Signature&) = nullptr;
  // Opens a library that is loaded on first use; true if it is there. Asked last. Null: it needs
  // none.
  bool (*opens)(const runtime::DeviceTraits&) = nullptr;
  LayoutNeed layout = LayoutNeed::strided;
  // Whether it applies all of Signature::epilogue, of which it has taken all but the last. May look
  // at strides. Null: it never does.
  bool (*fuses)(const Signature&) = nullptr;
  // At plan time. Null: there is nothing to prepare.
  Prepared (*prepare)(const Signature&) = nullptr;
  // Null: the op is expanded to its composite.
  LaunchFunction launch = nullptr;
  // Several candidates instead of prepare(), the one that should be fastest first. Their names are
  // "<name>/..."; variant_names() has those of every device.
  std::vector<Candidate> (*variants)(const Signature&) = nullptr;
  std::vector<std::string> (*variant_names)() = nullptr;
  Tuning tuning = Tuning::none;
  // The class of a problem, which rules name and times are kept by. Null: dtype and extents,
  // exactly.
  TuningClass (*tuning_class)(const Signature&) = nullptr;
  // Whether it is faster where the rows of what it reads and writes begin at multiples of
  // kRowAlignment. May depend on what accepts() may. Null: never. See graph/plan/row_pitch.cc.
  bool (*wants_padding)(const Signature&) = nullptr;
  // The rows of its result may be padded, as Signature::output.strides say. It leaves the padding
  // alone.
  bool writes_padded = false;
  // Whether it is faster where what it reads and writes has its channels innermost: its inputs of
  // rank 4 and 5 are then brought to that order, and its result has it. May depend on what
  // accepts() may, and on strides. Null: never. See graph/plan/channels_last.cc.
  bool (*wants_channels_last)(const Signature&) = nullptr;
  // Its results may have that order, as the strides of Signature's outputs say. They then have it
  // where the first input has it.
  bool writes_channels_last = false;
  // Bit i: output i need not be written where nobody wants it.
  std::uint32_t may_omit = 0;
};

// The list of a family. It is constexpr, so it outlives every device.
using Family = std::span<const Implementation>;

// How a device runs fused regions: one way, with kernels that are made for each region. Which of
// them runs is left to the launch, since it follows from addresses: how they are aligned, and which
// operands share memory.
struct RegionImplementation {
  Prepared (*prepare)(LoweredRegion) = nullptr;
  LaunchFunction launch = nullptr;  // Launch::signature is null
};

}  // namespace hearth
