#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "devices_under_test.h"
#include "error_text.h"
#include "hearth/error.h"
#include "tools/images/image_folder.h"
#include "tools/images/image_trainer.h"
#include "tools/tool_folder.h"

namespace hearth::tools {
namespace {

using std::string_literals::operator""s;

class ImageTraining : public ToolFolder {
 protected:
  ImageTrainingOptions options(const std::string& out) const {
    ImageTrainingOptions made;
    made.out = path(out);
    made.images = 200;
    made.width = 4;
    made.batch = 10;
    made.steps = 24;
    made.checkpoint_every = 10;
    made.evaluate_every = 8;
    made.learning_rate = 1e-2;
    made.warm_up = 2;
    return made;
  }

  std::string folder(const std::string& name) const {
    std::filesystem::create_directories(path(name));
    return path(name);
  }
  static void write(const std::string& folder, const std::string& name, const std::string& bytes) {
    std::ofstream(folder + "/" + name, std::ios::binary) << bytes;
  }

  static std::string idx_images(int count, char side = 8) {
    std::string out = "\0\0\x08\x03\0\0\0"s + static_cast<char>(count);
    out += "\0\0\0"s + side + "\0\0\0"s + side;
    for (int i = 0; i < count * side * side; ++i) out += static_cast<char>(i * 7);
    return out;
  }
  static std::string idx_labels(const std::string& labels) {
    return "\0\0\x08\x01\0\0\0"s + static_cast<char>(labels.size()) + labels;
  }
  std::string idx_folder(const std::string& name) const {
    const std::string at = folder(name);
    write(at, "train-images-idx3-ubyte", idx_images(6));
    write(at, "train-labels-idx1-ubyte", idx_labels("\0\1\2\0\1\2"s));
    write(at, "t10k-images-idx3-ubyte", idx_images(3));
    write(at, "t10k-labels-idx1-ubyte", idx_labels("\0\1\2"s));
    return at;
  }
};

TEST_F(ImageTraining, LearnsAndWritesWhatItPromises) {
  ImageTrainingOptions made = options("model");
  made.images = 60;
  made.batch = 20;
  made.steps = 60;
  made.augmentation = Augmentation::none;
  ImageTrainer trainer(made);
  const TrainingResult result = trainer.run();
  EXPECT_EQ(result.steps, 60);
  EXPECT_GT(result.plan_hit_rate, 0.5);
  ASSERT_TRUE(result.held_out.accuracy.has_value());
  EXPECT_EQ(*result.held_out.accuracy, *trainer.evaluate().accuracy);
  for (const char* name : {"config.json", "loss.svg", "checkpoint.safetensors"}) {
    EXPECT_TRUE(std::filesystem::exists(path("model") + "/" + name)) << name;
  }
  EXPECT_NE(contents(path("model") + "/loss.svg").find("nats per image"), std::string::npos);
  for (const NamedArray& named : load_safetensors(checkpoint_path(made.out)).arrays) {
    if (named.name != "curve.train") continue;
    const std::vector<double> points = named.array.to_doubles();
    ASSERT_GE(points.size(), 16u);
    EXPECT_LT(points[points.size() - 1], points[1] / 2);
  }
}

// The first run ends at step 10 of 24 as one that is killed behind its checkpoint does.
TEST_F(ImageTraining, AStoppedRunGoesOnBitForBit) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const std::string suffix(name(dtype));
    ImageTrainingOptions straight = options("straight" + suffix);
    straight.dtype = dtype;
    ImageTrainer(straight).run();
    ImageTrainingOptions stopped = options("stopped" + suffix);
    stopped.dtype = dtype;
    struct Stopping : ImageTrainer {
      using ImageTrainer::ImageTrainer;
      Array loss(std::int64_t step) override {
        if (step == 15) throw Error(ErrorCode::invalid_argument, "stopped");
        return ImageTrainer::loss(step);
      }
    };
    EXPECT_THROW(Stopping(stopped).run(), Error);
    ImageTrainer(stopped).run();
    expect_same_weights(straight.out, stopped.out);
  }
}

TEST_F(ImageTraining, RefusesACheckpointOfOtherImages) {
  ImageTrainingOptions made = options("model");
  made.steps = 2;
  ImageTrainer(made).run();
  made.images = 210;
  EXPECT_THROW(ImageTrainer{made}, Error);
  made.fresh = true;
  EXPECT_NO_THROW(ImageTrainer{made});
}

TEST_F(ImageTraining, AGpuLearnsWhatTheCpuLearns) {
  if (!testing::is_under_test(DType::f32)) {
    GTEST_SKIP() << "HEARTH_TEST_DTYPES leaves out f32, in which networks learn";
  }
  ImageTrainingOptions made = options("cpu");
  made.steps = 5;
  made.images = 40;
  made.device = "cpu";
  const Evaluation expected = ImageTrainer(made).run().held_out;
  made.out = path("gpu");
  made.device = testing::kernel_device_under_test().name();
  const Evaluation got = ImageTrainer(made).run().held_out;
  Device::set_default(Device::cpu());
  EXPECT_NEAR(got.loss, expected.loss, 2e-2);
}

TEST_F(ImageTraining, ReadsIdxFolders) {
  const ImageData data = read_image_folder(idx_folder("digits") + "/");
  EXPECT_EQ(data.name, "digits");
  EXPECT_EQ(data.classes, 3);
  EXPECT_EQ(data.channels, 1);
  EXPECT_EQ(data.height, 8);
  EXPECT_FALSE(data.mirrors);
  EXPECT_EQ(data.train.labels, (std::vector<std::uint8_t>{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(data.train.pixels.size(), 6u * 64);
  EXPECT_EQ(data.held_out.pixels[1], 7);
  ImageTrainingOptions made = options("model");
  made.data = path("digits");
  made.steps = 2;
  const std::string what = check::error_of([&] { ImageTrainer{made}; });
  EXPECT_NE(what.find("got a batch of 10, expected at most 6"), std::string::npos) << what;
  made.batch = 6;
  EXPECT_EQ(ImageTrainer(made).run().steps, 2);
}

TEST_F(ImageTraining, ReadsCifarFolders) {
  const auto record = [](const std::string& labels) { return labels + std::string(3072, 'p'); };
  const std::string ten = folder("ten");
  for (int i = 1; i <= 5; ++i) {
    write(ten, "data_batch_" + std::to_string(i) + ".bin", record("\x09"s) + record("\x00"s));
  }
  write(ten, "test_batch.bin", record("\x04"s));
  const ImageData data = read_image_folder(ten);
  EXPECT_EQ(data.classes, 10);
  EXPECT_EQ(data.train.labels.size(), 10u);
  EXPECT_EQ(data.held_out.labels, std::vector<std::uint8_t>{4});
  EXPECT_TRUE(data.mirrors);

  const std::string hundred = folder("hundred");
  write(hundred, "train.bin", record("\x13\x63"s));
  write(hundred, "test.bin", record("\x00\x07"s));
  const ImageData fine = read_image_folder(hundred);
  EXPECT_EQ(fine.classes, 100);
  EXPECT_EQ(fine.train.labels[0], 99);
  EXPECT_EQ(fine.held_out.labels[0], 7);
}

// What reading `folder` says.
std::string folder_error(const std::string& folder) {
  try {
    read_image_folder(folder);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

TEST_F(ImageTraining, RefusesFoldersThatDoNotFitTogether) {
  const auto changed = [&](const std::string& name, const std::string& bytes) {
    const std::string at = idx_folder("digits");
    write(at, name, bytes);
    return folder_error(at);
  };
  const auto expect_in = [](const std::string& part, const std::string& text) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  expect_in("label out of range; got 3, expected 0 to 2; at byte 9",
            changed("t10k-labels-idx1-ubyte", idx_labels("\0\3\2"s)));
  expect_in("labels of other images; got 2, expected 3",
            changed("t10k-labels-idx1-ubyte", idx_labels("\0\1"s)));
  expect_in("images of another size", changed("t10k-images-idx3-ubyte", idx_images(3, 9)));
  expect_in("extents of something else", changed("train-images-idx3-ubyte", idx_labels("\0\1"s)));
  expect_in("elements that are no bytes; got i8",
            changed("train-labels-idx1-ubyte", "\0\0\x09\x01\0\0\0\0"s));
  expect_in("no images; got [0]", changed("train-labels-idx1-ubyte", idx_labels("")));
  expect_in("no IDX file", changed("train-images-idx3-ubyte", "\x1f\x8b\x08\x01"s));
  expect_in("a size that does not fit its shape",
            changed("train-images-idx3-ubyte", idx_images(6).substr(0, 100)));
  expect_in("no folder of images", folder_error(path("missing")));
  expect_in("no images that can be read", folder_error(folder("empty")));
  write(folder("packed"), "train-images-idx3-ubyte.gz", "");
  expect_in("gunzip", folder_error(path("packed")));
  write(folder("half"), "data_batch_1.bin", "\x0a"s + std::string(3072, 'p'));
  expect_in("label out of range; got 10", folder_error(path("half")));
  write(folder("half"), "data_batch_1.bin", "\x09"s + std::string(3072, 'p'));
  expect_in("data_batch_2.bin", folder_error(path("half")));
}

#if defined(HEARTH_TOOL) && !defined(_WIN32)

class ImageTool : public ImageTraining {
 protected:
  std::vector<std::string> train(const std::string& out) const {
    return {"train-images",
            "--out",
            path(out),
            "--images",
            "100",
            "--width",
            "4",
            "--batch",
            "10",
            "--steps",
            "60",
            "--checkpoint-every",
            "3",
            "--lr",
            "0.01"};
  }
};

TEST_F(ImageTool, KilledRunsGoOnBitForBit) {
  const Outcome whole = run(train("whole"));
  ASSERT_EQ(whole.status, 0) << whole.err;
  EXPECT_NE(whole.out.find("train-images: steps=60 held_out="), std::string::npos) << whole.out;
  EXPECT_NE(whole.out.find(" accuracy="), std::string::npos) << whole.out;
  EXPECT_NE(whole.err.find(" img/s "), std::string::npos) << whole.err;
  for (int i = 0; i < 200; ++i) {
    const pid_t child = start(train("killed"), path("stdout"));
    std::this_thread::sleep_for(std::chrono::milliseconds(50 + 30 * i));
    kill(child, SIGKILL);
    if (finish(child).status == 0) break;
  }
  ASSERT_EQ(run(train("killed")).status, 0);
  expect_same_weights(path("whole"), path("killed"));
}

TEST_F(ImageTool, RefusesInOneLine) {
  const auto with = [&](std::vector<std::string> more) {
    std::vector<std::string> all = {"train-images", "--out", path("model"), "--images", "20"};
    all.insert(all.end(), more.begin(), more.end());
    return run(all);
  };
  expect_refused(with({"--data", path("missing")}));
  expect_refused(with({"--data", folder("empty")}));
  expect_refused(run({"train-images", "--out", path("model"), "--images", "0"}));
  expect_refused(with({"--layers", "11"}));
  expect_refused(with({"--width", "0"}));
  expect_refused(with({"--width", "1048576"}));
  expect_refused(with({"--batch", "1073741824"}));
  expect_refused(with({"--augment", "rotate"}));
  expect_refused(with({"--lr", "nan"}));
  expect_refused(with({"--device", "abacus"}));
  const std::string cut = idx_folder("digits");
  write(cut, "train-labels-idx1-ubyte", idx_labels("\0\1\2"s).substr(0, 9));
  const Outcome truncated = with({"--data", cut});
  expect_refused(truncated);
  EXPECT_NE(truncated.err.find("at byte 9"), std::string::npos) << truncated.err;
}

#endif

}  // namespace
}  // namespace hearth::tools
