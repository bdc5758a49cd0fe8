/* SPDX-License-Identifier: MIT */
/*
 * A stream of bytes, cut into the packets that it is made of: three bytes for
 * the size, one for the number, and the body (MySQL Internals, "Protocol
 * Packets").
 *
 * A packet that comes whole is shown where it lies. One that comes in pieces is
 * kept.
 */
#include "db/frame.h"

#include <stdlib.h>
#include <string.h>

#define HEADER RLK_FRAME_HEADER

static size_t size_of(const struct rlk_frames *frames)
{
	return frames->header[0] | (size_t) frames->header[1] << 8 |
	       (size_t) frames->header[2] << 16;
}

static bool keep(struct rlk_frames *frames, size_t had,
		 const unsigned char *bytes, size_t count)
{
	if (!frames->kept)
		frames->kept = malloc(size_of(frames));
	if (!frames->kept)
		return false;
	memcpy(frames->kept + had, bytes, count);
	return true;
}

void rlk_frames_drop(struct rlk_frames *frames)
{
	free(frames->kept);
	*frames = (struct rlk_frames){ .seen = 0 };
}

static size_t take_header(struct rlk_frames *frames, const unsigned char *bytes,
			  size_t count)
{
	size_t at = 0;

	if (!frames->seen) {
		free(frames->kept);
		frames->kept = NULL;
	}
	while (frames->seen < HEADER && at < count)
		frames->header[frames->seen++] = bytes[at++];
	return at;
}

size_t rlk_frames_take(struct rlk_frames *frames, const unsigned char *bytes,
		       size_t count, size_t most, struct rlk_frame *ret_frame)
{
	size_t at = take_header(frames, bytes, count);
	size_t size = size_of(frames);
	size_t had, piece;

	*ret_frame = (struct rlk_frame){ .state = RLK_FRAME_COMES };
	if (frames->seen < HEADER)
		return at;
	had = frames->seen - HEADER;
	piece = size - had < count - at ? size - had : count - at;
	if (size > most) {
		ret_frame->state = RLK_FRAME_LONG;
		return at;
	}
	if (piece < size && !keep(frames, had, bytes + at, piece)) {
		ret_frame->state = RLK_FRAME_NO_MEMORY;
		return at;
	}
	frames->seen += piece;
	if (had + piece < size)
		return at + piece;
	*ret_frame = (struct rlk_frame){
		.state = RLK_FRAME_WHOLE,
		.bytes = had || !size ? frames->kept : bytes + at,
		.size = size,
		.number = frames->header[3],
	};
	frames->seen = 0;
	return at + piece;
}
