#include <mutex>
#include <string>
#include <string_view>

#include "ops/definition/defs.h"

namespace hearth {
namespace {

struct Registry {
  std::mutex mutex;
  std::vector<const OpDef*> ops = {
#define HEARTH_LIST_OP(name) &defs::name##_op,
#define UNARY(name) HEARTH_LIST_OP(name)
#define BINARY(name) HEARTH_LIST_OP(name)
#define COMPARISON(name) HEARTH_LIST_OP(name)
#define LOGICAL(name) HEARTH_LIST_OP(name)
#define TERNARY(name) HEARTH_LIST_OP(name)
#define PREDICATE(name) HEARTH_LIST_OP(name)
#define REDUCTION(name) HEARTH_LIST_OP(name)
#define OP(name) HEARTH_LIST_OP(name)
#include "ops/op_list.def"
#undef HEARTH_LIST_OP
  };
};

Registry& registry() {
  static auto* registry = new Registry;
  return *registry;
}

}  // namespace

std::vector<const OpDef*> all_ops() {
  Registry& known = registry();
  const std::lock_guard lock(known.mutex);
  return known.ops;
}

const OpDef* find_op(std::string_view name) {
  for (const OpDef* op : all_ops()) {
    if (name == op->name.text) return op;
  }
  return nullptr;
}

void register_op(const OpDef* op) {
  Registry& known = registry();
  const std::lock_guard lock(known.mutex);
  for (const OpDef* other : known.ops) {
    if (std::string_view(other->name.text) == op->name.text) {
      throw Error(ErrorCode::invalid_argument, "register_op: name is taken; got \"" +
                                                   std::string(op->name.text) +
                                                   "\", expected a new name");
    }
  }
  known.ops.push_back(op);
}

}  // namespace hearth
