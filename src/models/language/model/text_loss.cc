#include "models/language/model/text_loss.h"

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "core/counted.h"
#include "hearth/error.h"
#include "hearth/grad.h"
#include "hearth/ops.h"
#include "models/language/require_scores.h"

namespace hearth::models {
namespace {

void require_texts(const LanguageModel& model, const Array& tokens) {
  require_scores(model.config, "model: texts");
  if (tokens.rank() != 2 || tokens.size() == 0) {
    throw Error(ErrorCode::shape, "model: tokens of texts; got " + to_string(tokens.shape()) +
                                      ", expected [texts, rows] of at least one");
  }
  if (tokens.shape(1) > model.config.context) {
    throw Error(ErrorCode::invalid_argument,
                "model: texts longer than the context; got " + counted(tokens.shape(1), "token") +
                    ", expected at most " + std::to_string(model.config.context));
  }
}

}  // namespace

Array hidden_of_texts(const LanguageModel& model, const Array& tokens) {
  require_texts(model, tokens);
  const std::int64_t texts = tokens.shape(0), width = tokens.shape(1);
  const Device device = model.device;
  Batch batch;
  batch.tokens = reshape(tokens, {texts * width});
  batch.positions =
      reshape(expand(arange(0, width, 1, DType::i32, device), {texts, width}), {texts * width});
  batch.starts = arange(0, texts + 1, 1, DType::i32, device) * width;
  batch.states = arange(0, texts, 1, DType::i32, device);
  batch.width = width;
  Cache cache(
      model.config,
      {.pages = 1, .page_size = 1, .states = texts, .keys = model.compute, .values = model.compute},
      model.compute, device);
  return model.hidden(batch, cache);
}

Array text_loss(const LanguageModel& model, const Array& tokens, const Array& targets,
                std::int64_t most_scores) {
  const Array hidden = hidden_of_texts(model, tokens);
  const std::int64_t rows = hidden.shape(0);
  const Array wanted = reshape(targets, {rows});
  const auto loss_of = [&model](const Array& part, const Array& next) {
    return cross_entropy(model.scores(part), next, Reduction::sum, kNoTarget);
  };
  const Array counted = cast(not_equal(wanted, kNoTarget), DType::f32);
  const std::int64_t piece = std::max<std::int64_t>(most_scores / model.vocabulary(), 1);
  Array total;
  if (rows <= piece) {
    total = loss_of(hidden, wanted);
  } else {
    for (std::int64_t first = 0; first < rows; first += piece) {
      const std::int64_t count = std::min(piece, rows - first);
      const Array next = narrow(wanted, 0, first, count);
      const FunctionOfMany part = checkpoint(
          [loss_of, next](std::span<const Array> x) { return loss_of(x.front(), next); });
      const std::vector<Array> rows_of_part = {narrow(hidden, 0, first, count)};
      const Array loss = part(rows_of_part);
      total = total.defined() ? total + loss : loss;
    }
  }
  return total / cast(maximum(sum(counted), 1), total.dtype());
}

}  // namespace hearth::models
