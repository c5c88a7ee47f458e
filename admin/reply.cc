#include "admin/reply.h"

#include "admin/connection.h"

namespace ravelin::admin {

Reply::~Reply() {
  send(text_response(500, "no answer was given"));
}

void Reply::send(Response response) {
  const auto connection = std::exchange(connection_, {}).lock();
  if (connection) connection->answer(exchange_, std::move(response));
}

bool Reply::wanted() const {
  const auto connection = connection_.lock();
  return connection && connection->awaits(exchange_);
}

}  // namespace ravelin::admin
