#include "redirector/balance.h"

#include <doctest/doctest.h>

#include <map>

using namespace ravelin::redirector;

namespace {

PoolView pool_of(std::initializer_list<const char*> addresses, Balancing balancing) {
  PoolView pool{.balancing = balancing, .turn = std::make_shared<std::atomic<std::uint32_t>>(0)};
  for (const char* address : addresses) {
    auto candidate = std::make_shared<Candidate>();
    candidate->index = static_cast<std::uint16_t>(pool.candidates.size());
    candidate->address = address;
    pool.candidates.push_back(std::move(candidate));
  }
  return pool;
}

std::string chosen(const PoolView& pool, std::uint64_t tried = 0, std::int64_t now = 1000) {
  const Candidate* candidate = choose(pool, tried, now);
  return candidate == nullptr ? "none" : candidate->address;
}

}  // namespace

TEST_CASE("round robin gives every candidate its turn") {
  const auto pool = pool_of({"a", "b", "c"}, Balancing::round_robin);
  CHECK(chosen(pool) == "a");
  CHECK(chosen(pool) == "b");
  CHECK(chosen(pool) == "c");
  CHECK(chosen(pool) == "a");
}

TEST_CASE("the neighbour of a failed candidate does not get its share as well") {
  const auto pool = pool_of({"a", "b", "c"}, Balancing::round_robin);
  mark_failed(*pool.candidates[0], 1000);
  std::map<std::string, int> sessions;
  for (int session = 0; session < 100; ++session) ++sessions[chosen(pool)];
  CHECK(sessions == std::map<std::string, int>{{"b", 50}, {"c", 50}});
}

TEST_CASE("the candidate with the fewest sessions is chosen, and equal ones in turn") {
  const auto pool = pool_of({"a", "b", "c"}, Balancing::least_sessions);
  pool.candidates[0]->sessions = 2;
  pool.candidates[1]->sessions = 1;
  pool.candidates[2]->sessions = 1;
  const std::string first = chosen(pool);
  const std::string second = chosen(pool);
  CHECK(first != "a");
  CHECK(second != "a");
  pool.candidates[1]->sessions = 5;
  pool.candidates[2]->sessions = 5;
  CHECK(chosen(pool) == "a");
}

TEST_CASE("the first available candidate is the first that does not fail") {
  const auto pool = pool_of({"a", "b"}, Balancing::first_available);
  CHECK(chosen(pool) == "a");
  CHECK(chosen(pool) == "a");
  mark_failed(*pool.candidates[0], 1000);
  CHECK(chosen(pool) == "b");
  mark_good(*pool.candidates[0]);
  CHECK(chosen(pool) == "a");
}

TEST_CASE("a candidate that was tried is never chosen again for the session") {
  for (const Balancing balancing : {Balancing::round_robin, Balancing::least_sessions, Balancing::first_available}) {
    const auto pool = pool_of({"a", "b", "c"}, balancing);
    std::uint64_t tried = 0;
    std::map<std::string, int> seen;
    while (const Candidate* candidate = choose(pool, tried, 1000)) {
      ++seen[candidate->address];
      tried |= tried_bit(*candidate);
      mark_failed(*pool.candidates[candidate->index], 1000);
    }
    CHECK(seen == std::map<std::string, int>{{"a", 1}, {"b", 1}, {"c", 1}});
  }
}

TEST_CASE("when every candidate has failed they are still tried") {
  const auto pool = pool_of({"a", "b"}, Balancing::first_available);
  mark_failed(*pool.candidates[0], 1000);
  mark_failed(*pool.candidates[1], 1000);
  CHECK(!is_reachable(pool, 1000));
  CHECK(chosen(pool) == "a");
  CHECK(chosen(pool, tried_bit(*pool.candidates[0])) == "b");
}

TEST_CASE("one session tries a failed candidate when its time has come, the others do not wait for it") {
  const auto pool = pool_of({"a", "b"}, Balancing::first_available);
  mark_failed(*pool.candidates[0], 1000);
  const std::int64_t due = 1000 + kAvoidFor.count();
  CHECK(chosen(pool, 0, due - 1) == "b");
  CHECK(chosen(pool, 0, due) == "a");
  CHECK(chosen(pool, 0, due) == "b");
  mark_good(*pool.candidates[0]);
  CHECK(chosen(pool, 0, due) == "a");
}

TEST_CASE("a pool without candidates has nothing to choose") {
  CHECK(chosen(pool_of({}, Balancing::round_robin)) == "none");
}
