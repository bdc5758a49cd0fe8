# shellcheck shell=sh disable=SC2154 # set by the sourcing script
# SPDX-License-Identifier: MIT
#
# steps.sh - shared by .ci/run and tools/proof: named steps, one after the
# other, going on after a failed one, and a table of them at the end. Sourced
# after setup.sh by a script that has a function step_NAME for each, a
# before_step and an after_step, and has set STEPS to their names, and
# directories: work for the table, logs for what the steps say, builds.

export ASAN_OPTIONS=detect_leaks=1
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
export TSAN_OPTIONS=second_deadlock_stack=1

sanitizer_options() { echo "-Db_sanitize=$1 -Db_lundef=false"; }

# with_sanitizer NAME WHAT [ARGUMENT OF check]...: the suite in a build of that
# kind. Tests of the tree, not of the program, are left out.
with_sanitizer()
{
	sanitized=$builds/$1 what=$2
	shift 2
	ROWLOCK_BUILD=$sanitized ROWLOCK_TEST_SLOW=1 \
		ROWLOCK_MESON_OPTIONS="${ROWLOCK_MESON_OPTIONS:-} $(sanitizer_options "$what")" \
		setarch "$(uname -m)" --addr-no-randomize \
		"$root/tools/check" --again --no-suite meta "$@"
}

# known STEP...: or end with those that there are.
known()
{
	for step; do
		case " $STEPS " in
		*" $step "*) ;;
		*) die "no step '$step'; there are: $STEPS" ;;
		esac
	done
}

# show_last LOG: the line that is being written there, over and over.
show_last()
{
	while sleep 1; do
		printf '\r\033[K%.78s' "$(tail -c 400 "$1" | tr '\r' '\n' |
			tail -n 1 | tr -d '\033')"
	done
}

# logged STEP: play it, its words into its log; on a terminal the last of them
# are shown meanwhile.
logged()
{
	shower='' ended=0
	: >"$logs/$1.log"
	if [ -t 1 ]; then
		show_last "$logs/$1.log" &
		shower=$!
	fi
	("step_$1") >"$logs/$1.log" 2>&1 || ended=$?
	if [ -n "$shower" ]; then
		kill "$shower"
		wait "$shower" 2>/dev/null || :
		printf '\r\033[K'
	fi
	return $ended
}

# The count of a step: its text after "counts: ", or all the cases of its
# tests.
counts_of()
{
	awk '/^counts: / { said = substr($0, 9) }
	/^[0-9]+ caught, / { said = $0 }
	/^[0-9]+ passed, / { p += $1; f += $3; s += $5; any = 1 }
	END {
		if (said != "")
			print said
		else if (any)
			printf "%d passed, %d failed, %d skipped\n", p, f, s
	}' "$logs/$1.log"
}

# play STEP: sets word, seconds, counts.
play()
{
	since=$(date +%s) word=passed
	logged "$1" || {
		word=FAILED
		tail -n 60 "$logs/$1.log"
	}
	seconds=$(($(date +%s) - since))
	counts=$(counts_of "$1")
}

# play_all STEP...: sets failed, the list of those that did.
play_all()
{
	failed='' number=0
	for step; do
		number=$((number + 1))
		say "[$number/$#] $step"
		before_step "$step"
		play "$step"
		say "[$number/$#] $step $word after $seconds s${counts:+: $counts}"
		[ "$word" = passed ] || failed="$failed $step"
		printf '%-10s %-10s %6s s  %s\n' "$step" "$word" "$seconds" "$counts" \
			>>"$work/table"
		after_step "$step"
	done
}

# conclude STEP...: how each went, what was unsteady, and the sum of all cases.
# Returns 1 if one failed, or more than MOST_UNSTEADY programs were unsteady.
readonly MOST_UNSTEADY=3
conclude()
{
	echo
	cat "$work/table"
	for step; do
		grep '^unsteady: ' "$logs/$step.log"
	done | tee "$work/unsteady"
	unsteady=$(wc -l <"$work/unsteady")
	[ "$unsteady" -le $MOST_UNSTEADY ] ||
		failed="$failed ($unsteady unsteady programs)"
	if [ -n "$failed" ]; then
		say "FAILED:$failed; see $logs"
	else
		say "all passed"
	fi
	for step; do counts_of "$step"; done |
		awk '$2 == "passed," { p += $1; f += $3; s += $5; any = 1 }
		END { if (any) printf "%d passed, %d failed, %d skipped\n", p, f, s }'
	[ -z "$failed" ]
}
