# SPDX-License-Identifier: MIT
#
# With connection.awk: a connection string, as lines of an option file; or what
# is wrong with it, and exit status 1.

{ text = text (NR > 1 ? "\n" : "") $0 }

END {
	if (failed) exit 1
	read_string()
	# The mysql client forgets a port where it takes the socket file.
	if (("port" in seen) && !("socket" in seen) && !("protocol" in seen) &&
	    (!("host" in seen) || seen["host"] == "localhost"))
		put("protocol", "tcp")
	printf "[client]\n%s", out
}
