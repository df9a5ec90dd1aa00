// What a language model is made of, as numbers: a stack of layers that each mix rows (attention or
// a recurrence) and then transform each row. Read from a file's metadata by read_config.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hearth/dtype.h"
#include "hearth/ops/attention.h"

namespace hearth::models {

enum class NormKind : std::uint8_t { rms, layer };

// Where the norms of a block stand, f being attention or feed-forward.
enum class NormPlaces : std::uint8_t {
  before,      // x + f(norm(x))
  after,       // x + norm(f(x))
  both,        // x + norm(f(norm(x)))
  around_sum,  // norm(x + f(x))
};

enum class Activation : std::uint8_t {
  silu,
  gelu,        // by erf
  gelu_tanh,   // by tanh
  quick_gelu,  // by a sigmoid
  relu,
  squared_relu,
  xielu,  // XieluConfig
  // Of gate g and up u: min(g, 7) sigmoid(1.702 min(g, 7)) (clamp(u, -7, 7) + 1).
  clamped_swiglu,
};

enum class RopePairs : std::uint8_t {
  none,
  neighbours,  // (0, 1), (2, 3)...
  halves,      // (i, i + dims / 2)
};

struct RopeConfig {
  RopePairs pairs = RopePairs::none;
  std::int64_t dims = 0;  // the first columns of a head that turn
  double base = 10000;
  RopeScaling scaling = {};
  // In contexts longer than the model was made for, which are f times as long, `base` is multiplied
  // by (1 + growth (f - 1))^(dims / (dims - 2)).
  double growth = 0;
  double magnitude = 1;     // of cosines and sines
  bool has_factors = true;  // the model's tensors of divisors, where it has them, hold here
};

// Multi-head latent attention: keys and values of the layers' heads expand from one latent row.
struct LatentConfig {
  std::int64_t query_rank = 0;  // 0: queries come from x at once
  std::int64_t rank = 0;        // of the latent row
  std::int64_t rope_dims = 0;   // of a key that all heads share, behind those of each head
};

// Of queries at position p, which are multiplied by 1 + scale * log(1 + floor(p / length)) once
// they have turned, so that scores stay apart where there are many.
struct QueryTemperature {
  double scale = 0;         // 0: they are not multiplied
  std::int64_t length = 1;  // of positions that are multiplied alike
};

struct AttentionConfig {
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t key_dim = 0;    // of a head
  std::int64_t value_dim = 0;  // of a head
  // > 0: a row sees this many keys at most, its own among them; where rows see both ways, those
  // that are window / 2 away at most.
  std::int64_t window = 0;
  RopeConfig rope;
  QueryTemperature temperature;
  double scale = 0;    // of scores
  double softcap = 0;  // of scores; 0: none
  double clamp = 0;    // of queries before they turn, keys likewise, and values; 0: none
  bool is_gated =
      false;  // each head's query is followed by its gate, sigmoid(gate) scales the head
  // Values are normed by head, without weights. Without a projection of their own they are keys
  // before norms and positions.
  bool norms_values = false;
  bool norms_turned = false;       // norms of queries and keys stand behind positions
  std::int64_t shared_layer = -1;  // an earlier one, whose keys and values these are; -1: none
};

// The gated delta rule behind a causal convolution.
struct DeltaConfig {
  std::int64_t key_heads = 0;
  std::int64_t value_heads = 0;
  std::int64_t key_dim = 0;    // of a head
  std::int64_t value_dim = 0;  // of a head
  std::int64_t kernel = 0;     // rows of the convolution
  bool is_tiled = false;  // value head h goes with key head h mod key_heads, else h / their ratio
};

// Mamba 2: a scan over states that decay by head.
struct ScanConfig {
  std::int64_t heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t groups = 0;
  std::int64_t state = 0;      // columns of a head's state
  std::int64_t kernel = 0;     // rows of the convolution
  double least_step = 0;       // steps are at least this long
  double largest_step = 3e38;  // and at most
};

// A short causal convolution between gates, as wide as the model.
struct ConvolutionConfig {
  std::int64_t kernel = 0;  // rows
};

enum class RouterGate : std::uint8_t { softmax = 1, sigmoid = 2, softmax_of_chosen = 3 };

struct ExpertsConfig {
  std::int64_t count = 0;  // 0: the layer has none
  std::int64_t used = 0;
  std::int64_t hidden = 0;         // of an expert
  std::int64_t shared_hidden = 0;  // of the expert that all rows go through; 0: none
  RouterGate gate = RouterGate::softmax;
  std::int64_t groups = 1;
  std::int64_t groups_used = 1;
  bool best_two_of_group = true;  // a group's score is the sum of its two best, else its best
  bool is_normalised = false;     // weights of the chosen add up to 1
  double scale = 1;               // of the weights
};

enum class Mixer : std::uint8_t {
#define MIXER(name) name,
#include "models/language/mixers.def"
};

// Of x above 0: positive x^2 + linear x; of others: negative (e^min(x, limit) - 1 - x) + linear x.
struct XieluConfig {
  double positive = 0.8, negative = 0.8;
  double linear = 0.5;
  double limit = -1e-6;
};

struct LayerConfig {
  Mixer mixer = Mixer::attention;
  AttentionConfig attention;  // of mixers with heads that attend
  std::int64_t hidden = 0;    // of the feed-forward; 0: none
  XieluConfig xielu;          // of models with that activation
  ExpertsConfig experts;      // beside the feed-forward where the layer has both
};

// What of a text's rows becomes its vector; the first four have the numbers that GGUF gives them.
enum class Pooling : std::uint8_t {
  none,
  mean,
  first,
  last,
  largest,        // of each column
  weighted_mean,  // the n-th row counts n times
  root_mean,      // the sum over the square root of the number of rows
};

// How texts become vectors.
struct TextVectorConfig {
  Pooling pooling = Pooling::none;
  bool is_normalised = true;  // to length 1
  std::int64_t longest = 0;   // tokens that longer texts are cut to; 0: they are not cut
  std::string prompt;         // what each text begins with
};

struct LanguageConfig {
  std::string architecture;  // GGUF's name of the family
  std::int64_t dim = 0;
  // Positions of a text at most: those that the model was made for, or what LanguageModel was asked
  // for.
  std::int64_t context = 0;
  NormKind norm = NormKind::rms;
  double norm_epsilon = 1e-5;
  NormPlaces places = NormPlaces::before;
  bool has_norm_weights = true;                // of norms of rows
  bool norms_first_mixer = true;               // else embeddings have been normed, and that is all
  std::string feed_forward_norm = "ffn_norm";  // the tensor of the norm before the feed-forward
  bool is_parallel = false;  // both blocks read the layer's input, and are added to it
  // Blocks are parallel where a model has no norm before the feed-forward, which then has that
  // before the mixer.
  bool may_share_norm = false;
  Activation activation = Activation::silu;
  double embedding_scale = 1;
  std::int64_t layer_input_dim = 0;  // what each layer gets of a token for itself; 0: nothing
  double residual_scale = 1;         // of what blocks add
  double logit_scale = 1;
  double logit_softcap = 0;  // 0: none
  bool is_causal = true;
  // Whether there is a weight of the output, its own or the embedding's. Without one rows become
  // vectors only.
  bool has_output = true;
  TextVectorConfig vectors;
  DeltaConfig delta;  // of the layers that have that mixer, and so on
  LatentConfig latent;
  ScanConfig scan;
  ConvolutionConfig convolution;
  std::vector<LayerConfig> layers;
  std::int64_t drafting_layers = 0;  // that files have behind these, which nothing reads

  // Whether tokens that may follow get scores.
  bool gives_scores() const noexcept { return is_causal && has_output; }
};

}  // namespace hearth::models
