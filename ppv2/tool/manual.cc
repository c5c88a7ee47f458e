// Writes ppv2(1) to standard output. Run by the build.
#include <iostream>

#include "ppv2/tool/command_line.h"

int main() {
  return (std::cout << ravelin::ppv2_tool::manual_page() << std::flush) ? 0 : 1;
}
