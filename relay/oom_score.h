// Whom the kernel kills first when memory is short (proc(5), oom_score_adj). Of keeper, worker and heir it has to be
// the worker: its sessions live on as long as the other two do. Whoever has no privilege may raise a process's score,
// and lower it again down to where its ancestors were.
#pragma once

#include <sys/types.h>

#include <optional>

namespace ravelin::relay {

[[nodiscard]] std::optional<int> oom_score_of(pid_t pid);
// Of this process. Allocates nothing, so that it may be called between fork and exec. Without a right to it, nothing
// happens.
void set_oom_score(std::optional<int> score);

}  // namespace ravelin::relay
