// What an op is. An op is declared once, as one constant OpDef; nodes, kernels, gradient rules,
// tests and bindings all start from it.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/function_ref.h"
#include "core/hashing.h"
#include "graph/combine.h"
#include "graph/params.h"
#include "hearth/array.h"

namespace hearth {

struct Implementation;
struct OpDef;

// An op's one name, with its hash worked out at compile time.
struct OpName {
  const char* text;
  std::uint64_t hash;

  template <std::size_t N>
  consteval OpName(const char (&literal)[N])  // NOLINT(google-explicit-constructor)
      : text(literal), hash(hash_of(literal)) {}
  struct Runtime {};
  OpName(const char* name, Runtime) : text(name), hash(hash_of(name)) {}

  static constexpr std::uint64_t hash_of(const char* name) {
    std::uint64_t hash = kFnvBasis;
    for (; *name != '\0'; ++name) hash = fnv1a(hash, static_cast<unsigned char>(*name));
    return hash;
  }
};

enum class OpKind : std::uint8_t {
  leaf,         // data or a scalar
  elementwise,  // a scalar formula; fuses
  reduce,       // elements combined over axes; ends a fused region
  view,         // the same elements seen differently; no kernel
  contraction,  // matmul
  indexed,      // gather, scatter and friends
  random,       // counter-based generators
  opaque,       // anything else with a kernel of its own
  output,       // a further result of the op before it; no kernel: graph/outputs.h
  sync,         // waits: its shape depends on the data, or it leaves the device
};

// An elementwise op is computed by the function of kernels/formulas/scalar_ops.h that has its name.
// What that does with dtypes:
enum class Formula : std::uint8_t {
  none,
  arithmetic,  // the inputs have the dtype of the result
  comparison,  // the inputs have one dtype, the result is bool
  logic,       // the inputs are bool
  choice,      // the first input is bool, the others have the dtype of the result
  cast,        // the input becomes the dtype of the result, without a function
};

// What an op of floats can be of a fused multiply-add.
enum class FmaPart : std::uint8_t { none, product, sum, difference };

// Results of one op, at most.
inline constexpr int kMaxOutputs = 8;

struct OutputType {
  Shape shape;
  DType dtype = DType::f32;
};

// What infer() sees and sets. Inputs may be scalars without a dtype (`is_scalar()`); infer() sets
// `scalar_dtype` to what they become.
struct Inference {
  const OpDef& op;
  std::span<const Array* const> inputs;  // null or undefined where an optional input is absent
  const Params& params;
  Shape shape;
  DType dtype = DType::f32;
  DType scalar_dtype = DType::f32;
  // The results after the first, OpDef::outputs - 1 of them.
  std::span<OutputType> more_outputs = {};

  bool has(int i) const {
    const auto at = static_cast<std::size_t>(i);
    return at < inputs.size() && inputs[at] != nullptr && inputs[at]->defined();
  }
  const Array& input(int i) const { return *inputs[static_cast<std::size_t>(i)]; }
  // Throws Error{code} with "<op>: what; got ..., expected ...".
  [[noreturn]] void fail(ErrorCode code, const std::string& text) const;
};

// Which values a gradient rule reads. Only these are kept until backward.
enum class Saves : std::uint32_t {
  none = 0,
  input0 = 1,
  input1 = 2,
  input2 = 4,
  input3 = 8,
  all_inputs = 0xffff,
  output = 1u << 16,
  output1 = 1u << 17,
  output2 = 1u << 18,
  output3 = 1u << 19,
};
constexpr Saves operator|(Saves a, Saves b) {
  return static_cast<Saves>(static_cast<std::uint32_t>(a) | static_cast<std::uint32_t>(b));
}
constexpr bool has(Saves set, Saves one) {
  return (static_cast<std::uint32_t>(set) & static_cast<std::uint32_t>(one)) != 0;
}

// What a gradient rule sees. The rule returns one gradient per input, undefined where there is none
// or where needs(i) is false. A gradient has its input's shape and dtype.
struct Vjp {
  const GradRecord& record;
  // Of the output: same shape and dtype. Undefined only where nothing but other outputs has one.
  const Array& grad;
  const Array& out;  // only with Saves::output
  // The same of the outputs after the first, of ops that have them.
  std::span<const Array> more_grads = {};
  std::span<const Array> more_outs = {};
  // Unless empty, in place of what the record saves of the inputs: tracked_inputs().
  std::span<const Array> inputs = {};

  // Of output i, counted from 0; undefined where nothing that is differentiated depends on it.
  const Array& output_grad(int i) const;
  const Array& output(int i) const;  // only what Saves names
  int input_count() const;
  const Array& input(int i) const;  // only what Saves names
  const Shape& shape(int i) const;  // of input i
  DType dtype(int i) const;
  bool has(int i) const;    // input i was given
  bool needs(int i) const;  // a gradient of input i is wanted
  ParamReader statics() const;
  std::uint64_t dynamic(int i) const;  // the i-th dynamic parameter's word
};
using Grads = std::vector<Array>;

// What a composite sees: the same arguments as the op itself.
struct Composite {
  std::span<const Array* const> inputs;
  const Params& params;
  Device device;

  bool has(int i) const {
    const auto at = static_cast<std::size_t>(i);
    return at < inputs.size() && inputs[at] != nullptr && inputs[at]->defined();
  }
  const Array& input(int i) const { return *inputs[static_cast<std::size_t>(i)]; }
  ParamReader statics() const { return ParamReader(params.statics().span()); }
};

// Whether the device has an implementation of another op for the same arguments. Throws what
// infer() throws.
bool has_implementation(const OpDef& op, const Composite& arguments);

// Where an array's elements lie: element (i, j, ...) is at offset + i * strides[0] + ..., in
// elements. The offset of a packed array counts bytes: record/packed.h.
struct Layout {
  std::int64_t offset = 0;
  Strides strides;
};

// A view rule: from the input's shape and layout to the output's. False: a copy is needed.
using ViewRule = bool (*)(std::span<const std::uint64_t> statics, const Shape& in_shape,
                          const Layout& in, const Shape& out_shape, Layout* out);

// Inputs that the table-driven tests build, in every dtype and layout that applies.
struct SampleInput {
  Shape shape;
  double lo = -2;
  double hi = 2;
  int dtype = -1;         // a DType that does not vary with the case, such as i64 for indices
  bool distinct = false;  // no two elements alike: argmax, max gradients
  double diagonal = 0;    // added to the diagonals of the last two axes
};
struct SampleCase {
  std::vector<SampleInput> inputs;
  Params params;
  // The error the case must give; kValid for none.
  static constexpr int kValid = -1;
  int error = kValid;
};

struct OpDef {
  OpName name;
  int revision = 1;
  const char* summary = "";
  // Inputs by name and what infer() makes of their shapes: "a [..., m, k], b [..., k, n] -> [...,
  // m, n]". Null: of an elementwise op or a reduction, which follow a rule of their own.
  const char* shapes = nullptr;
  // The method of typed tensors that records it: Burn's name. Null: the op's own; empty: none, or
  // several for its parameters.
  const char* method = nullptr;
  OpKind kind = OpKind::opaque;
  std::span<const ParamSpec> params = {};
  int min_inputs = 1;
  int max_inputs = 1;  // -1: any number
  // Results, each a value with a shape and dtype of its own: record_outputs() gives all of them.
  int outputs = 1;
  void (*infer)(Inference&) = nullptr;
  Formula formula = Formula::none;
  // Whether a result of the formula, computed in a wider integer type, may lie outside the dtype of
  // inputs and result: it wraps then. Formulas that never leave it are spared a step by saying so.
  bool may_wrap = true;
  FmaPart fma = FmaPart::none;
  Combine combine = Combine::none;  // of ops that reduce
  bool finds_index = false;         // reduces to where the element lies, not to the element
  Grads (*vjp)(const Vjp&) = nullptr;
  Saves saves = Saves::none;
  // What the rule reads when only the inputs of `needs` (bit i = input i) want a gradient, with
  // these static parameters; a subset of `saves`. Null: always `saves`. A product keeps the factor
  // only for whom it is.
  Saves (*saves_for)(std::uint32_t needs, ParamReader statics) = nullptr;
  // The op in terms of other ops: used on a device without an implementation, as the gradient where
  // vjp is null, and as an oracle. An op of several results has the second form.
  Array (*composite)(const Composite&) = nullptr;
  std::vector<Array> (*composite_outputs)(const Composite&) = nullptr;
  // Recorded in its place where a gradient is wanted and the device implements it: an op with
  // the same inputs and parameters and this op's result as its first, which also gives what the
  // rule would have to work out again.
  const OpDef* tracked_as = nullptr;
  ViewRule view = nullptr;
  // A view of packed arrays too: blocks stay whole (record/packed.h).
  bool takes_packed = false;
  // For views whose start is dynamic: dynamic parameter d moves the start along axis d.
  bool dynamic_offset = false;
  // The input whose storage the output takes over: the kernel sees the output already filled with
  // that input's value and changes part of it. Of several outputs the first. -1: none.
  int overwrites = -1;
  bool differentiable = true;
  // What comes with an op that is registered at run time: works on host memory; encodes kernels.
  const Implementation* host_implementation = nullptr;
  const Implementation* device_implementation = nullptr;
  bool (*accepts_dtype)(DType) =
      nullptr;  // whether infer() takes it for the first input; null: all
  std::vector<SampleCase> (*samples)() = nullptr;
};

// Whether the op is described in terms of other ops.
inline bool has_composite(const OpDef& op) noexcept {
  return op.composite != nullptr || op.composite_outputs != nullptr;
}

// Records one op. `inputs` may hold null or undefined arrays for absent optional inputs. `device`
// is for ops without inputs; otherwise the inputs decide. Throws what infer() throws, and
// Error{device} for inputs on different devices.
Array record(const OpDef& op, std::span<const Array* const> inputs, const Params& params,
             const Device* device = nullptr);
// All results, where record() gives the first. What nobody keeps is not computed, where the kernel
// can do without.
std::vector<Array> record_outputs(const OpDef& op, std::span<const Array* const> inputs,
                                  const Params& params, const Device* device = nullptr);

// A value that several ops of a program need, such as a mask, recorded by the first of them: `make`
// is called where nothing is shared under `key` since the last submission. The value depends on
// nothing but its key, whose first word is the hash of a name, and is not differentiated.
using SharedKey = std::array<std::uint64_t, 4>;
Array shared_value(Device device, const SharedKey& key, FunctionRef<Array()> make);

// `made`, which exists already, as the result of `op`: backward() calls the op's rule, which reads
// neither inputs nor output. For what is no node of a tape, such as a copy from another device.
Array track_made(const OpDef& op, const Array& input, const Params& params, Array made);

}  // namespace hearth
