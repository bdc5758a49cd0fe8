# SPDX-License-Identifier: MIT
#
# What a connection may be told, in a connection string (dsn.awk) or in option
# files (option_files.awk): the keys, what is wrong with a value, the grammar of
# a string, and the same as lines of an option file for the mariadb (maria=1) or
# mysql client.
#
# The grammar, the keys and the verdicts are those of the library: src/config/dsn.c
# and src/config/setting.c say why. tests/lib/dsn_cases holds both to the same.

function fail(problem) {
	print where problem
	failed = 1
	exit 1
}

function least(a, b) { return a < b ? a : b }

# Letters to change, add, leave out or swap with their neighbour.
function distance(a, b,    i, j, d, other) {
	for (i = 0; i <= length(a); i++) d[i, 0] = i
	for (j = 0; j <= length(b); j++) d[0, j] = j
	for (i = 1; i <= length(a); i++)
		for (j = 1; j <= length(b); j++) {
			other = substr(a, i, 1) != substr(b, j, 1)
			d[i, j] = least(d[i - 1, j - 1] + other,
				least(d[i - 1, j], d[i, j - 1]) + 1)
			if (i > 1 && j > 1 && substr(a, i, 1) == substr(b, j - 1, 1) &&
			    substr(a, i - 1, 1) == substr(b, j, 1))
				d[i, j] = least(d[i, j], d[i - 2, j - 2] + 1)
		}
	return d[length(a), length(b)]
}

function near(key,    i, best, now, found) {
	if (length(key) > 40) return ""
	best = length(key) < 4 ? 2 : 3
	key = tolower(key)
	gsub(/_/, "-", key)
	if (key in stranger) return stranger[key]
	for (i = 1; i <= count; i++) {
		now = distance(key, names[i])
		if (now < best && kind[names[i]] != "deadly") {
			best = now
			found = names[i]
		}
	}
	return found
}

function is_number(value, lowest, highest) {
	if (value !~ /^[0-9]+$/) return 0
	sub(/^0+/, "", value)
	return length(value) <= 10 && value + 0 >= lowest && value + 0 <= highest
}

function wanted(type, value) {
	if (type == "address" && value == "")
		return "leave it out if the local server is meant"
	if (type == "port" && is_number(value, 0, 0))
		return "leave it out for the default port, 3306"
	if (type == "port" && !is_number(value, 1, 65535))
		return "it must be a number from 1 to 65535, as in port=3306"
	if (type == "number" && !is_number(value, 0, 2147483647))
		return "it must be a number from 0 to 2147483647, without a unit"
	if (type == "boolean" && !is_number(value, 0, 1))
		return "it must be 0 or 1, as Connector/C takes any other word for 0"
	if (type == "protocol" && !is_number(value, 1, 2))
		return "it must be 1 (TCP) or 2 (a socket file), as " \
			"Connector/C ignores any word for it"
	if (type == "switch" && !is_number(value, 1, 1))
		return "it counts whatever its value is: leave it out"
	return ""
}

# Of rowlock's programs; this one has the first only.
function of_program(key) {
	gsub(/_/, "-", key)
	return key ~ /^(tls-unverified|unverified-auth|single-writer|observe-beats)$/ ? key : ""
}

function unknown(key, hidden,    shown, text, other) {
	match(key, /^[A-Za-z0-9_ -]*/)
	shown = substr(key, 1, RLENGTH > 40 ? 40 : RLENGTH)
	if (hidden)
		text = "what follows the password is no known key (it is not shown: " \
			"a password with ';' in it goes into braces)"
	else
		text = "unknown key '" shown (shown == key ? "" : "...") "'"
	other = of_program(key)
	if (other != "")
		return text ": each program is told that by itself, so give --" other " instead"
	other = near(key)
	return text (other == "" ? "" : ": did you mean '" other "'?")
}

# Not by gsub(): each awk reads another number of backslashes.
function put(key, value,    i, c) {
	out = out key "=\""
	for (i = 1; i <= length(value); i++) {
		c = substr(value, i, 1)
		if (c == "\n") c = "\\n"
		else if (c == "\r") c = "\\r"
		else if (c == "\\" || c == "\"") c = "\\" c
		out = out c
	}
	out = out "\"\n"
}

# What rowlock-migrate has to know of the connection, as a remark that the client
# passes over: the last of a name counts.
function remark(name, value) {
	gsub(/[\r\n]/, " ", value)
	out = out "# " name "=" value "\n"
}

function go_by(protocol) {
	remark("protocol", protocol)
	put("protocol", protocol)
}

# Whether TLS is asked for in any way, as src/db/peer.c has it.
function asks_tls(key, value) {
	if (key == "ssl-enforce" || key == "ssl-verify-server-cert") return value + 0
	return key ~ /^ssl-(ca|capath|cert|key|crl|crlpath|cipher|fp|fp-list)$/ && value != ""
}

# The clients' own words for it; what has none there makes no difference here.
function tell(key, value) {
	if (key == "host") remark("host", value)
	if (asks_tls(key, value)) remark("tls", 1)
	if (key ~ /^(server-public-key|plugin-dir)$/) remark(key, value)
	if (key ~ /^ssl-(ca|capath)$/) remark("ca", value)
	if (key == "ssl-verify-server-cert") remark("verify", value + 0)
	if (key == "protocol")
		go_by(value + 0 == 1 ? "tcp" : "socket")
	else if (key ~ /^(host|port|user|password|database|socket|ssl-(ca|capath|cert|key|crl|crlpath|cipher)|tls-version|connect-timeout|default-auth|plugin-dir)$/)
		put(key, value)
	else if (key == "ssl-enforce" && value + 0)
		out = out (maria ? "ssl" : "ssl-mode=REQUIRED") "\n"
	else if (key == "ssl-verify-server-cert" && value + 0)
		out = out (maria ? key : "ssl-mode=VERIFY_IDENTITY") "\n"
	else if (key == "ssl-verify-server-cert" && maria)
		out = out "disable-ssl-verify-server-cert\n"
}

# The key's own name, when nothing is wrong with it and its value. @of_string: it
# stands in a connection string, and not in a line of a file.
function checked(key, has_value, value, hidden,    name, problem) {
	name = key
	gsub(/_/, "-", name)
	if (!(name in kind)) fail(unknown(key, hidden) (of_string ? "; " example : ""))
	if (kind[name] == "deadly")
		fail("'" name "' makes Connector/C crash; write local-infile=0")
	if (!has_value && kind[name] != "switch")
		fail("'" name "' has no value; write " name "=" \
			(kind[name] ~ /^(text|address|secret)$/ ? "TEXT" : "1"))
	problem = has_value ? wanted(kind[name], value) : ""
	if (problem != "")
		fail("'" name "' is '" substr(value, 1, 40) "'; " problem)
	return name in same ? same[name] : name
}

function take(key, has_value, value, hidden,    name, one) {
	one = checked(key, has_value, value, hidden)
	name = key
	gsub(/_/, "-", name)
	if (one in seen && seen[one] != value "")
		fail("'" name "' is there twice, with different values; leave one of them out")
	seen[one] = value ""
	tell(one, value)
}

function skip_blanks(at) {
	while (substr(text, at, 1) ~ /^[ \t\n\v\f\r]$/) at++
	return at
}

# Where one of the letters of @set comes next, or the text ends.
function span(at, set) {
	while (at <= length(text) && !index(set, substr(text, at, 1))) at++
	return at
}

function malformed(key, problem) {
	gsub(/_/, "-", key)
	if (key in kind) fail("the value of '" key "' " problem "; " example)
	fail("an entry of the connection string " problem "; " example)
}

# Sets: braced, value. Returns where it ends.
function read_braced(at, key,    c) {
	braced = 1
	for (at++; at <= length(text); at++) {
		c = substr(text, at, 1)
		if (c == "}" && substr(text, at + 1, 1) != "}") break
		if (c == "}" && substr(text, at + 2, 1) == "}")
			malformed(key, "has '}' at its end or twice in a row, " \
				"which Connector/C cannot read")
		if (c == "}") at++
		value = value c
	}
	if (at > length(text)) malformed(key, "has '{', but no '}' at its end")
	at = skip_blanks(at + 1)
	if (at <= length(text) && substr(text, at, 1) != ";")
		malformed(key, "goes on behind its '}'")
	return at
}

function read_value(at, key,    end) {
	end = skip_blanks(at)
	if (substr(text, end, 1) == "{") return read_braced(end, key)
	end = span(at, ";={")
	if (end <= length(text) && substr(text, end, 1) != ";")
		malformed(key, "has '=' or '{' in it, so it goes into braces: KEY={VALUE}")
	value = substr(text, at, end - at)
	return end
}

# The string is in: text.
function read_string(    at, end, c, key, has_value, hidden) {
	of_string = 1
	at = skip_blanks(1)
	do {
		if (at > length(text) || substr(text, at, 1) == ";")
			fail("the connection string has an empty entry; " example)
		end = span(at, ";={")
		key = substr(text, at, end - at)
		c = substr(text, end, 1)
		if (c == "{") malformed(key, "has '{' before its '='")
		value = ""
		braced = 0
		has_value = c == "="
		if (has_value) end = read_value(end + 1, key)
		take(key, has_value, value, hidden)
		gsub(/_/, "-", key)
		hidden = kind[key] == "secret" && !braced
		at = skip_blanks(end + 1)
	} while (at <= length(text))
}

function know(type, list,    i, n, words, pair) {
	n = split(list, words, " ")
	for (i = 1; i <= n; i++) {
		if (split(words[i], pair, ":") > 1) same[pair[1]] = pair[2]
		names[++count] = pair[1]
		kind[pair[1]] = type
	}
}

BEGIN {
	example = "write it like host=db1;user=app;database=app"
	know("address", "host socket servername:host")
	know("text", "user database db:database " \
		"init-command bind-address plugin-dir default-auth restricted-auth " \
		"server-public-key character-sets-dir default-character-set debug " \
		"shared-memory-base-name ssl-ca ssl-capath ssl-cert ssl-key ssl-crl " \
		"ssl-crlpath ssl-cipher ssl-fp ssl-fp-list ssl-fplist:ssl-fp-list " \
		"tls-version tls-ca:ssl-ca tls-capath:ssl-capath tls-cert:ssl-cert " \
		"tls-key:ssl-key tls-crl:ssl-crl tls-crlpath:ssl-crlpath " \
		"tls-cipher:ssl-cipher tls-fp:ssl-fp tls-fplist:ssl-fp-list")
	know("port", "port")
	know("secret", "password passwd:password ssl-passphrase " \
		"tls-passphrase:ssl-passphrase")
	know("protocol", "protocol")
	know("number", "connect-timeout timeout:connect-timeout " \
		"max-allowed-packet net-buffer-length")
	know("boolean", "secure-auth compress reconnect local-infile " \
		"report-data-truncation bulk-unit-results multi-results " \
		"multi-statements multi-queries:multi-statements pipe ssl-enforce " \
		"ssl-verify-server-cert tls-enforce:ssl-enforce " \
		"tls-verify-peer:ssl-verify-server-cert")
	know("switch", "return-found-rows interactive-timeout")
	know("deadly", "disable-local-infile")
	split("unix-socket socket hostname host server host hostaddr host " \
		"username user uid user pwd password pass password " \
		"dbname database schema database", pairs, " ")
	for (i = 1; i in pairs; i += 2) stranger[pairs[i]] = pairs[i + 1]
}
