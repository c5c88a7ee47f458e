#include "tests/bench/load/counters.h"

#include <fcntl.h>
#include <sys/mman.h>

#include "sys/unique_fd.h"
#include "tests/bench/load/stop.h"

namespace ravelin::bench {

Counters& map_counters(const std::string& path) {
  const sys::UniqueFd file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!file) stop_errno("cannot open {}", path);
  if (ftruncate(file.get(), sizeof(Counters)) != 0) stop_errno("cannot size {}", path);
  void* where = mmap(nullptr, sizeof(Counters), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (where == MAP_FAILED) stop_errno("cannot map {}", path);
  return *static_cast<Counters*>(where);  // a fresh file is all zero, which is what every counter starts with
}

}  // namespace ravelin::bench
