/* SPDX-License-Identifier: MIT */
#ifndef RLK_DB_FRAME_H
#define RLK_DB_FRAME_H

#include <stdbool.h>
#include <stddef.h>

#define RLK_FRAME_HEADER 4

/** A stream that is being cut. All zero: at the beginning of a packet. */
struct rlk_frames {
	unsigned char header[RLK_FRAME_HEADER];
	size_t seen;         /* of the packet that comes, with its header */
	size_t before;       /* the reader's: of these, with earlier reads */
	unsigned char *kept; /* of its body, if it comes in pieces */
};

enum rlk_frame_state {
	RLK_FRAME_COMES, /* all bytes are taken, it is not whole yet */
	RLK_FRAME_WHOLE,
	RLK_FRAME_LONG, /* it says that it will be */
	RLK_FRAME_NO_MEMORY,
};

/** A packet without its header. */
struct rlk_frame {
	enum rlk_frame_state state;
	const unsigned char *bytes; /* valid until the next take; NULL if it has
				       none */
	size_t size;
	unsigned int number;
};

/** Take from @bytes up to the end of a packet of at most @most bytes. Returns
 *  how many. */
size_t rlk_frames_take(struct rlk_frames *frames, const unsigned char *bytes,
		       size_t count, size_t most, struct rlk_frame *ret_frame);

/** Forget what has come of a packet. */
void rlk_frames_drop(struct rlk_frames *frames);

#endif
