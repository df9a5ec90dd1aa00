#include "tools/images/image_trainer.h"

#include <algorithm>

#include "core/counted.h"
#include "hearth/grad.h"
#include "hearth/ops.h"
#include "tools/images/drawn_images.h"
#include "tools/images/image_folder.h"

namespace hearth::tools {
namespace {

constexpr std::int64_t kDrawnPerHeldOut = 10;  // one in so many of those drawn for training
constexpr std::size_t kEvaluationBatch = 256;  // images
// Below this extent a stem that divides extents by 4 leaves too little of an image.
constexpr std::int64_t kSmallImage = 96;

ImageData data_of(const ImageTrainingOptions& options) {
  if (!options.data.empty()) return read_image_folder(options.data);
  return draw_images(options.seed, options.images,
                     std::max<std::int64_t>(1, options.images / kDrawnPerHeldOut));
}

std::vector<std::int64_t> blocks_of(std::int64_t layers) {
  switch (layers) {
    case 10:
      return {1, 1, 1, 1};
    case 18:
      return {2, 2, 2, 2};
    case 34:
      return {3, 4, 6, 3};
    default:
      throw Error(ErrorCode::invalid_argument, "train-images: no such network; got " +
                                                   counted(layers, "layer") +
                                                   ", expected 10, 18 or 34");
  }
}

models::ResNet make_model(const ImageTrainingOptions& options, const ImageData& data,
                          Device device) {
  models::ResNetConfig config;
  config.blocks = blocks_of(options.layers);
  config.width = options.width;
  config.channels = data.channels;
  config.classes = data.classes;
  config.small_images = std::min(data.height, data.width) < kSmallImage;
  const DType kept = options.dtype == DType::f64 ? DType::f64 : DType::f32;
  return {config, {kept, device, &generator()}};
}

// Refuses what could only exhaust the host's memory, and steps that see an image twice.
void require_batch(std::int64_t batch, const ImageData& data) {
  constexpr std::int64_t kMaxBytes = std::int64_t{1} << 30;
  if (batch < 1 || batch > kMaxBytes / static_cast<std::int64_t>(data.image_bytes())) {
    throw Error(ErrorCode::invalid_argument,
                "train-images: too many pixels in a step; got " + counted(batch, "image") + " of " +
                    counted(data.image_bytes(), "byte") + ", expected at most 2^30 bytes");
  }
  const std::size_t images = data.train.labels.size();
  if (static_cast<std::size_t>(batch) > images) {
    throw Error(ErrorCode::invalid_argument,
                "train-images: more images in a step than there are; got a batch of " +
                    std::to_string(batch) + ", expected at most " + std::to_string(images));
  }
}

Augmentation augmentation_of(const ImageTrainingOptions& options, const ImageData& data) {
  return options.augmentation.value_or(data.mirrors ? Augmentation::crop_mirror
                                                    : Augmentation::crop);
}

std::uint64_t fingerprint_of(const ImageData& data) {
  std::uint64_t hash = fingerprint(data.train.pixels);
  for (const auto* bytes : {&data.train.labels, &data.held_out.pixels, &data.held_out.labels}) {
    hash = fingerprint(*bytes, hash);
  }
  return hash;
}

std::string config_text(const models::ResNet& model, const ImageData& data) {
  JsonArray blocks;
  for (const std::int64_t count : model.config.blocks) blocks.emplace_back(count);
  const JsonObject config = {
      {"model_type", std::string("resnet")}, {"blocks", blocks},
      {"width", model.config.width},         {"small_images", model.config.small_images},
      {"channels", data.channels},           {"height", data.height},
      {"image_width", data.width},           {"classes", data.classes},
  };
  return json_text(config, 2) + "\n";
}

}  // namespace

ImageTrainer::ImageTrainer(const ImageTrainingOptions& options)
    : TrainingRun(options),
      data_(data_of(options)),
      model_(make_model(options, data_, device())),
      batches_(data_, options.seed, augmentation_of(options, data_)) {
  require_batch(options.batch, data_);
  PixelStatistics pixels = pixel_statistics(data_, data_.train);
  for (float& value : pixels.deviation) value = 1 / value;
  const Shape shape = {1, data_.channels, 1, 1};
  mean_ = Array::from_data(pixels.mean, shape, device());
  scale_ = Array::from_data(pixels.deviation, shape, device());
  open(
      {
          {"images", data_.train.labels.size() + data_.held_out.labels.size()},
          {"data", fingerprint_of(data_)},
          {"layers", options.layers},
          {"width", options.width},
          {"augmentation", static_cast<std::int64_t>(augmentation_of(options, data_))},
      },
      {{"config.json", config_text(model_, data_)}});
}

// Bytes go to the device, and become numbers of mean 0 and deviation 1 there.
Array ImageTrainer::network_input(const ImageBatch& batch) const {
  const Array bytes = Array::from_data(
      batch.pixels, {batch.rows, data_.channels, data_.height, data_.width}, device());
  return cast((cast(bytes, DType::f32) - mean_) * scale_, run_options().dtype);
}

Array ImageTrainer::labels_of(const ImageBatch& batch) const {
  return Array::from_data(batch.labels, {batch.rows}, device());
}

Array ImageTrainer::loss(std::int64_t step) {
  const ImageBatch batch = batches_.batch(step, run_options().batch);
  return cross_entropy(model_.forward(network_input(batch)), labels_of(batch));
}

Evaluation ImageTrainer::evaluate() const {
  const NoGrad no_grad;
  double lost = 0;
  double right = 0;
  const std::size_t count = data_.held_out.labels.size();
  for (std::size_t first = 0; first < count; first += kEvaluationBatch) {
    const ImageBatch batch =
        images_of(data_, data_.held_out, first, std::min(kEvaluationBatch, count - first));
    const Array scores = model_.evaluate(network_input(batch));
    const Array labels = labels_of(batch);
    lost += cross_entropy(scores, labels).item() * static_cast<double>(batch.rows);
    right += sum(cast(equal(argmax(scores, 1, false, DType::i32), labels), DType::f32)).item();
  }
  const auto total = static_cast<double>(count);
  return {lost / total, right / total};
}

TrainingRun::Units ImageTrainer::units() const {
  return {"img", run_options().batch, "nats per image"};
}

std::string ImageTrainer::title() const { return "Training on " + data_.name; }

}  // namespace hearth::tools
