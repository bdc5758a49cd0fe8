# shellcheck shell=sh disable=SC2034,SC2154 # set, and used, by the sourcing script
# SPDX-License-Identifier: MIT
#
# containers.sh - shared by tools/matrix and tools/proof: the servers of
# tests/compose.yaml, each in a container of its own. Sourced after setup.sh by
# a script that has set project to a name for its containers, and directories:
# work for what is forgotten at the end, logs.

readonly TICKS=600 # of 0.2 s: how long we wait for a server at most

have_docker()
{
	if docker compose version >/dev/null 2>&1; then
		need "$needs_docker"
	else
		need "$needs_docker$needs_compose"
	fi
	need_daemon
}

compose()
{
	if docker compose version >/dev/null 2>&1; then
		set -- docker compose --project-name "$project" \
			--file "$root/tests/compose.yaml" "$@"
	else
		set -- docker-compose --project-name "$project" \
			--file "$root/tests/compose.yaml" "$@"
	fi
	"$@"
}

# have_image SERVER: let the variable that compose.yaml knows name an image
# that is there; one from Debian's packages where stand_ins is set, or no
# registry has it. Sets: image.
have_image()
{
	variable=ROWLOCK_$(printf %s "$1" | tr 'a-z.-' 'A-Z__')_IMAGE
	eval "image=\${$variable:-}"
	official=${1%-*}:${1##*-}
	if [ -n "$image" ]; then
		:
	elif [ -z "${stand_ins:-}" ] && have_official "$official"; then
		image=$official
	else
		image=rowlock-test/$official
		"$root/tests/images/build" "$official" || return 1
	fi
	export "$variable=$image"
}

have_official()
{
	! docker image inspect "$1" >/dev/null 2>&1 || return 0
	say "getting the image $1"
	docker pull --quiet "$1" >"$logs/pull.log" 2>&1 || {
		say "no registry has it for us: a stand-in from Debian's packages is used"
		return 1
	}
}

# start_container SERVER: returns when it answers. Sets: container, port, version.
start_container()
{
	: >"$work/containers"
	compose up --detach "$1" >"$logs/$1.compose.log" 2>&1 || {
		tail -n 20 "$logs/$1.compose.log" >&2
		return 1
	}
	container=$(compose ps --quiet "$1")
	ticks=0
	until [ "$(health)" = healthy ]; do
		ticks=$((ticks + 1))
		if [ $ticks -gt $TICKS ] || [ "$(health)" = gone ]; then
			docker logs --tail 20 "$container" >&2 || :
			return 1
		fi
		sleep 0.2
	done
	port=$(compose port "$1" 3306)
	port=${port##*:}
	# shellcheck disable=SC2016 # for the shell over there
	version=$(docker exec "$container" sh -c '
		$(command -v mariadb || command -v mysql) -h127.0.0.1 -urowlock \
			-pnot-a-secret -Ne "SELECT VERSION()" 2>/dev/null')
}

health()
{
	docker inspect --format '{{if .State.Running}}{{.State.Health.Status}}{{else}}gone{{end}}' \
		"$container" 2>/dev/null || echo gone
}

# stop_containers: none of ours is left behind.
stop_containers()
{
	[ ! -e "$work/containers" ] ||
		compose down --timeout 1 --volumes >/dev/null 2>&1 || :
}

# account_of SERVER: a connection string to the one that was started, but for the
# user.
account_of()
{
	printf 'host=127.0.0.1;port=%s;password=not-a-secret;' "$port"
	public_key "$1"
	printf 'user='
}

# public_key SERVER: so that accounts that a MySQL server does not know yet may
# log in without TLS.
public_key()
{
	# shellcheck disable=SC2016 # for the shell over there
	docker exec "$container" sh -c '
		$(command -v mariadb || command -v mysql) -h127.0.0.1 -urowlock \
			-pnot-a-secret --raw -Ne "SHOW STATUS LIKE \
			\"Caching_sha2_password_rsa_public_key\"" 2>/dev/null' |
		sed '1s/^[^-]*//' >"$logs/$1.pem"
	[ ! -s "$logs/$1.pem" ] || printf 'server-public-key=%s;' "$logs/$1.pem"
}
