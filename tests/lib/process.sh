# SPDX-License-Identifier: MIT
# shellcheck shell=sh
#
# What a script asks about processes that are not its own; process.py says why.

# is_alive PID: does any thread of it run?
is_alive()
{
	for thread in "/proc/$1/task"/*/stat; do
		{ read -r words <"$thread"; } 2>/dev/null || continue
		words=${words##*) }
		case ${words%% *} in Z | X) ;; *) return 0 ;; esac
	done
	return 1
}
