#include "daemon/reload.h"

#include <doctest/doctest.h>

using namespace ravelin;

TEST_CASE("settings that wait for a restart stand above those in force") {
  const std::vector<config::Change> waiting{{.path = "loops", .before = "2", .after = "4"},
                                            {.path = "edge_name", .before = "a", .after = std::nullopt}};
  CHECK(daemon::with_waiting(waiting, "loops: 2\n") ==
        "# waiting for a restart: loops: 2 -> 4\n# waiting for a restart: edge_name: a -> not set\nloops: 2\n");
  CHECK(daemon::with_waiting({}, "loops: 2\n") == "loops: 2\n");
}
