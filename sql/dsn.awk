# SPDX-License-Identifier: MIT
#
# With connection.awk: the connection strings ROWLOCK_DSN and, the stronger one,
# ROWLOCK_MIGRATE_DSN (--dsn), both in the environment, as lines of an option file;
# or what is wrong with one, and exit status 1. Key by key the stronger one counts.

# A connection goes to one address: a socket file takes the place of a weaker host.
function settle_address() {
	if (!("socket" in seen) || ("host" in seen)) return
	delete all["host"]
	delete all["port"]
	delete all["protocol"]
	only_socket = 1
}

function read_one(from, string,    name) {
	if (string == "") return
	where = from ": "
	text = string
	split("", seen)
	read_string()
	settle_address()
	for (name in seen) all[name] = seen[name]
	if ("host" in seen) only_socket = 0
}

BEGIN {
	read_one("ROWLOCK_DSN", ENVIRON["ROWLOCK_DSN"])
	read_one("--dsn", ENVIRON["ROWLOCK_MIGRATE_DSN"])
	out = ""
	for (name in all) tell(name, all[name])
	# The mysql client forgets a port where it takes the socket file.
	if (("port" in all) && !("socket" in all) && !("protocol" in all) &&
	    (!("host" in all) || all["host"] == "localhost"))
		go_by("tcp")
	if (only_socket && !("protocol" in all)) go_by("socket")
	printf "[client]\n"
	# What option files say of the address is over.
	if (only_socket)
		printf "# address\n# host=localhost\nhost=\"localhost\"\n"
	printf "%s", out
	exit 0
}
