#include "models/serving/read_text.h"

#include "hearth/error.h"

namespace hearth::models {

GeneratedText read_text(GenerationStream& stream,
                        const std::function<bool(std::string_view)>& write) {
  GeneratedText made;
  while (made.finish == FinishReason::none) {
    const GenerationPiece piece = stream.next();
    if (piece.finish == FinishReason::failed) throw Error(piece.error_code, piece.error);
    made.text += piece.text;
    for (const GenerationToken& token : piece.tokens) made.tokens.push_back(token.token);
    made.finish = piece.finish;
    made.prompt_tokens = piece.prompt_tokens;
    made.cached_tokens = piece.cached_tokens;
    if (write && !piece.text.empty() && !write(piece.text) && made.finish == FinishReason::none) {
      stream.cancel();
      made.finish = FinishReason::cancelled;
    }
  }
  return made;
}

}  // namespace hearth::models
