# shellcheck shell=sh
# SPDX-License-Identifier: MIT
#
# lines.sh - README's lines on a bare Debian, as a newcomer types them, each with the
# time that it takes. Sourced in the top directory of the source.

work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT

# play LINE: its words only if it fails
play()
{
	[ -n "$1" ] || exit 1
	since=$(date +%s)
	DEBIAN_FRONTEND=noninteractive sh -c "$1" >"$work/said" 2>&1 || {
		tail -n 40 "$work/said" >&2
		echo "failed: $1" >&2
		exit 1
	}
	grep '^ *[0-9]* ms  ' "$work/said" || :
	printf '%6s s   %s\n' $(($(date +%s) - since)) "$1"
}

# shown WORDS FILE: the line of the page that has them, without its comment
shown()
{
	grep -m 1 -e "^[^#|]*$1" "$2" | sed 's/  *#.*//' | grep . || {
		echo "$2 has no line '$1'" >&2
		exit 1
	}
}

readme() { shown "$1" README.md; }

# install_line WORDS: README's line that installs them, without its question
install_line() { readme "apt install .*$1" | sed 's/apt install/& -y/'; }
