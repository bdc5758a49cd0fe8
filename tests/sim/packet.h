/* SPDX-License-Identifier: MIT */
#ifndef ROWLOCK_SIM_PACKET_H
#define ROWLOCK_SIM_PACKET_H

#include <stddef.h>
#include <stdint.h>

/** How requests were put together, in all worlds. */
struct sim_packet_counts {
	uint64_t packets;
	uint64_t mixed; /* of more than one statement */
	uint64_t statements;
	uint64_t rows;
	uint64_t largest;
	uint64_t halves; /* times that some answers were seen, not all */
};

extern struct sim_packet_counts sim_packet_counts;

#endif
