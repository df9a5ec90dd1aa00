#include <cstdint>
#include <string>

#include "c_api/objects.h"
#include "c_api/status.h"
#include "core/require.h"
#include "graph/record/grad_record.h"
#include "hearth/c_api.h"
#include "hearth/grad.h"
#include "hearth/random.h"

namespace hearth::c_api {
namespace {

using AllGradients = Handles<Gradients, HandleKind::gradients>;

// How often the thread has begun what it has not ended, and whether it recorded for gradients
// before. Without a destructor: a thread that ends may call from those of its other objects.
struct Untracked {
  std::int64_t depth = 0;
  bool before = true;
};
constinit thread_local Untracked t_untracked;

}  // namespace

std::int64_t gradients_handles() noexcept { return AllGradients::count(); }

}  // namespace hearth::c_api

namespace c_api = hearth::c_api;
using c_api::guarded;

extern "C" {

hearth_status hearth_seed(uint64_t seed) {
  return guarded(__func__, [&] { hearth::seed(seed); });
}

hearth_status hearth_array_require_grad(hearth_array array, hearth_array* leaf) {
  return guarded(__func__, [&, function = __func__] {
    c_api::require_pointer(leaf, function, "leaf");
    *leaf = c_api::give(c_api::plain(array, function, "array").require_grad());
  });
}

hearth_status hearth_array_detach(hearth_array array, hearth_array* detached) {
  return guarded(__func__, [&, function = __func__] {
    c_api::require_pointer(detached, function, "detached");
    *detached = c_api::give(c_api::plain(array, function, "array").detach());
  });
}

hearth_status hearth_no_grad_begin(void) {
  return guarded(__func__, [] {
    auto& mine = c_api::t_untracked;
    if (mine.depth == 0) mine.before = hearth::set_grad_enabled(false);
    ++mine.depth;
  });
}

hearth_status hearth_no_grad_end(void) {
  return guarded(__func__, [function = __func__] {
    auto& mine = c_api::t_untracked;
    hearth::require(mine.depth > 0, function, "nothing has begun", mine.depth,
                    "hearth_no_grad_begin() before");
    if (--mine.depth == 0) hearth::set_grad_enabled(mine.before);
  });
}

hearth_status hearth_backward(hearth_array loss, uint32_t flags, hearth_gradients* gradients) {
  return guarded(__func__, [&, function = __func__] {
    c_api::require_pointer(gradients, function, "gradients");
    hearth::require(flags <= (HEARTH_RETAIN | HEARTH_CREATE_GRAPH), function, "unknown flags",
                    flags, "a sum of HEARTH_RETAIN and HEARTH_CREATE_GRAPH");
    hearth::BackwardOptions options;
    options.retain = (flags & HEARTH_RETAIN) != 0;
    options.create_graph = (flags & HEARTH_CREATE_GRAPH) != 0;
    *gradients = {
        c_api::AllGradients::give(hearth::backward(c_api::plain(loss, function, "loss"), options))};
  });
}

hearth_status hearth_gradients_get(hearth_gradients gradients, hearth_array leaf,
                                   hearth_array* gradient) {
  return guarded(__func__, [&, function = __func__] {
    c_api::require_pointer(gradient, function, "gradient");
    const auto all = c_api::AllGradients::use(gradients.id, function, "gradients");
    const std::uint64_t id = hearth::gradient_id(c_api::plain(leaf, function, "leaf"));
    if (id == 0) {
      throw hearth::Error(hearth::ErrorCode::invalid_argument,
                          std::string(function) +
                              ": leaf: not a leaf; got an array that hearth_array_require_grad() "
                              "did not give, expected one that it did");
    }
    hearth::Array found = all->get(id);
    *gradient = found.defined() ? c_api::give(std::move(found)) : hearth_array{0};
  });
}

hearth_status hearth_gradients_release(hearth_gradients gradients) {
  return guarded(__func__, [&, function = __func__] {
    c_api::AllGradients::release(gradients.id, function, "gradients");
  });
}

}  // extern "C"
