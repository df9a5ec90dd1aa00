#include "models/serving/read_text.h"

#include <utility>

#include "hearth/error.h"

namespace hearth::models {

GeneratedText read_text(GenerationStream& stream,
                        const std::function<bool(std::string_view)>& write) {
  GenerationPiece all;
  while (all.finish == FinishReason::none) {
    GenerationPiece piece = stream.next();
    if (piece.finish == FinishReason::failed) throw Error(piece.error_code, piece.error);
    if (write && !piece.text.empty() && !write(piece.text) && piece.finish == FinishReason::none) {
      stream.cancel();
      piece.finish = FinishReason::cancelled;
    }
    all.append(std::move(piece));
  }
  GeneratedText made{.text = std::move(all.text),
                     .tokens = {},
                     .finish = all.finish,
                     .prompt_tokens = all.prompt_tokens,
                     .cached_tokens = all.cached_tokens};
  for (const GenerationToken& token : all.tokens) made.tokens.push_back(token.token);
  return made;
}

}  // namespace hearth::models
