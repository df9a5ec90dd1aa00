// How a request wants its tokens drawn.
#pragma once

#include "hearth/models/sampling.h"
#include "tools/chat_json/fields.h"
#include "tools/serve/served_model.h"

namespace hearth::tools::serve {

// Fields that are not there mean what the model has by default; without a seed, or with -1, one is
// drawn. Throws FieldError.
models::SamplingOptions read_sampling(const Fields& fields, const ServedModel& model);

}  // namespace hearth::tools::serve
