#include "redirector/resolver.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <exception>
#include <utility>

namespace ravelin::redirector {
namespace {

std::string addresses_of(const Pool::Origin& origin) {
  std::string text;
  for (const auto& candidate : origin.candidates) text += (text.empty() ? "" : " ") + candidate->address;
  return text;
}

}  // namespace

Resolver::Resolver(sys::Loop& loop, sys::Log& log, std::vector<Pool>& pools, Changed changed)
    : loop_(loop), log_(log), pools_(pools), changed_(std::move(changed)) {}

void Resolver::start(std::function<void()> answered) {
  answered_ = std::move(answered);
  questions_.clear();
  for (std::size_t pool = 0; pool < pools_.size(); ++pool) {
    for (std::size_t origin = 0; origin < pools_[pool].origins().size(); ++origin) {
      if (!pools_[pool].origins()[origin].is_name) continue;
      const std::size_t place = questions_.size();
      questions_.push_back(std::make_unique<Question>(
          Question{pool, origin, sys::Timer(loop_, [this, place] { ask(*questions_[place]); }), nullptr}));
      ask(*questions_.back());
    }
  }
  tell_if_answered();
}

void Resolver::tell_if_answered() {
  const bool all = std::ranges::all_of(
      questions_, [this](const auto& question) { return pools_[question->pool].origins()[question->origin].answered; });
  if (all && answered_) std::exchange(answered_, nullptr)();
}

void Resolver::ask(Question& question) {
  const sys::Endpoint& endpoint = pools_[question.pool].origins()[question.origin].endpoint;
  try {
    question.request =
        std::make_unique<sys::Resolve>(loop_, endpoint.host, endpoint.port,
                                       [this, &question](const Pool::Answer& answer) { answered(question, answer); });
  } catch (const std::exception& error) {  // no host name by its form
    answered(question, sys::fail(0, "cannot resolve {}: {}", endpoint.host, error.what()));
  }
}

void Resolver::answered(Question& question, const Pool::Answer& answer) {
  Pool& pool = pools_[question.pool];
  const Pool::Update update = pool.resolved(question.origin, answer);
  question.timer.start(update.ask_again);
  log_update(pool, pool.origins()[question.origin], update);
  if (update.changed()) changed_(question.pool);
  tell_if_answered();
}

void Resolver::log_update(const Pool& pool, const Pool::Origin& origin, const Pool::Update& update) {
  if (update.turn == Pool::Update::Turn::failing) {
    log_.line(sys::LogLevel::warning, "origin_unresolved")
        .field("pool", pool.name())
        .field("origin", origin.endpoint.text())
        .field("error", origin.failure)
        .field("addresses_kept", origin.candidates.size());
  }
  if (update.turn != Pool::Update::Turn::recovered && !update.changed()) return;
  log_.line(sys::LogLevel::info, "origin_resolved")
      .field("pool", pool.name())
      .field("origin", origin.endpoint.text())
      .field("addresses", addresses_of(origin))
      .field("added", fmt::format("{}", fmt::join(update.added, " ")))
      .field("removed", fmt::format("{}", fmt::join(update.removed, " ")))
      .field("left_out", update.left_out);
}

}  // namespace ravelin::redirector
