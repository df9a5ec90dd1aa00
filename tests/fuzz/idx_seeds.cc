// Writes the seed corpus of idx_fuzz: `idx_seeds FOLDER`.

#include <string>

#include "seeds.h"

int main(int argc, char** argv) {
  using std::string_literals::operator""s;
  return hearth::testing::write_seeds(
      argc, argv,
      {
          "\0\0\x08\x01\0\0\0\x03\x07\x02\x01"s,  // labels
          "\0\0\x08\x03\0\0\0\x02\0\0\0\x01\0\0\0\x02"
          "abcd"s,                                          // images
          "\0\0\x0d\x02\0\0\0\x01\0\0\0\x01\x3f\x80\0\0"s,  // f32
          "\0\0\x0b\x02\0\0\0\0\xff\xff\xff\xff"s,          // none, of any extent
          "\0\0\x0e\x04\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"s,
          "\0\0\x09\x08"s + std::string(31, '\0'),
          "\0\0\x08\xff"s,
      });
}
