# SPDX-License-Identifier: MIT
#
# With connection.awk: option files, the arguments, as one for the client, in
# which what stands in [rowlock] is the client's, too; or what is wrong with them,
# and exit status 1. With named=1 the file was named by somebody, with told=1 an
# argument says where to go.
#
# The verdicts are those of the library: src/config/option_file.c. Other than
# Connector/C this reads every *.cnf of a directory, as MariaDB's clients do.

function quoted(path) {
	gsub(/'/, "'\\''", path)
	return "'" path "'"
}

function is(what, path) { return system("test -" what " " quoted(path)) == 0 }

function is_everybodys(path) {
	return system("find -L " quoted(path) " -maxdepth 0 -type f -perm -0002 " \
		"2>/dev/null | grep -q .") == 0
}

function is_group(group, known) { return group == known || group == known suffix }

function owner_of(group) {
	if (is_group(group, "rowlock")) return "ours"
	if (is_group(group, "client") || is_group(group, "client-server") ||
	    is_group(group, "client-mariadb") || is_group(group, "mysql") ||
	    is_group(group, "mariadb-client"))
		return "client"
	return ""
}

function plain(text) {
	text = tolower(text)
	gsub(/_/, "-", text)
	return text
}

# Written much like ours, and not only beginning like it.
function alike(group) {
	return index(group, "rowlock") != 1 && length(group) <= 40 &&
		distance(plain(group), "rowlock" suffix) < 3
}

function unquoted(value,    i, c, at, text) {
	gsub(/^[ \t\r\v\f]+|[ \t\r\v\f]+$/, "", value)
	if (value ~ /^['"]/) {
		value = substr(value, 2)
		sub(/['"]$/, "", value)
	}
	for (i = 1; i <= length(value); i++) {
		c = substr(value, i, 1)
		at = c == "\\" ? index("ntrbs\"'\\", substr(value, i + 1, 1)) : 0
		if (at && i < length(value)) {
			c = substr("\n\t\r\b \"'\\", at, 1)
			i++
		}
		text = text c
	}
	return text
}

function take_ours(line,    at, key, name, value) {
	if (line ~ /^['"]/)
		fail("Connector/C does not read a line that begins with a quote; remove it")
	at = index(line, "=")
	key = at ? substr(line, 1, at - 1) : line
	sub(/[ \t\r\v\f]+$/, "", key)
	value = at ? unquoted(substr(line, at + 1)) : ""
	name = key
	gsub(/_/, "-", name)
	if ((name in kind) && kind[name] !~ /^(text|address|secret)$/) sub(/[ \t]+#.*$/, "", value)
	if (key == "connection" && at) {
		text = value
		sub(/group .*/, "connection: ", where)
		split("", seen)
		read_string()
		for (name in seen) ours_has[name] = seen[name]
	} else {
		of_string = 0
		name = checked(key, at > 0, value, 0)
		ours_has[name] = value
		tell(name, value)
	}
}

# Others may write here what the client alone understands: it is passed on as it is.
function take_client(line,    at, key, value) {
	out = out line "\n"
	at = index(line, "=")
	key = plain(at ? substr(line, 1, at - 1) : line)
	sub(/[ \t\r\v\f]+$/, "", key)
	sub(/^loose-/, "", key)
	value = at ? unquoted(substr(line, at + 1)) : "1"
	if (key in same) key = same[key]
	# The clients take a part of a word, too.
	if (key ~ /^hos?t?$/) remark("host", value)
	if (tolower(value) ~ /^(on|true)$/) value = 1
	if ((key == "ssl" && value + 0) || asks_tls(key, value)) remark("tls", 1)
	if (key ~ /^prot/) remark("protocol", tolower(value))
	if (key ~ /^(server-public-key(-path)?|plugin-dir)$/)
		remark(key ~ /key/ ? "server-public-key" : key, value)
	if (key ~ /^ssl-(ca|capath)$/) remark("ca", value)
	if (key == "ssl-verify-server-cert") remark("verify", value + 0)
	if (key == "ssl-mode") {
		remark("verify", value ~ /^[Vv][^_]*_[Ii]/)
		if (value !~ /^[DdPp]/) remark("tls", 1)
	}
	if (key ~ /^(skip|disable)-ssl/) remark("verify", 0)
}

function flush_header() { out = out (owner == "ours" ? "[client]" : "[" group "]") "\n" }

function take_group(line) {
	if (!index(line, "]"))
		fail("a group without ']': Connector/C would read no further in this file")
	group = substr(line, 2, index(line, "]") - 2)
	sub(/[ \t\r\v\f]+$/, "", group)
	owner = owner_of(group)
	if (owner == "") others = 1
	else any_read = 1
	if (owner != "" && suffix != "" && length(group) >= length(suffix) &&
	    substr(group, length(group) - length(suffix) + 1) == suffix)
		suffixed = 1
	if (group == "rowlock" suffix) found = 1
	else if (alike(group))
		like = where "there is no group [rowlock" suffix "], but [" group \
			"]: did you mean that?"
	# [rowlock_mian] is there, and the suffix _main is asked for.
	if (index(group, "rowlock") == 1 && suffix != "" && length(group) <= 40 &&
	    distance(plain(substr(group, 8)), plain(suffix)) < (length(suffix) < 4 ? 2 : 3))
		other = where "no group has the suffix '" suffix "', but there is [" \
			group "]: did you mean that?"
	if (owner != "") flush_header()
}

function include(line, depth,    path, directory, command, file, files, count, i) {
	if (line !~ /^!include(dir)? /)
		fail("Connector/C does not understand this line; write " \
			"!include FILE or !includedir DIRECTORY")
	directory = line ~ /^!includedir/
	path = substr(line, index(line, " ") + 1)
	sub(/^[ \t]+/, "", path)
	sub(/[ \t\r\v\f]+$/, "", path)
	if (!is("r", path) || is("d", path) != directory)
		fail("cannot read " quoted(path) "; MariaDB's clients would go on without it")
	if (!directory) {
		read_file(path, depth + 1)
		return
	}
	command = "for f in " quoted(path) "/*.cnf; do echo \"$f\"; done"
	while ((command | getline file) > 0) files[++count] = file
	close(command)
	for (i = 1; i <= count; i++)
		if (is("f", files[i])) read_file(files[i], depth + 1)
}

function take_line(path, number, line, depth) {
	where = path ":" number ": "
	sub(/^[ \t\r\v\f]+/, "", line)
	if (line ~ /^!/) {
		include(line, depth)
		return 1
	}
	if (line == "" || line ~ /^[#;]/) return 0
	if (line ~ /^\[/) take_group(line)
	else if (group == "")
		fail("a setting before the first [group]; write [client] above it")
	else if (owner == "ours") {
		where = where "group [" group "]: "
		take_ours(line)
	} else if (owner == "client") take_client(line)
	return 0
}

# An open file is not read once more: it would go on where it is.
function read_file(path, depth,    line, number, here, whose) {
	if (depth > 60 || (path in open)) return
	if (is("p", path) || (is("c", path) && path != "/dev/null")) {
		where = ""
		fail("option file: " quoted(path) " is a " (is("p", path) ? "pipe" : "device") \
			", and is read more than once; write a file that only this user may read (chmod 600)")
	}
	if (is_everybodys(path)) {
		where = ""
		fail("option file: everybody can write " quoted(path) ", and so say " \
			"where the password goes; chmod o-w it")
	}
	open[path] = 1
	group = owner = ""
	while ((getline line < path) > 0) {
		here = group
		whose = owner
		if (!take_line(path, ++number, line, depth)) continue
		# An included file's last group ends with it.
		group = here
		owner = whose
		if (owner != "") flush_header()
	}
	close(path)
	delete open[path]
}

BEGIN {
	for (i = 1; i < ARGC; i++) {
		if (named && is("d", ARGV[i])) {
			where = ""
			fail("option file: " quoted(ARGV[i]) " is a directory; name a file")
		}
		where = ""
		if (is("e", ARGV[i]) && !is("r", ARGV[i]))
			fail("option file: cannot read " quoted(ARGV[i]) ": make it this " \
				"user's own, or name another one")
		if (!is("r", ARGV[i]) || is("d", ARGV[i])) continue
		looked = looked (looked == "" ? "" : ", ") ARGV[i]
		read_file(ARGV[i], 0)
	}
	where = ""
	if (like != "" && !found) fail(like)
	if (named && others && !any_read)
		fail("option file: " quoted(ARGV[1]) " has groups, but neither " \
			"[client] nor [rowlock], so it names no server; add [rowlock]")
	if (suffix != "" && !suffixed && other != "") fail(other)
	if (suffix != "" && !suffixed)
		fail("option files: no group has the suffix '" suffix "' (" \
			(looked == "" ? "there is no file to be read" : "read: " looked) \
			"); write [client" suffix "] or [rowlock" suffix "], or leave the suffix out")
	if (("port" in ours_has) && !("socket" in ours_has) &&
	    !("protocol" in ours_has) && !told && (!("host" in ours_has) ||
	    ours_has["host"] == "localhost")) {
		out = out "[client]\n"
		go_by("tcp")
	}
	printf "%s", out
	exit 0
}
