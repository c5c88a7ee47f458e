// Metrics in the Prometheus text format, version 0.0.4.
//
// A family is data, written once in a table of the daemon; its values are asked for when somebody scrapes, because they
// live elsewhere (in memory that several threads and processes write). Nothing is kept here between two scrapes.
//
//   constexpr FamilySpec kSessions{.name = "redirector_sessions_total", .help = "Sessions accepted.",
//                                  .type = MetricType::counter, .labels = {"listener"}};
//   metrics.add(kSessions, [&](Family& family) {
//     for (const auto& listener : listeners) family.value({listener.name}, listener.sessions());
//   });
//
// One thread.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ravelin::admin {

inline constexpr std::string_view kMetricsContentType = "text/plain; version=0.0.4; charset=utf-8";

enum class MetricType : std::uint8_t { counter, gauge, histogram };

// The texts and bounds must live as long as the registry: literals and constants.
struct FamilySpec {
  std::string_view name;  // base units; `_total` at the end of a counter and nowhere else
  std::string_view help;
  MetricType type = MetricType::gauge;
  std::array<std::string_view, 4> labels{};  // filled from the front
  std::span<const double> bounds{};          // of a histogram: upper bounds, rising, without +Inf
};

// What is wrong with a family by the format's rules and the conventions for names; nothing if it is right. For tests of
// tables: the registry asserts it.
[[nodiscard]] std::optional<std::string> problem_of(const FamilySpec& spec);

// One family during one scrape. Label values stand in the order of the family's labels, and there are as many.
class Family {
 public:
  using LabelValues = std::initializer_list<std::string_view>;

  void value(LabelValues labels, std::unsigned_integral auto count) { integer(labels, count); }
  void value(LabelValues labels, std::floating_point auto number) { real(labels, number); }
  // `counts` holds the observations of each bucket alone, that of +Inf last, so one more than there are bounds.
  void histogram(LabelValues labels, std::span<const std::uint64_t> counts, double sum);

 private:
  friend class Metrics;
  Family(const FamilySpec& spec, std::string& text) : spec_(spec), text_(text) {}
  void integer(LabelValues labels, std::uint64_t number);
  void real(LabelValues labels, double number);
  void sample(std::string_view suffix, LabelValues labels, std::string_view bound, std::string_view number);

  const FamilySpec& spec_;
  std::string& text_;
};

class Metrics {
 public:
  using Collect = std::function<void(Family&)>;

  void add(const FamilySpec& spec, Collect collect);
  // Everything in the order it was added. A family whose callback gives no value shows its head alone.
  [[nodiscard]] std::string text() const;

 private:
  struct Entry {
    FamilySpec spec;
    Collect collect;
  };
  std::vector<Entry> entries_;
};

}  // namespace ravelin::admin
