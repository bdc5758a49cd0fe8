/* SPDX-License-Identifier: MIT */
#ifndef RLK_DB_FAULT_H
#define RLK_DB_FAULT_H

/*
 * The outcome of a statement, and of a question for a lock. Everything above
 * db/ decides by these, never by a server's error number.
 *
 * The great divide is between "the server said no" (nothing happened, the
 * connection is good) and RLK_UNKNOWN: no answer came, so the statement may
 * have been executed, may be executed later, or never. Error 2006 ("server has
 * gone away") is RLK_UNKNOWN: it does not mean "was not sent".
 */

#include <rowlock.h>
#include <stdbool.h>
#include <stddef.h>

enum rlk_fault {
	RLK_DONE = 0,  /* executed; the reply was read completely. An acquire:
			  it is ours */
	RLK_HELD,      /* an acquire: another's */
	RLK_ABSENT,    /* an acquire: the name has no row yet; make() it, ask
			  again */
	RLK_ELSEWHERE, /* an acquire in the application's transaction: it is
			  another server */
	RLK_WAITED,    /* an acquire: a slice of waiting in the server is over.
			  Ask again, on the same connection if it is pinned. */
	RLK_BUSY,      /* no: a row is locked by another (1205, 3572) */
	RLK_CONFLICT,  /* no: deadlock or certification (1213, 1020), or, of an
			  acquire, what was in the way is gone: retry */
	RLK_KILLED,    /* no: the statement was interrupted (1317, 1969,
			  3024); the connection is good */
	RLK_REFUSED,   /* no: any other error of the server */
	RLK_PENDING,   /* our deadline or an interrupt; the reply is still to
			  come: rlk_stmt_resume(), or give the connection up */
	RLK_UNKNOWN,   /* no answer, or a broken one; the connection is dead */
	RLK_FAILED,    /* not sent: no memory, wrong arguments */
};

/** The ROWLOCK_E* for an errno of the server or of Connector/C, and the words
 *  that came with it. */
int rlk_fault_code(unsigned int mysql_errno, const char *text);

/** Is it a node of Galera that has left the primary component of its cluster,
 *  or is not there yet? It answers, but does nothing. */
bool rlk_fault_not_ready(unsigned int mysql_errno, const char *text);

/** Does Connector/C make this error itself? The server does not send it. */
bool rlk_fault_by_connector(unsigned int mysql_errno);

/** The option of the server that the words of error 1290 name, with its two
 *  hyphens, and its length; NULL: none. */
const char *rlk_fault_option(const char *text, size_t *ret_length);

/** The class of an error of the server or of Connector/C. Not 0. */
enum rlk_fault rlk_fault_class(unsigned int mysql_errno);

/** Did it do nothing because something was in the way for a moment: another's
 *  lock, a conflict, a KILL QUERY? The same statement may succeed. */
static inline bool rlk_fault_passes(enum rlk_fault fault)
{
	return fault == RLK_BUSY || fault == RLK_CONFLICT ||
	       fault == RLK_KILLED;
}

/** Is the outcome open, as no answer came? The statement may have been
 *  executed, or may still be. */
static inline bool rlk_fault_open(enum rlk_fault fault)
{
	return fault == RLK_PENDING || fault == RLK_UNKNOWN;
}

#endif
