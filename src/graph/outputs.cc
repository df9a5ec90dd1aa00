#include "graph/outputs.h"

#include "graph/record/node.h"

namespace hearth {
namespace {

constexpr ParamSpec kOutput[] = {{"output", ParamType::i64}};

}  // namespace

constinit const OpDef output_op = {
    .name = "output",
    .summary = "A further result of the op before it.",
    .kind = OpKind::output,
    .params = kOutput,
};

Array tracked_output(const Array& value, GradRecord* record, int output) {
  retain_handle(node_of(value));
  if (!is_float(value.dtype())) return array_of(node_of(value), nullptr);
  GradRecord* own = record;
  if (output > 0) {
    own = new_grad_record();
    own->op = &output_op;
    own->params.i64(output);
    own->device = record->device;
    GradInput& from = own->inputs.emplace_back();
    from.parent = record;
    from.is_given = true;
  }
  retain(record);
  return array_of(node_of(value), own);
}

int output_of(const GradRecord& record) {
  return static_cast<int>(ParamReader(record.params.statics().span()).i64());
}

}  // namespace hearth
