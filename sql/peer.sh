# SPDX-License-Identifier: MIT
# shellcheck shell=sh
#
# Read by rowlock-migrate: who is at the other end, and what the client may tell
# it.
#
# The rule is the library's (src/db/peer.c, src/db/login.c): a peer whose
# certificate was not verified, and that is not behind a socket file, may be
# whoever has got the server's port. It may ask only for plugins that tell it
# nothing it could log in with. The client does what it is asked, so it is given
#
# - a list of plugins (restricted_auth, MariaDB's only: the option has no switch,
#   so it stands in a connection string, which Connector/C takes for a host;
#   a MariaDB before 10.11 looks for a host of that name, and finds none), and a
#   directory of plugins in which there are no others;
# - no TLS, if none is asked for, and a public key of which nobody has the other
#   half: with caching_sha2_password and sha256_password the password goes to
#   whoever is behind TLS, or has the key;
#
# or is not run at all. Which plugins are built in: MariaDB's native and "old"
# one; of MySQL's caching_sha2_password, sha256_password and, if it is enabled,
# mysql_clear_password.
#
# Uses pass(), remarked(), told(), die(), warn(), $tmp, $maria, $client, $arg_host,
# $arg_socket, $arg_port, $arg_protocol, $arg_verify, $arg_ca, $asks_tls, $tls_unverified,
# $unverified_auth of rowlock-migrate.
# shellcheck disable=SC2154,SC2034,SC2086

# Is each of the hosts an address of loopback that is written out, or the name that
# leads nowhere else? As src/db/peer.c has it.
all_local()
{
	for one in $(printf %s "$1" | tr ',' ' '); do
		case $one in
		localhost | ::1 | '[::1]' | '[::1]:'*) ;;
		127.*)
			case ${one%:*} in *[!0-9.]*) return 1 ;; esac ;;
		*) return 1 ;;
		esac
	done
}

# Sets: host, where (until the server has told more), needs_tls, kept (it may not ask
# for all plugins).
secure()
{
	host=$arg_host needs_tls=0 kept=0
	# A connection goes to one address, so the socket file takes its place.
	if [ -n "$arg_socket" ] && [ -z "$arg_host" ]; then
		pass --host=localhost
		host=localhost arg_protocol=${arg_protocol:-socket}
	fi
	[ -n "$host" ] || host=$(remarked host)
	port=${arg_port:-$(told port)} where=${host:-localhost}
	case $where in *[:,]*) ;; *) where=$where${port:+:$port} ;; esac
	[ $asks_tls = 0 ] && [ -z "$(remarked tls)" ] || needs_tls=1
	if is_file; then
		where=${arg_socket:-$(told socket)}
		where=${where:-localhost}
		# Nothing else makes it TCP now.
		pass --protocol=socket
		# From 11.4 on MariaDB's client wants a certificate there, too.
		[ $maria$needs_tls = 11 ] || [ $maria = 0 ] ||
			pass --disable-ssl-verify-server-cert
		return
	fi
	remote=0
	all_local "$host" || remote=1
	verify=${arg_verify:-$(remarked verify)}
	[ $remote = 0 ] || [ $tls_unverified = 1 ] || verify=1
	if [ "$verify" = 1 ]; then
		verify_certificate
	else
		keep_from_telling
	fi
}

# A port that is an argument leads to TCP in some clients.
is_file()
{
	case $host in '' | localhost) ;; *) return 1 ;; esac
	case ${arg_protocol:-$(remarked protocol)} in
	[Ss][Oo][Cc][Kk][Ee][Tt]) ;;
	'') [ -z "$arg_port" ] || [ -n "$arg_socket" ] || return 1 ;;
	*) return 1 ;;
	esac
}

# Connector/C 3.4 (MariaDB 11.4) lets a server whose certificate nobody vouches for
# prove by the hash of the password who it is, and believes it at 127.0.0.1 and ::1
# at once; but not if an authority is named. So this system's are, if there is no
# other.
name_authorities()
{
	[ -z "$arg_ca$(remarked ca)" ] || return 0
	case $($client --no-defaults --version) in
	*[!0-9.][0-9].*-MariaDB* | *[!0-9.]10.*-MariaDB*) return 0 ;;
	esac
	for file in /etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt \
		/etc/ssl/cert.pem; do
		[ ! -r $file ] || { pass --ssl-ca=$file; return; }
	done
	pass --ssl-capath=/etc/ssl/certs
}

verify_certificate()
{
	needs_tls=1
	# By which Connector/C 3.4 would believe any certificate, whatever it is told.
	unset MARIADB_TLS_DISABLE_PEER_VERIFICATION
	if [ $maria = 1 ]; then
		name_authorities
		pass --ssl
		pass --ssl-verify-server-cert
	else
		pass --ssl-mode=VERIFY_IDENTITY
	fi
}

# What is asked for in any way is had, or no connection is; but not from a socket
# file. TCP has a host with a port behind it.
check_tls()
{
	[ $needs_tls = 0 ] || [ -n "$2" ] || case $1 in
	*:*)
		die $EX_SERVER "the server $where has no TLS, which is asked for; give it a" \
			"certificate, see rowlock-connect(7)" ;;
	esac
}

# ----------------------------------------------------------------- plugins

# allowed PLUGIN...: is one of them named by --unverified-auth?
allowed()
{
	for one; do
		case ",$unverified_auth," in *",$one,"*) return 0 ;; esac
	done
	return 1
}

keep_from_telling()
{
	kept=1 may_tell=0
	# What would change the client's mind from outside.
	unset LIBMYSQL_PLUGINS LIBMYSQL_PLUGIN_DIR MARIADB_PLUGIN_DIR \
		LIBMYSQL_ENABLE_CLEARTEXT_PLUGIN
	if [ $maria = 1 ]; then
		keep_mariadb
	else
		keep_mysql
	fi
	pass "--plugin-dir=$tmp/plugins"
}

# TLS that nothing verifies is left where it is asked for, or the network is in
# between: then the hash of caching_sha2_password cannot be told from the wish for
# the password.
keep_mariadb()
{
	list=mysql_native_password,client_ed25519,parsec more=
	if [ $remote$needs_tls = 00 ] && ! allowed caching_sha2_password; then
		pass --skip-ssl
		own_key
		# It would read another name, and ask the peer for its key.
		case $key in
		*[\;={}]*) die $EX_USAGE "TMPDIR: '${tmp%/*}' has ';', '=' or a brace in it; name another directory" ;;
		esac
		list=$list,caching_sha2_password more=";server_public_key=$key"
	else
		pass --disable-ssl-verify-server-cert
	fi
	list=$list${unverified_auth:+,$unverified_auth}
	case $host in
	*[\;={}]*) die $EX_USAGE "no host has the name '$host'; see rowlock-connect(7)" ;;
	esac
	pass "--host=host=${host:-localhost};restricted_auth=$list$more"
	link_plugins "$list" "$(remarked plugin-dir)" /usr/lib/*/libmariadb3/plugin \
		/usr/lib/*/mariadb*/plugin /usr/lib/mariadb/plugin /usr/lib/mysql/plugin \
		/usr/lib64/mariadb/plugin /usr/lib64/mysql/plugin \
		/usr/local/lib/mariadb/plugin /usr/local/lib/mysql/plugin
}

keep_mysql()
{
	MYSQL_TEST_LOGIN_FILE=$tmp/none
	export MYSQL_TEST_LOGIN_FILE
	if allowed caching_sha2_password sha256_password mysql_clear_password; then
		pass --get-server-public-key
		! allowed mysql_clear_password || pass --enable-cleartext-plugin
	elif [ $needs_tls = 1 ]; then
		die $EX_USAGE "MySQL's client would tell the password to whoever answers as $where by TLS, and nothing proves" \
			"who it is: verify its certificate (ssl-ca and --ssl-mode=VERIFY_IDENTITY), go by its socket" \
			"file (-S), use the mariadb client, or allow it (--unverified-auth=caching_sha2_password)"
	else
		pass --ssl-mode=DISABLED
		pass --skip-enable-cleartext-plugin
		own_key
		pass "--server-public-key-path=$key"
	fi
	link_plugins "mysql_native_password${unverified_auth:+,$unverified_auth}" \
		"$(remarked plugin-dir)" /usr/lib/mysql/plugin /usr/lib64/mysql/plugin \
		/usr/lib/*/mysql/plugin /usr/local/mysql/lib/plugin
}

# link_plugins LIST DIRECTORY...: those that there are, of the first that has one
link_plugins()
{
	names=$(printf %s "$1" | tr ',' ' ')
	shift
	mkdir "$tmp/plugins"
	for name in $names; do
		for dir; do
			[ ! -f "$dir/$name.so" ] || {
				ln -sf "$dir/$name.so" "$tmp/plugins/"
				break
			}
		done
	done
}

# Sets: key, the server's own if the user has one, else one of nobody: a number
# that was drawn by lot, which is no product that anybody knows. The client has to
# have one that it can read, or asks the peer for it.
own_key()
{
	key=$(remarked server-public-key)
	if [ -n "$key" ]; then
		sed -n '/^-----BEGIN PUBLIC KEY-----/,/^-----END PUBLIC KEY-----/p' "$key" \
			2>/dev/null | grep -q END || die $EX_USAGE \
			"server-public-key: '$key' has no public key (-----BEGIN PUBLIC KEY-----) that this user can read:" \
			"look whether it is there"
		case $key in
		*[\;={}]*) die $EX_USAGE "server-public-key: '$key' has ';', '=' or a brace in it; rename it" ;;
		esac
		return 0
	fi
	key=$tmp/nobody.pem
	{
		echo '-----BEGIN PUBLIC KEY-----'
		{
			# SubjectPublicKeyInfo: 2048 bits, the first and the last one set; 65537.
			printf 'MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAx'
			LC_ALL=C tr -dc 'A-Za-z0-9+/' </dev/urandom | head -c 340
			printf 'wIDAQAB'
		} | fold -w 64
		echo
		echo '-----END PUBLIC KEY-----'
	} >"$key"
}

# refused FILE: what to do about the client's errors in it, if it was kept from
# telling the password
advise_plugin()
{
	[ $kept = 1 ] || return 0
	if grep -Eaq 'restricted_auth|could not be loaded|cannot be loaded|ERROR (2061|2049) ' "$1"; then
		warn "$where asks for an authentication plugin by which it would be told the password, or that is" \
			"not installed here (plugin-dir), and nothing proves who it is: verify its certificate" \
			"(ssl-ca and ssl-verify-server-cert), go by its socket file (-S), or allow the plugin all" \
			"the same (--unverified-auth=PLUGIN)"
	elif grep -Eaq '^ERROR 1045 ' "$1" && [ -n "${key:-}" ]; then
		warn "if the password is right, it is an account of caching_sha2_password whose hash is not enough" \
			"for the server yet, and nothing proves who it is: verify its certificate (ssl-ca and" \
			"ssl-verify-server-cert), go by its socket file (-S), name its public key" \
			"(server-public-key), or allow it (--unverified-auth=caching_sha2_password)"
	fi
}
