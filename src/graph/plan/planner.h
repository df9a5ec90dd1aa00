// The planner: from a recording to a plan, in passes.
//
//   1. decode     words to nodes; which nodes are needed at all
//   2. trace      each needed node becomes a view, a member of a fused region, or its own item
//   3. order      items by the record position of their last member
//   4. memory     storage is donated, placed in the arena, or given to an escape
//   5. encode     steps and operands
//
// Vocabulary: a *root* is a block of elements that some item produces or an external brings; a
// *value* is a root seen through a layout; an *item* is a kernel, a region or a copy.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "graph/plan/plan.h"
#include "graph/switches.h"

namespace hearth {

// A value of the plan under construction.
struct PlanValue {
  int root = -1;    // -1: a scalar, or not planned
  int scalar = -1;  // dynamic word of a scalar; the value has every element equal
  Layout layout;    // of the node's shape, in elements, relative to the root
  std::vector<DynamicOffset> dynamic;
};

struct PlanNode {
  const OpDef* op = nullptr;
  Shape shape;
  DType dtype = DType::f32;
  std::uint32_t first_ref = 0;  // in Planner::refs_
  std::uint32_t ref_count = 0;
  std::span<const std::uint64_t> statics;
  int first_dynamic = 0;  // of the parameters, after the scalar operands
  int first_scalar = 0;   // dynamic word of the first scalar operand
  bool needed = false;
  bool wanted = false;
  int uses = 0;                    // by needed nodes
  bool is_read = false;            // by a needed node that is no further result of the same op
  bool stays_inside = true;        // neither it nor a view of it is wanted
  bool is_padded = false;          // contractions are faster with padded rows here
  bool for_channels_last = false;  // read by what wants channels innermost
  PlanValue value;
  PlanValue escaped;  // of a wanted node: where it lies after the plan
};

struct PlanRoot {
  DType dtype = DType::f32;
  Shape shape;
  Strides strides;  // as it is made: dense, or with padded rows, or with channels innermost
  std::int64_t bytes = 0;
  int external = -1;       // slot
  int item = -1;           // producer
  int node = -1;           // producing node; -1 for copies
  bool in_memory = false;  // read from outside its region, or escaping
  bool escapes = false;
  int merged_into = -1;  // shares the memory of another root
  int first_step = -1;
  int last_step = -1;
  PlanOperand place;
};

struct PlanItem {
  enum class Kind : std::uint8_t { region, kernel, copy, dead };
  Kind kind = Kind::kernel;
  std::int64_t position = 0;           // sort key: twice the record index; copies come just before
  bool open = false;                   // a region that may still grow
  std::vector<std::uint32_t> members;  // nodes of a region; the node of a kernel, without epilogue
  int reduction = -1;                  // node that ends the region
  int root = -1;                       // result of a kernel, a copy or a reduction
  std::vector<int> more_roots;         // results of a kernel after the first
  PlanValue source;                    // of a copy
  std::vector<PlanValue> inputs;       // of a kernel
  const Implementation* implementation = nullptr;
  std::vector<TensorSpec> more_inputs;  // of its epilogue, after the node's own
  std::vector<Epilogue> epilogue;
  int merged_into = -1;   // region that took this one over
  int memory_inputs = 0;  // estimate while growing
};

// PlanItem::position of an item whose last member is this node.
constexpr std::int64_t position_of(std::uint32_t node) {
  return 2 * static_cast<std::int64_t>(node) + 1;
}

class Planner {
 public:
  Planner(DeviceImpl& device, const Recording& recording, const std::vector<bool>& wanted,
          std::span<const ExternalFact> facts);
  std::shared_ptr<const Plan> build();

 private:
  friend class RegionBuilder;

  void decode();
  void find_needed();
  void trace(std::uint32_t index);
  void trace_view(std::uint32_t index);
  void trace_elementwise(std::uint32_t index);
  void trace_reduction(std::uint32_t index);
  void trace_kernel(std::uint32_t index);
  // Copies the inputs of the node that do not lie as the implementation needs them; whether any.
  bool lay_out(const Implementation& chosen, std::uint32_t index, std::vector<PlanValue>* inputs,
               Signature* signature);
  // The results of a kernel, the item just made; those that it may omit get no memory.
  void trace_outputs(std::uint32_t index);
  bool has_nothing_to_do(const PlanItem& item) const;

  // graph/plan/epilogues.cc
  void count_uses();
  Signature signature_of(const PlanItem& item) const;
  // The kernel whose result operand i is, if it may still grow and `node` alone reads it; else -1.
  int only_reader_of(const PlanNode& node, std::uint32_t i) const;
  // True if the op became part of the kernel before it.
  bool trace_epilogue(std::uint32_t index);
  bool join_epilogue(std::uint32_t index, std::uint32_t result, int item);
  const PlanNode* only_reader(std::uint32_t index, std::uint32_t* at) const;
  const Implementation* fusing_kernel(std::uint32_t index, const PlanItem& kernel) const;
  bool is_scalar(OperandRef ref) const;

  // graph/plan/row_pitch.cc
  void find_padded();
  void pad_operand(const PlanNode& node, std::uint32_t i);
  // The node as a kernel sees it whose operands are all dense.
  Signature dense_signature(const PlanNode& node) const;
  // `node` has just become a root, of what can write padded rows.
  void pad_rows(PlanNode& node);
  // True if the value, of this shape, has padded rows, and is dense but for them.
  bool has_padded_rows(const PlanValue& value, const Shape& shape) const;

  // graph/plan/channels_last.cc
  void find_channels_last();
  bool wants_channels_last(const Implementation& chosen, const Signature& signature) const;
  // `node`, elementwise, has just become a root. True if its channels are innermost now.
  bool choose_channels_last(PlanNode& node);
  void set_channels_last(PlanNode& node);
  // True if the value, of this shape, has its channels innermost, and is not row-major as well.
  bool is_only_channels_last(const PlanValue& value, const Shape& shape) const;

  // The value of operand i of a node.
  bool is_aligned(const PlanValue& value) const;
  PlanValue operand(const PlanNode& node, std::uint32_t i) const;
  const Shape& operand_shape(const PlanNode& node, std::uint32_t i) const;
  DType operand_dtype(const PlanNode& node, std::uint32_t i) const;
  // The region that holds `value` unread by others and seen as it is, or -1.
  int open_region(const PlanValue& value, const Shape& shape) const;
  int find_item(int item) const;
  // `value` is about to be read from memory by an item other than its producer.
  void read_from_memory(const PlanValue& value);
  // A dense row-major root with the elements of `value`.
  PlanValue dense(const PlanValue& value, const Shape& shape, DType dtype, std::int64_t position);
  // A root of such strides, dense in some order, with the elements of `value`: a counted copy.
  PlanValue copied(const PlanValue& value, const Shape& shape, const Strides& strides, DType dtype,
                   std::int64_t position);
  // A dense root that a copy item fills with `value`: a scalar, or a strided view.
  PlanValue stored(const PlanValue& value, const Shape& shape, DType dtype, std::int64_t position);
  // True if the value, of its root's shape, is the root as it is made.
  bool is_as_made(const PlanValue& value) const;
  int new_root(DType dtype, const Shape& shape, int item, int node);
  int new_item(PlanItem::Kind kind, std::int64_t position);

  void want_escapes();
  void order_items();
  void place_memory();
  void note_read(const PlanValue& value, int step);
  int resolve(int root) const;
  bool take_over(int into, int from, int step);
  void take_over_in_region(const struct BuiltRegion& built, int step);
  void assign_storage();
  void encode();
  // The nodes that the last step computes.
  void note_made(const PlanItem& item);
  // Throws NodesFailed for the nodes of the last step.
  Prepared prepared(FunctionRef<Prepared()> prepare) const;
  void note_memory();
  // Marks the last write of a wanted number of `bytes` bytes at `base`.
  void note_early(int base, std::int64_t bytes);
  int push_operand(const PlanValue& value, DType dtype);
  int push_operand(int root);

  DeviceImpl& device_;
  const Recording& recording_;
  const std::vector<bool>& wanted_;
  std::span<const ExternalFact> facts_;
  Switches switches_;
  bool keeps_channels_last_ = false;

  std::vector<PlanNode> nodes_;
  std::vector<OperandRef> refs_;
  std::vector<PlanRoot> roots_;
  std::deque<PlanItem> items_;
  struct DenseCopy {
    PlanValue source;
    Shape shape;
    PlanValue copy;
  };
  std::vector<DenseCopy> dense_copies_;  // readers of one view share one copy
  std::vector<int> order_;
  std::vector<struct BuiltRegion> built_;  // per entry of order_
  int early_count_ = 0;
  std::vector<bool> donated_;  // per external
  std::shared_ptr<Plan> plan_;
};

// `shape` with rows as long as padded rows are apart.
Shape padded_shape(const Shape& shape);

// A region ready for the device, with where its operands are.
struct BuiltRegion {
  LoweredRegion lowered;
  std::vector<PlanValue> inputs;
  std::vector<int> output_roots;
  int reduction_root = -1;
};

}  // namespace hearth
