# shellcheck shell=sh
# SPDX-License-Identifier: MIT
#
# debian.sh - what tests/images/build and tools/lib/bare-system share: a bare Debian
# in a directory, which gets its packages from where this machine gets them.
# Sourced after setup.sh.

# quietly COMMAND...: its output only if it fails.
quietly()
{
	said=$("$@" 2>&1) || {
		printf '%s\n' "$said" | tail -n 20 >&2
		die "failed: $*"
	}
}

# apt_sources RELEASE: a line of sources.list for each archive of that release
# from which this machine's apt takes packages; of Debian's own only, and only
# those of which it has fetched a list.
apt_sources()
{
	command -v apt-get >/dev/null || return 0
	# shellcheck disable=SC2016 # for apt
	apt-get indextargets --format \
		'$(ORIGIN) $(COMPONENT) $(CODENAME) $(REPO_URI)' 'Created-By: Packages' |
		awk -v release="$1" '
		$1 == "Debian" && $2 == "main" && $4 ~ /^https?:/ &&
		($3 == release || $3 == release "-updates" || $3 == release "-security") {
			print "deb", $4, $3, "main"
		}' | sort -u
}

# debian_sources RELEASE: the same, or the mirror that is asked for, or everybody's.
debian_sources()
{
	sources=''
	[ -n "${DEBIAN_MIRROR:-}" ] || sources=$(apt_sources "$1")
	case $sources in
	*" $1 main"*) printf '%s\n' "$sources" ;;
	*) echo "deb ${DEBIAN_MIRROR:-http://deb.debian.org/debian} $1 main" ;;
	esac
}

# apt_settings: what this machine's apt, or its environment, says about the way
# to the archives.
apt_settings()
{
	# A mirror that is a snapshot of an earlier day is as good.
	echo 'Acquire::Check-Valid-Until "false";'
	[ -z "${http_proxy:-}" ] || echo "Acquire::http::Proxy \"$http_proxy\";"
	[ -z "${https_proxy:-}" ] || echo "Acquire::https::Proxy \"$https_proxy\";"
	! command -v apt-config >/dev/null || apt-config dump | grep -E \
		'^Acquire::(Check-Date|Retries|ForceIPv[46]|https?::Proxy(::[^ ]*)?) ' || :
}

# reach_packages RELEASE DIRECTORY: let the Debian there take its packages from
# where this machine does.
reach_packages()
{
	debian_sources "$1" | as_root tee "$2/etc/apt/sources.list" >/dev/null
	apt_settings | as_root tee "$2/etc/apt/apt.conf.d/10reach" >/dev/null
	if grep -q '^deb https:' "$2/etc/apt/sources.list"; then
		as_root install -D -m 644 /etc/ssl/certs/ca-certificates.crt \
			"$2/etc/ssl/certs/ca-certificates.crt"
	fi
}

# bare_debian RELEASE DIRECTORY [OPTION OF debootstrap]...: make one.
bare_debian()
{
	release=$1 target=$2
	shift 2
	mirror=$(debian_sources "$release" |
		awk -v release="$release" '$3 == release { print $2; exit }')
	proxy=$(apt_settings | sed -n 's/^Acquire::http::Proxy "\(.*\)";$/\1/p' | tail -n 1)
	[ "$proxy" != DIRECT ] || proxy=''
	quietly as_root env ${proxy:+"http_proxy=$proxy"} debootstrap \
		--variant=minbase "$@" "$release" "$target" "$mirror"
	# It is thrown away: what it installs need not outlive a crash of this machine.
	echo force-unsafe-io | as_root tee "$target/etc/dpkg/dpkg.cfg.d/unsafe-io" >/dev/null
	reach_packages "$release" "$target"
	as_root find "$target/var/cache/apt/archives" -name '*.deb' -delete
}
