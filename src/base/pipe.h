/* SPDX-License-Identifier: MIT */
#ifndef RLK_BASE_PIPE_H
#define RLK_BASE_PIPE_H

/*
 * Writing to a stream that the peer has closed, as TLS libraries do it, sends
 * SIGPIPE to the thread. That of the application gets none of ours, and what it
 * does with its own stays as it is. (One that is sent by hand during such a
 * call cannot be told from ours.)
 */

#include <stdbool.h>

struct rlk_pipe {
	bool guarded;
	bool was_blocked;
	bool was_pending;
};

/** Hold SIGPIPE back for the rest of the block, if @needed:
 *  _cleanup_(rlk_pipe_onp) struct rlk_pipe pipe = rlk_pipe_off(true); */
struct rlk_pipe rlk_pipe_off(bool needed);
void rlk_pipe_onp(struct rlk_pipe *pipe);

#endif
