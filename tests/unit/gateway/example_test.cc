// The example in gateway.h compiles as it stands there: the build takes it out of the header's first comment. It is not
// run, because a reader's example has a fixed port.

#include <sys/socket.h>

#include <cstdint>
#include <functional>
#include <stdexcept>

// The program that the example is a part of.
class MyServer {
 public:
  using OnConnection = std::function<void(const sockaddr*, socklen_t)>;
  [[nodiscard]] static std::uint16_t port() { return 9443; }
  void on_connection(OnConnection callback) { callback_ = std::move(callback); }
  void run() {
    const sockaddr nobody{.sa_family = AF_UNSPEC, .sa_data = {}};
    callback_(&nobody, sizeof nobody);
  }

 private:
  OnConnection callback_;
};

template <class... Values>
void log(const Values&...) {}

#include "gateway_example.inc"
