#include "tools/command_hints.h"

#include <algorithm>
#include <iterator>

#include "tools/listed_word.h"

namespace hearth::tools {
namespace {

// Those of Ollama, llama.cpp, MLX and vLLM, with spaces around each.
struct CommandHint {
  std::string_view commands;
  const char* instead;  // behind "expected "
};

constexpr CommandHint kCommandHints[] = {
    {" run llama-run llama-cli cli mlx_lm.chat ", "`hearth chat FILE`, or generate for one text"},
    {" ps stop ",
     "a command of `hearth help`: each `hearth serve` is a process with one model, which Ctrl-C "
     "ends"},
    {" pull push download list ls rm show create cp ",
     "files of your own, since Hearth keeps none: `curl -LO "
     "https://huggingface.co/OWNER/NAME/resolve/main/FILE.gguf` fetches one, `hearth info FILE` "
     "says what is in it"},
    {" convert convert_hf_to_gguf convert_hf_to_gguf.py mlx_lm.convert ",
     "`hearth quantize FOLDER OUT.gguf --type keep`, or another type"},
    {" llama-server server api mlx_lm.server ", "`hearth serve FILE`"},
    {" llama-quantize ", "`hearth quantize IN OUT --type TYPE`"},
    {" imatrix llama-imatrix ",
     "llama.cpp's `llama-imatrix -m MODEL.gguf -f TEXT -o FILE`, which makes what `hearth quantize "
     "--imatrix FILE` takes"},
    {" llama-bench ", "`hearth bench-model --model FILE`"},
    {" llama-perplexity eval evaluate ", "`hearth perplexity --model FILE --file TEXT`"},
    {" llama-embedding embedding embeddings ", "`hearth embed --model FILE --text TEXT`"},
    {" llama-tokenize ", "`hearth tokenize FILE --text TEXT`"},
    {" lora mlx_lm.lora llama-finetune ", "`hearth finetune --lora --model FILE --text TEXT`"},
    {" complete completion llama-completion mlx_lm.generate ", "`hearth generate FILE`"},
};

}  // namespace

const char* command_hint(std::string_view command) {
  const auto* found =
      std::find_if(std::begin(kCommandHints), std::end(kCommandHints),
                   [&](const CommandHint& hint) { return is_listed(hint.commands, command); });
  return found == std::end(kCommandHints) ? nullptr : found->instead;
}

}  // namespace hearth::tools
