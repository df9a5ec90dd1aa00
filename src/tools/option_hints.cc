#include "tools/option_hints.h"

#include <algorithm>
#include <iterator>

#include "models/sampling/sampling_fields.h"
#include "tools/listed_word.h"

namespace hearth::tools {
namespace {

// Names of llama.cpp, vLLM and MLX, with spaces around each.
struct OptionHint {
  std::string_view options;
  const char* instead;            // behind "expected "
  std::string_view command = {};  // empty: of all
};

// Of `serve`, whose requests have what other commands have options for.
constexpr const char* kInRequests =
    "the command without it: requests say these; what they leave out is as the model's makers "
    "recommend";

// Those of one command stand before those of all; of drawing only what is no sampling field.
constexpr OptionHint kOptionHints[] = {
    {" --dry-sequence-breaker --mirostat --samplers --sampling-seq --sampler-seq "
     "-l --logit-bias -s --seed -n --predict --n-predict --max-tokens --max-new-tokens "
     "--max_new_tokens --do-sample --do_sample --grammar --grammar-file -j --json-schema "
     "--json-schema-file --ignore-eos -r --reverse-prompt --generation-config "
     "--override-generation-config ",
     kInRequests, "serve"},
    {" --system -sys --system-prompt ",
     "a first message of the role system in requests, or `instructions` of /v1/responses", "serve"},
    {" --reasoning-format ",
     "the command without it: answers have what a model thinks as reasoning_content, beside "
     "content",
     "serve"},
    {" --format ", "response_format in requests, with a JSON schema or json_object", "serve"},
    {" --stream --echo ", "the command without it: requests say these", "serve"},
    {" --min-tokens ", "min_tokens in requests", "serve"},
    {" --max-logprobs ",
     "the command without it: requests say how many, with logprobs and top_logprobs", "serve"},
    {" --verbose -v --show-timings --no-show-timings --perf --no-perf ",
     "the command without it: /metrics counts tokens and seconds, answers have their own in "
     "`timings`",
     "serve"},
    {" -f --file --text-file --prompt-file ", "`hearth embed MODEL < FILE`, a text a line",
     "embed"},
    {" -ub --ubatch-size ", "-b (--prefill), the tokens of a prompt in a step", "bench-model"},
    {" --no-bos ", "--plain, which adds no tokens at the beginning and the end", "tokenize"},
    {" --ids ", "the command without it: ids are what is printed; --json has their texts too",
     "tokenize"},
    {" --stdin ", "the command without it: without --text the text is what standard input has",
     "tokenize"},
    {" --show-count ", "`| wc -w` behind it, which counts the ids", "tokenize"},
    {" --no-parse-special ",
     "the command without it: texts of control tokens are texts like others without --special",
     "tokenize"},
    {" --q-bits --bits --q-group-size --group-size --q-mode --quant-predicate -q --quantize -d "
     "--dequantize --dtype ",
     "the type behind the files: q4_k_m, or f16 for weights that are not packed", "quantize"},
    {" --hf-path --mlx-path ", "the files without options: `hearth quantize FOLDER OUT.gguf TYPE`",
     "quantize"},
    {" --outtype ", "--type, or the type behind the files", "quantize"},
    {" --outfile ", "the files without options: `hearth quantize FOLDER OUT.gguf TYPE`",
     "quantize"},
    {" --upload-repo ", "the command without it: files stay where they are written", "quantize"},
    {" --train ", "the command without it: it is what `hearth finetune` does", "finetune"},
    {" --data ", "--text FILE, a text or x.jsonl of conversations", "finetune"},
    {" --iters ", "--steps", "finetune"},
    {" --lora-alpha ", "--alpha", "finetune"},
    {" --lora-r --lora-rank -r ", "--rank", "finetune"},
    {" --target-modules --lora-target-modules ",
     "--lora-layers, an expression found in GGUF's names of layers: attn_(q|v) for q_proj and "
     "v_proj",
     "finetune"},
    {" --qlora --load-in-4bit --load-in-8bit ",
     "the command without it: packed weights are trained on as they are", "finetune"},
    {" --epochs --num-epochs --num-train-epochs ", "--steps, or --seconds", "finetune"},
    {" --adapter-path --save-path ", "--out FOLDER, which has the adapter", "finetune"},
    {" --resume-adapter-file ", "--resume, of the same --out", "finetune"},
    {" --save-every ", "--checkpoint-every", "finetune"},
    {" --max-seq-length ", "--context", "finetune"},
    {" --fine-tune-type ", "the command without it: a low-rank adapter is what is trained",
     "finetune"},
    {" --mask-prompt ", "the command without it: of conversations only answers are learned",
     "finetune"},
    {" --num-layers ", "--lora-layers, an expression found in names of layers: blk.(30|31).",
     "finetune"},
    {" --val-batches --steps-per-eval --steps-per-report --test --test-batches ",
     "the command without it: a twentieth of the text is held out and measured", "finetune"},
    {" -hf -hfr --hf --hf-repo -hff --hf-file -hft --hf-token -mu --model-url -dr --docker-repo "
     "--hf-path --revision --download-dir ",
     "the path of a file: `curl -LO https://huggingface.co/OWNER/NAME/resolve/main/FILE.gguf` "
     "fetches one"},
    {" -ngl --gpu-layers --n-gpu-layers -ngld --gpu-layers-draft --n-gpu-layers-draft ",
     "--device cuda or metal, which runs all layers there"},
    {" -mg --main-gpu -sm --split-mode -ts --tensor-split --rpc --tensor-parallel-size -tp "
     "--pipeline-parallel-size -pp --data-parallel-size -dp --pipeline "
     "--distributed-executor-backend ",
     "--device: a model runs on one device"},
    {" -ot --override-tensor -cmoe --cpu-moe -ncmoe --n-cpu-moe -nkvo --no-kv-offload -kvo "
     "--kv-offload --no-op-offload --swap-space --cpu-offload-gb ",
     "--device: a model and its caches are on one device"},
    {" -fit --fit -fitt --fit-target -fitc --fit-ctx ",
     "`hearth info FILE --context N`, which says what a model takes"},
    {" -fa --flash-attn --attention-backend ",
     "the command without it: attention always runs without a matrix of scores"},
    {" --mlock --mmap --no-mmap -dio --direct-io -lm --load-mode ",
     "the command without it: files are read where they lie, without a copy"},
    {" --numa --prio --prio-batch --poll -C --cpu-mask -Cr --cpu-range --cpu-strict ",
     "--threads; taskset or numactl bind a program to cores"},
    {" -tb --threads-batch --threads-http ", "--threads, which counts for all"},
    {" -cnv --conversation -no-cnv --no-conversation -i --interactive -if --interactive-first "
     "-mli --multiline-input --simple-io ",
     "the command without it: `hearth chat` talks, `hearth generate` goes on with a text"},
    {" -r --reverse-prompt ", "--stop, of commands that write"},
    {" -st --single-turn ", "`hearth chat --prompt TEXT --single-turn`"},
    {" --system -sys -sysf --system-prompt --system-prompt-file ",
     "--system TEXT of `hearth chat`; of a file --system \"$(cat FILE)\""},
    {" --in-prefix --in-prefix-bos --in-suffix ", "--chat-template, which says what stands where"},
    {" --chat-template --chat-template-file ", "`hearth chat`, which takes one"},
    {" --jinja --no-jinja --use-default-chat-template ",
     "the command without it: chat templates are always run"},
    {" --ignore-chat-template ", "`hearth generate`, which goes on with a text as it stands"},
    {" --prefill-response ",
     "continue_final_message in requests to `hearth serve`, which goes on with the last message"},
    {" --tool-call-parser --enable-auto-tool-choice --reasoning-parser "
     "--chat-template-content-format ",
     "the command without it: the model's template says how calls and reasoning are written"},
    {" --reasoning-format ",
     "the command without it: `hearth chat` shows what a model thinks dimmed, on terminals only"},
    {" --chat-template-kwargs --chat-template-config --chat-template-args "
     "--default-chat-template-kwargs ",
     "--chat-template-kwargs of `hearth chat`, or chat_template_kwargs in requests to "
     "`hearth serve`"},
    {" --reasoning-budget -rea --reasoning --think ",
     "--chat-template-kwargs '{\"enable_thinking\": false}' of `hearth chat`, or "
     "chat_template_kwargs in requests to `hearth serve`, with what the template knows"},
    {" --color -co --no-color ",
     "the command without it: only what a model thinks is dimmed, on terminals"},
    {" --perf --no-perf --show-timings --no-show-timings ",
     "--verbose of `hearth generate` and `hearth chat`, or `hearth bench-model FILE`, which "
     "measures tokens a second"},
    {" --log-disable --log-file --log-colors --log-verbosity -lv --log-prefix --log-timestamps "
     "--verbose -v --verbose-prompt --log-level --uvicorn-log-level --disable-log-requests "
     "--enable-log-requests --disable-log-stats ",
     "the command without it: there is no log; the few notes go to standard error, and 2>/dev/null "
     "drops them"},
    {" --no-display-prompt --display-prompt ",
     "the command without it: only `hearth generate` shows the prompt, but with "
     "--no-display-prompt"},
    {" -sp --special ",
     "--special of `hearth generate`, which reads control tokens in prompts, or of `hearth "
     "tokenize --decode`, which shows them; texts that are written have none"},
    {" --extra-eos-token --eos-token ", "--stop TEXT, of commands that write"},
    {" --ignore-eos ",
     "--ignore-eos of `hearth generate` and `hearth chat`, or ignore_eos in requests to "
     "`hearth serve`"},
    {" --keep ", "--keep of `hearth generate`; other commands end where the context is full"},
    {" --context-shift ",
     "the command without it: `hearth generate` goes on from a text's last half where it fills the "
     "context, other "
     "commands end there"},
    {" --no-context-shift ",
     "--tokens -1 of `hearth generate`, with which a text ends where the context does"},
    {" --list-devices ", "`hearth devices`"},
    {" --penalize-nl --no-penalize-nl ",
     "the command without it: penalties see line breaks as any token"},
    {" --tfs --tfs-z ", "--min-p or --typical-p, which drop unlikely tokens too"},
    {" -dt --defrag-thold ", "the command without it: caches are in pages, which need no moving"},
    {" -gan --grp-attn-n -gaw --grp-attn-w ",
     "the command without it: positions are as the model's files say"},
    {" -bf --binary-file ", "--prompt-file FILE"},
    {" -np --parallel --max-num-seqs --decode-concurrency ",
     "--parallel of `hearth serve`, bench-model and info"},
    {" -cb --cont-batching -nocb --no-cont-batching -kvu --kv-unified "
     "--enable-chunked-prefill --no-enable-chunked-prefill ",
     "the command without it: texts that run together share steps and caches"},
    {" -b --batch-size -ub --ubatch-size --max-num-batched-tokens --prefill-step-size "
     "--prompt-concurrency ",
     "--prefill of `hearth serve`, bench-model and info; other commands choose by themselves"},
    {" --kv-bits --kv-cache-dtype --kv-group-size --quantized-kv-start ",
     "--cache-type q8_0, q4_0, tq4 or another, of commands that keep caches"},
    {" --max-kv-size ",
     "--context, behind which `hearth generate` goes on from a text's last half and its --keep, "
     "and "
     "other commands end"},
    {" -ctk -ctv ", "--cache-type-k and --cache-type-v, of commands that keep caches"},
    {" -ctkd -ctvd --cache-type-k-draft --cache-type-v-draft -cd --ctx-size-draft -devd "
     "--device-draft -td --threads-draft ",
     "the command without it: a model that guesses ahead runs as the other does"},
    {" --draft-min --draft-n-min --draft-p-min --draft-p-split --spec-type --lookup-ngram-min "
     "--num-draft-tokens --num-speculative-tokens ",
     "--drafts, the most tokens that are guessed ahead"},
    {" --speculative-config --speculative-model ",
     "--draft-model FILE, and --drafts, the most tokens that are guessed ahead"},
    {" --rope-scaling --rope-scale --rope-freq-base --rope-freq-scale --yarn-orig-ctx "
     "--yarn-ext-factor --yarn-attn-factor --yarn-beta-slow --yarn-beta-fast ",
     "the command without it: positions are scaled as the model's files say"},
    {" --override-kv --check-tensors --no-repack -nr --warmup --no-warmup --swa-full "
     "--no-host --offline --enforce-eager --block-size --load-format --safetensors-load-strategy "
     "--guided-decoding-backend --structured-outputs-config --min-tokens-to-keep ",
     "the command without it"},
    {" --lora-scaled --lora-base --lora-init-without-apply --adapter-path --adapter "
     "--enable-lora --lora-modules --max-loras --max-lora-rank ",
     "--lora FILE[:SCALE]"},
    {" --quantization ",
     "the command without it: weights are as the model's files have them, `hearth quantize` makes "
     "smaller ones"},
    {" --tokenizer ", "the command without it: tokens are those of the model's files"},
    {" --task --runner --convert ",
     "the command without it: the model's files say whether it writes or embeds, or --pooling of "
     "`hearth embed` and `hearth serve`"},
    {" --control-vector --control-vector-scaled --control-vector-layer-range ",
     "the command without it: only adapters change a model, by --lora"},
    {" -mm --mmproj -mmu --mmproj-url --no-mmproj --image --audio --image-max-tokens "
     "--limit-mm-per-prompt ",
     "texts: models read nothing else here"},
    {" --prompt-cache --prompt-cache-all --prompt-cache-ro --slot-save-path -cram --cache-ram "
     "--cache-reuse --cache-prompt --no-cache-prompt --prompt-cache-file --prompt-cache-size "
     "--prompt-cache-bytes --enable-prefix-caching --no-enable-prefix-caching --ctx-checkpoints "
     "-ctxcp --swa-checkpoints ",
     "the command without it: `hearth serve` keeps what prompts begin with, in --memory"},
    {" --gpu-memory-utilization --kv-cache-memory-bytes --num-gpu-blocks-override ",
     "--memory of `hearth serve`, in MiB for keys and values"},
    {" --max-model-len --num-ctx --num_ctx ", "--context"},
    {" --num-predict --num_predict --max-new-tokens --max_new_tokens ", "--tokens"},
    {" --do-sample --do_sample ",
     "the command without it: tokens are drawn, but with --temperature 0"},
    {" --greedy ",
     "--temperature 0 of `hearth generate` and `hearth chat`, or temperature 0 in requests to "
     "`hearth serve`"},
    {" --num-beams --num_beams ",
     "the command without it: there is one text, without beams; --temperature 0 takes the "
     "likeliest "
     "tokens"},
    {" --num-thread --num_thread ", "--threads"},
    {" --num-gpu --num_gpu ", "--device cuda or metal, which runs all layers there"},
    {" --keepalive --keep-alive --sleep-idle-seconds ",
     "the command without it: a model stays loaded as long as the command runs"},
    {" --format ", "--json-schema FILE of `hearth generate` and `hearth chat`; '{}' is any JSON"},
    {" --stream --no-stream ", "the command without it: commands print a text while it is written"},
    {" --echo ",
     "the command without it: `hearth generate` prints the prompt, but with --no-display-prompt"},
    {" --min-tokens ",
     "--ignore-eos of `hearth generate` and `hearth chat`, with which texts are as long as "
     "--tokens"},
    {" --max-logprobs --logprobs ", "logprobs in requests to `hearth serve`"},
    {" --served-model-name --model-alias ", "--name of `hearth serve`"},
    {" --allowed-origins --allow-credentials ", "--cors of `hearth serve`, an origin each"},
    {" --metrics --slots --props --webui --ui ",
     "the command without it: /slots and /props are always there, /metrics and the page but with "
     "--no-metrics and --no-page"},
    {" --no-page --no-webui --no-ui --no-metrics ",
     "the command without it: `hearth serve` alone has a page and /metrics"},
    {" --no-slots --no-props ",
     "a proxy in front that refuses their paths: /slots and /props cannot be turned off; with "
     "--api-key they want the key"},
    {" --models-dir --models-max --models-preset --models-autoload --no-models-autoload ",
     "the path of one model: each `hearth serve` has one"},
    {" --rerank --reranking ",
     "vectors of `hearth embed` or /v1/embeddings to compare: models that rank are refused"},
    {" --embedding --embeddings --embd-normalize --embd-output-format ",
     "the command without it: the model's files, or --pooling, say what vectors are made of, for "
     "`hearth embed` and /v1/embeddings"},
    {" --pooling ", "--pooling of `hearth embed` and `hearth serve`, for /v1/embeddings"},
    {" --ssl-key-file --ssl-cert-file --ssl-keyfile --ssl-certfile ",
     "a proxy in front: there is no TLS"},
    {" --api-prefix --root-path ",
     "a proxy in front that takes the prefix off: paths are those of the API"},
    {" -to --timeout ",
     "the command without it: a request has 20 seconds to arrive, and its answer any time"},
    {" --path ", "a proxy in front: the page is part of the program"},
    {" --reuse-port ", "the command without it: one server listens at a port"},
    {" --kl-divergence --kl-divergence-base --logits-file ",
     "--save-base FILE with one model, then --kl-base FILE with the other"},
    {" --ppl-stride --ppl-output-type --hellaswag --winogrande --multiple-choice ",
     "the command without it: `hearth perplexity` measures chunks of a text"},
    {" --allow-requantize ",
     "the command without it: packed weights are rounded again, with a warning"},
    {" --leave-output-tensor --output-tensor-type --token-embedding-type --tensor-type "
     "--tensor-type-file --include-weights --exclude-weights --prune-layers ",
     "one of the types: each says which matrices have more bits"},
    {" --keep-split ", "--shard-mib, the size of each file"},
    {" --dry-run ", "the command without it: `hearth info` says the size of what was written"},
    {" --trust-remote-code --tokenizer-mode ",
     "the command without it: no code of a model's is run"},
};

// Whether it is one of a sampling field's flags, which have commas between them.
bool is_of_sampling(std::string_view name) {
  const auto has_name = [&](const models::SamplingField& field) {
    for (std::string_view rest = field.flags; !rest.empty();) {
      const std::size_t end = std::min(rest.find(','), rest.size());
      if (rest.substr(0, end) == name) return true;
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return false;
  };
  const auto fields = models::sampling_fields();
  return std::any_of(fields.begin(), fields.end(), has_name);
}

}  // namespace

const char* option_hint(std::string_view option, std::string_view command) {
  const std::string_view name = option.substr(0, option.find('='));
  if (name.size() < 2) return nullptr;
  if (command == "serve" && is_of_sampling(name)) return kInRequests;
  const auto has_name = [&](const OptionHint& hint) {
    return (hint.command.empty() || hint.command == command) && is_listed(hint.options, name);
  };
  const auto* found = std::find_if(std::begin(kOptionHints), std::end(kOptionHints), has_name);
  return found == std::end(kOptionHints) ? nullptr : found->instead;
}

}  // namespace hearth::tools
