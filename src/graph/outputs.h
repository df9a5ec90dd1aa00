// Ops with several results.
//
// Every node is one value. The further results of an op are nodes of their own, recorded right
// after the op's node, which is the first result: their op is output_op, their input that node,
// and their parameter which result they are. So fates, handles, storage, donation and the plan key
// know one value a node, and each result lives as long as somebody wants it. The planner gives the
// storage of all of them to the one launch of the op's kernel.
//
// In backward(), a tracked result after the first has a record of its own over the op's record,
// which gathers the gradients of all results before its rule is called.
#pragma once

#include "graph/op_def.h"
#include "graph/record/grad_record.h"

namespace hearth {

extern constinit const OpDef output_op;

// A record of result `output` of what `record` is of. The array holds `value` and that record; of
// integers it holds the value only.
Array tracked_output(const Array& value, GradRecord* record, int output);
// Which result the record is of; its op is output_op.
int output_of(const GradRecord& record);

}  // namespace hearth
