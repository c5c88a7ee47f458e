// The heir: a process that shares its worker's table of descriptors (clone(2), CLONE_FILES) and sleeps. However the
// worker dies, its descriptors live on in the heir, which tells the keeper of every one that the session table names
// and of every stream that is connected and named by no session, which may be a client that had just been accepted, and
// ends. So no session costs anything while the worker lives, and none can be forgotten: what is open in the worker is
// open here.
//
// While the worker lives the heir closes nothing that is not its own, takes no signal, allocates nothing, and reads no
// record.
#pragma once

#include <sys/types.h>

#include "relay/keeper_channel.h"
#include "relay/session_table.h"
#include "sys/result.h"
#include "sys/unique_fd.h"

namespace ravelin::relay {

// Called by the worker, when it has its table and before it has sessions. `channel` is its line to the keeper, `worker`
// a pidfd of this process; both must stay open as long as it lives, and so must the table.
[[nodiscard]] sys::Result<pid_t> start_heir(const SessionTable& table, const KeeperChannel& channel,
                                            const sys::UniqueFd& worker);

// For a worker that is about to become something else under the same pid.
void end_heir(pid_t heir);

}  // namespace ravelin::relay
