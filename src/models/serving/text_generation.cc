#include "models/serving/text_generation.h"

#include <algorithm>
#include <string>
#include <utility>

#include "hearth/error.h"
#include "models/serving/scheduler.h"

namespace hearth::models {

Generated generate_text(const LoadedModel& loaded, std::string_view prompt,
                        const GenerateOptions& options,
                        const std::function<bool(std::string_view)>& write) {
  const EncodeOptions encoding{.add_special = true, .parse_special = options.parse_special};
  GenerationRequest request;
  request.tokens = loaded.tokenizer.encode(prompt, encoding);
  request.most_tokens = options.tokens;
  request.sampling = options.sampling;
  request.constraint = options.constraint;
  // Room for this text and no other.
  SchedulerOptions one{
      .most_running = 1, .keys = options.keys, .values = options.values, .shares_prefixes = false};
  const std::int64_t context = loaded.model.config.context;
  const auto length = static_cast<std::int64_t>(request.tokens.size());
  const std::int64_t rows = std::min(context, length + std::min(options.tokens, context) + 1);
  one.pages = (rows + one.page_size - 1) / one.page_size;
  Scheduler scheduler(loaded, one);
  const auto stream = scheduler.submit(std::move(request));
  while (true) {
    const GenerationPiece piece = stream->next();
    const Generated made{piece.prompt_tokens, piece.new_tokens, piece.finish == FinishReason::stop};
    if (piece.finish == FinishReason::failed) throw Error(piece.error_code, piece.error);
    if (!piece.text.empty() && !write(piece.text)) return made;
    if (piece.finish != FinishReason::none) return made;
  }
}

}  // namespace hearth::models
