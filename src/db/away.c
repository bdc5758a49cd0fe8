/* SPDX-License-Identifier: MIT */
/*
 * One table of the errors that pass by themselves. The library's waits,
 * `rowlock run --retry-connect` and `rowlock elect` go on after these, which
 * they see as ROWLOCK_ECONNECT and ROWLOCK_EREADONLY.
 *
 * It was read for MariaDB 10.11 to 11.8 and MySQL 8.0 to 9.7, from their lists
 * (MariaDB Server Documentation, "MariaDB Error Code Reference"; MySQL 8.4
 * Error Message Reference, "Server Error Message Reference") and the sections
 * that stand at the entries: "MariaDB" and "MySQL" are MariaDB Server
 * Documentation and MySQL 8.4 Reference Manual. Where only one of them is named
 * the other does not have the number, or never answers us by it.
 *
 * The verdict on others that look alike is that they stay:
 *
 *   1038 1114 1021 1030  memory for a sort, a full table or disk: of one
 *                        statement; ROWLOCK_EDB, after which elect goes on
 *   1043                 the login is not understood
 *   1044 1045 1130 1524 1698 1820 1862 1873 3118 3955 4150 4151  the account:
 *                        fault.c; a client that was let in before is patient
 *   1290                 its words decide: fault.c
 *   1146 1049 1305       the tables: fault.c, schema.c
 *   3092 to 3097 3190    START and STOP GROUP_REPLICATION only
 *   3098                 a table that a group does not take
 *   3159                 TLS is required, and was not asked for
 *   3572 1205 1213       of a row: fault.c
 *   4145                 of a session that makes a backup (MariaDB)
 *
 * Failure modes: a number that is missing here ends a wait that might have
 * gone on; nothing is granted by it.
 */
#include "db/away.h"

#include "base/macro.h"

static const struct away {
	unsigned int number;
	enum rlk_fault fault;
	int code;
} table[] = {
	/* Room for one more. MariaDB: "Server System Variables",
	 * max_connections, max_user_connections; "GRANT", account resource
	 * limits. MySQL: B.3.2.5 "Too many connections", 8.2.21 "Setting
	 * Account Resource Limits". */
	{ 1040, RLK_REFUSED, ROWLOCK_ECONNECT },
	{ 1203, RLK_REFUSED, ROWLOCK_ECONNECT },
	{ 1226, RLK_REFUSED, ROWLOCK_ECONNECT },

	/* No undo log for one more transaction that writes. MariaDB: "InnoDB
	 * Undo Log"; MySQL: 17.6.6 "Undo Logs". */
	{ 1637, RLK_REFUSED, ROWLOCK_ECONNECT },

	/* The host is blocked until somebody flushes, or its name cannot be
	 * resolved. MariaDB: "Server System Variables", max_connect_errors.
	 * MySQL: 7.1.12.3 "DNS Lookups and the Host Cache". */
	{ 1129, RLK_REFUSED, ROWLOCK_ECONNECT },
	{ 1042, RLK_REFUSED, ROWLOCK_ECONNECT },

	/* No memory, no thread. MariaDB: "Operating System Error Codes"; MySQL:
	 * B.3.2.6 "Out of memory", 7.1.12.1 "Connection Interfaces". */
	{ 1037, RLK_REFUSED, ROWLOCK_ECONNECT },
	{ 1041, RLK_REFUSED, ROWLOCK_ECONNECT },
	{ 1135, RLK_REFUSED, ROWLOCK_ECONNECT },
	{ 3015, RLK_REFUSED, ROWLOCK_ECONNECT },
	{ 3044, RLK_REFUSED, ROWLOCK_ECONNECT },
	/* MySQL: 7.1.8 "Server System Variables", connection_memory_limit and
	 * global_connection_memory_limit: it closes the connection. */
	{ 4081, RLK_UNKNOWN, ROWLOCK_ECONNECT },
	{ 4082, RLK_UNKNOWN, ROWLOCK_ECONNECT },

	/* It goes down. MariaDB: "SHUTDOWN"; MySQL: 7.1.19 "The Server Shutdown
	 * Process". */
	{ 1053, RLK_UNKNOWN, ROWLOCK_ECONNECT },
	{ 1077, RLK_UNKNOWN, ROWLOCK_ECONNECT },
	{ 1079, RLK_UNKNOWN, ROWLOCK_ECONNECT },
	{ 1080, RLK_UNKNOWN, ROWLOCK_ECONNECT },

	/* MySQL: 7.1.8 "Server System Variables", offline_mode: who has no
	 * CONNECTION_ADMIN is disconnected, and not let in. */
	{ 3032, RLK_UNKNOWN, ROWLOCK_ECONNECT },
	/* MySQL: 22.5 "X Plugin": it begins, or ends. */
	{ 3168, RLK_REFUSED, ROWLOCK_ECONNECT },

	/* The connection ends. MariaDB: "KILL", "Server System Variables",
	 * wait_timeout, net_read_timeout. MySQL: 15.7.8.4 "KILL Statement",
	 * B.3.2.9 "Communication Errors and Aborted Connections". */
	{ 1152, RLK_UNKNOWN, ROWLOCK_ECONNECT },
	{ 1153, RLK_UNKNOWN, ROWLOCK_ECONNECT }, /* too large: it hangs up */
	{ 1156, RLK_UNKNOWN, ROWLOCK_ECONNECT }, /* out of order */
	{ 1158, RLK_UNKNOWN, ROWLOCK_ECONNECT },
	{ 1159, RLK_UNKNOWN, ROWLOCK_ECONNECT },
	{ 1160, RLK_UNKNOWN, ROWLOCK_ECONNECT },
	{ 1161, RLK_UNKNOWN, ROWLOCK_ECONNECT },
	{ 1184, RLK_UNKNOWN, ROWLOCK_ECONNECT },
	{ 1927, RLK_UNKNOWN, ROWLOCK_ECONNECT }, /* MariaDB */
	{ 3169, RLK_UNKNOWN, ROWLOCK_ECONNECT }, /* MySQL */
	{ 4031, RLK_UNKNOWN, ROWLOCK_ECONNECT }, /* MySQL: idle */

	/* The statement may have been in its commit. */
	{ 1180, RLK_UNKNOWN, ROWLOCK_ECONNECT },

	/* A member leaves its group, or a primary has to catch up.
	 * MySQL: 20.5.3 "Transaction Consistency Guarantees", 20.7.7 "Responses
	 * to Failure Detection and Network Partitioning". A
	 * transaction that a hook ended may have reached other members. */
	{ 3100, RLK_UNKNOWN, ROWLOCK_ECONNECT },
	{ 3796, RLK_REFUSED, ROWLOCK_ECONNECT },
	{ 3797, RLK_REFUSED, ROWLOCK_ECONNECT },
	{ 3798, RLK_REFUSED, ROWLOCK_ECONNECT },
	{ 3799, RLK_REFUSED, ROWLOCK_ECONNECT },
	{ 3781, RLK_REFUSED, ROWLOCK_ECONNECT },
	{ 3782, RLK_REFUSED, ROWLOCK_ECONNECT },
	{ 3783, RLK_REFUSED, ROWLOCK_ECONNECT },

	/* While another member becomes the primary. MySQL: 20.5.1.1 "Changing
	 * the Primary": behind its timeout no transaction begins. */
	{ 4094, RLK_REFUSED, ROWLOCK_ECONNECT },

	/* It takes no writes for now: a replica, or one that is repaired.
	 * MariaDB: "Server System Variables", read_only, innodb_read_only;
	 * "InnoDB Recovery Modes" (1036). MySQL: 7.1.8 "Server System
	 * Variables", read_only; 17.20.3 "Forcing InnoDB Recovery"; 15.1.2
	 * "ALTER DATABASE Statement", READ ONLY. */
	{ 1792, RLK_REFUSED, ROWLOCK_EREADONLY },
	{ 1836, RLK_REFUSED, ROWLOCK_EREADONLY },
	{ 1036, RLK_REFUSED, ROWLOCK_EREADONLY },
	{ 1874, RLK_REFUSED, ROWLOCK_EREADONLY },
	{ 1881, RLK_REFUSED, ROWLOCK_EREADONLY },
	{ 3989, RLK_REFUSED, ROWLOCK_EREADONLY },

	/* ProxySQL's documentation, "Global variables",
	 * mysql-connect_timeout_server_max; "Error Codes": no server behind it
	 * was reached, or it went offline; it may have lost one to which it had
	 * said the statement. */
	{ 9001, RLK_UNKNOWN, ROWLOCK_ECONNECT },
	{ 9002, RLK_UNKNOWN, ROWLOCK_ECONNECT },
	{ 9004, RLK_UNKNOWN, ROWLOCK_ECONNECT },
};

bool rlk_away(unsigned int number, enum rlk_fault *ret_fault, int *ret_code)
{
	for (size_t i = 0; i < RLK_ARRAY_SIZE(table); i++) {
		if (table[i].number != number)
			continue;
		*ret_fault = table[i].fault;
		*ret_code = table[i].code;
		return true;
	}
	return false;
}
