// Statements of a page.
#include <iostream>
#include <optional>
#include <vector>

#include "hearth/hearth.h"

using namespace hearth;

int main() {
  // SNIPPET
}
