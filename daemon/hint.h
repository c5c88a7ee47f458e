// What an operator can do about an error at the start, by its errno: one table. Pure, any thread.
#pragma once

#include <string_view>

#include "sys/result.h"

namespace ravelin::daemon {

[[nodiscard]] std::string_view hint_for(const sys::Error& error);  // empty: nothing that the error does not say itself

}  // namespace ravelin::daemon
