// Writes the seed corpus of cifar_fuzz: `cifar_seeds FOLDER`.

#include <string>

#include "io/cifar.h"
#include "seeds.h"

int main(int argc, char** argv) {
  using hearth::io::kCifarPixels;
  using std::string_literals::operator""s;
  const std::string pixels(kCifarPixels, 'p');
  return hearth::testing::write_seeds(argc, argv,
                                      {
                                          "\x09"s + pixels,
                                          "\x01"s + pixels + "\x02" + pixels,
                                          "\x13\x63"s + pixels,
                                          "\x14\x01"s + pixels,
                                          "\x0a"s + pixels,
                                          "\0"s,
                                      });
}
