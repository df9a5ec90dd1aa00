#include "tools/bindings/function_calls.h"

#include <algorithm>
#include <iterator>

#include "tools/bindings/call_lists.h"

namespace hearth::tools {

const std::vector<FunctionCall>& function_calls() {
  static const std::vector<FunctionCall> calls = [] {
    std::vector<FunctionCall> all;
    for (const auto list : {array_calls, image_calls, layer_calls, loss_calls, matrix_calls,
                            signal_calls, statistic_calls}) {
      std::vector<FunctionCall> more = list();
      std::move(more.begin(), more.end(), std::back_inserter(all));
    }
    return all;
  }();
  return calls;
}

const FunctionCall* find_call(std::string_view function) {
  const std::vector<FunctionCall>& calls = function_calls();
  const auto found = std::find_if(calls.begin(), calls.end(),
                                  [&](const FunctionCall& call) { return call.name == function; });
  return found == calls.end() ? nullptr : &*found;
}

}  // namespace hearth::tools
