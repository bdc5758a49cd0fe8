# SPDX-License-Identifier: MIT
# shellcheck shell=sh
#
# How long an event may stay away before a test is called hung, for scripts:
# patience.h says why.

# patience: in whole seconds
patience()
{
	read -r load _ _ now _ </proc/loadavg || { load=0; now=0; }
	load=${load%%.*} now=${now%%/*}
	[ "$now" -lt "$load" ] || load=$now
	slow=1
	case ${ROWLOCK_TEST_SLOW:-0} in 0) ;; *) slow=4 ;; esac
	echo $((60 * slow * (1 + load / $(nproc))))
}

# await WHAT COMMAND...: look again until it is so; says WHAT stayed away
await()
{
	awaited=$1 since=$(cut -d. -f1 /proc/uptime)
	shift
	until "$@"; do
		waited=$(($(cut -d. -f1 /proc/uptime) - since))
		[ $waited -lt "$(patience)" ] ||
			{ echo "waited $waited s for $awaited"; return 1; }
		sleep 0.05
	done
}
