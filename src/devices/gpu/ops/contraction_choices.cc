#include "devices/gpu/ops/contraction_choices.h"

#include "runtime/environment.h"

namespace hearth::gpu {

ChooserOptions contraction_choices() {
  ChooserOptions options;
  options.choices = runtime::environment().choices;
  options.tunes = runtime::environment().tune;
  return options;
}

}  // namespace hearth::gpu
