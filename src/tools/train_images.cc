#include <cstdio>
#include <memory>
#include <string>

#include "tools/commands.h"
#include "tools/images/image_trainer.h"
#include "tools/output.h"
#include "tools/training/run_command.h"

namespace hearth::tools {
namespace {

struct ImageFlags {
  ImageTrainingOptions options;
  std::string augment;
  RunFlags run;
};

void run_train_images(ImageFlags& flags) {
  if (flags.augment == "none") flags.options.augmentation = Augmentation::none;
  if (flags.augment == "crop") flags.options.augmentation = Augmentation::crop;
  if (flags.augment == "crop-mirror") flags.options.augmentation = Augmentation::crop_mirror;
  ImageTrainer trainer(flags.options);
  char line[200];
  const ImageData& data = trainer.data();
  std::snprintf(line, sizeof line,
                "train-images: %zu images of %lld classes, %zu held out, %lld parameters\n",
                data.train.labels.size(), static_cast<long long>(data.classes),
                data.held_out.labels.size(),
                static_cast<long long>(parameter_count(trainer.model())));
  write_out(line);
  const TrainingResult result = trainer.run();
  std::snprintf(line, sizeof line,
                "train-images: steps=%lld held_out=%.4f accuracy=%.4f images_per_s=%.0f\n",
                static_cast<long long>(result.steps), result.held_out.loss,
                result.held_out.accuracy.value_or(0), result.rate);
  write_out(line);
}

}  // namespace

void add_train_images(CommandLine& line) {
  auto flags = std::make_shared<ImageFlags>();
  ImageTrainingOptions& options = flags->options;
  options.command = "train-images";
  options.out = "image-model";
  options.steps = 600;
  options.batch = 64;
  options.learning_rate = 4e-3;
  options.weight_decay = 0.05;
  Command command =
      line.add_command("train-images",
                       "Train a residual network on images that it draws, or on a folder of them; "
                       "continues where a run with the same settings stopped");
  const std::int64_t most = std::int64_t{1} << 20;
  command.option("--data", options.data,
                 "Folder of IDX files (MNIST), or of CIFAR-10's or CIFAR-100's binary version; "
                 "their test files are held out [drawn shapes]");
  command
      .option("--images", options.images,
              "Images to draw for training; another tenth of this number is held out")
      .range(1, std::int64_t{1} << 24)
      .show_default();
  command.option("--layers", options.layers, "Layers of the network: 10, 18 or 34").show_default();
  command.option("--width", options.width, "Channels of the network's first stage")
      .range(1, most)
      .show_default();
  command
      .option("--augment", flags->augment,
              "How training images are varied: moved by up to an eighth of their size (crop), and "
              "mirrored as well (crop-mirror) [crop-mirror; crop for IDX files]")
      .one_of({"none", "crop", "crop-mirror"});
  add_run_options(command, options, flags->run, "Images");
  command.action(
      [flags] { run_training(flags->options, flags->run, [&] { run_train_images(*flags); }); });
}

}  // namespace hearth::tools
