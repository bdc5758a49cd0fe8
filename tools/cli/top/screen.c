/* SPDX-License-Identifier: MIT */
/*
 * One thread draws, takes keys and signals; another asks (asker.c). From top to
 * bottom: a line of counts, or how long there was no answer; one that says
 * which part of the holds this is; the table; a question, a message or the
 * keys.
 *
 * Failure modes: if the first answer is an error the command ends with it.
 * Later it stays on the screen, and is asked again.
 */
#include "top/screen.h"

#define NCURSES_NOMACROS
#include <curses.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include "common/pace.h"
#include "common/report.h"
#include "common/text.h"
#include "run/signals.h"
#include "top/asker.h"
#include "top/paint.h"

/* An answer is late then. */
#define LATE_MS 2000

/* Above the table with its titles, and below it. */
#define LINES_ABOVE 3
#define LINES_BELOW 1

const bool screen_is_built = true;

enum mode { MODE_ROWS, MODE_FILTER, MODE_BREAK };

struct screen {
	struct asker asker;
	struct rows_view view;
	struct reading *reading; /* NULL: no answer yet */
	struct rows rows;
	size_t first, chosen;
	struct target target; /* the chosen one, or what is to be broken */
	enum mode mode;
	bool all, asking;
	uint64_t interval_ms, asked_ms, answered_ms;
	struct rowlock_errinfo error; /* of the last answer; code 0: none */
	char server[256];
	char question[600];
	char told[600];
	int code; /* to leave with; -1: stay */
};

/* It has to outlive a thread whose server is silent. */
static struct screen the_screen;

/* ------------------------------------------------------------------- draw */

/* Escaped text on line @y. */
static void put(int y, enum paint_look look, const char *format, ...)
    RLK_PRINTF(3, 4);

static void put(int y, enum paint_look look, const char *format, ...)
{
	_cleanup_(text_freep) char *text = NULL;
	_cleanup_(text_freep) char *safe = NULL;
	size_t size;
	va_list args;
	FILE *out;

	va_start(args, format);
	text = text_format(format, args);
	va_end(args);
	out = text ? open_memstream(&safe, &size) : NULL;
	if (!out)
		return;
	text_escape(out, text, false);
	if (fclose(out) == 0)
		paint_line(y, safe, look);
}

static size_t room(void)
{
	int lines = LINES - LINES_ABOVE - LINES_BELOW;

	return lines > 0 ? (size_t) lines : 0;
}

static void put_head(const struct screen *screen)
{
	uint64_t now = pace_now_ms();
	char counts[ROWS_HEAD_SIZE] = "";
	bool late = screen->error.code ||
		    (screen->asking && now - screen->asked_ms >= LATE_MS);

	if (screen->reading)
		rows_head(screen->reading, counts);
	if (late)
		put(0, PAINT_TITLE, "rowlock top: no answer for %llu s%s%s",
		    (unsigned long long) (now - screen->answered_ms) / 1000,
		    screen->error.code ? ": " : " from ",
		    screen->error.code ? screen->error.message
				       : screen->server);
	else if (screen->reading)
		put(0, PAINT_TITLE, "rowlock top: %s on %s", counts,
		    screen->server);
	else
		put(0, PAINT_TITLE, "rowlock top: no answer yet");
}

static void put_part(const struct screen *screen)
{
	size_t last = screen->first + room(), count = screen->rows.count;

	if (!screen->reading)
		return;
	put(1, PAINT_PLAIN, "%zu to %zu of %zu by %s%s%s%s%s%s%s",
	    count ? screen->first + 1 : 0, last < count ? last : count, count,
	    rows_sort_word(screen->view.sort),
	    screen->view.reverse ? ", reversed" : "",
	    *screen->view.filter ? ", with '" : "", screen->view.filter,
	    *screen->view.filter ? "'" : "",
	    screen->reading->cut ? "; not all were read: give a pattern" : "",
	    *screen->reading->result.incomplete
		? "; waiters may be missing: see list --waiting"
		: "");
}

static void put_table(const struct screen *screen)
{
	_cleanup_(text_freep) char *text = NULL;
	size_t size, left = screen->rows.count - screen->first;
	struct table table;
	int y = LINES_ABOVE - 1;
	char *rest, *line;

	if (room() == 0)
		return;
	table_init(&table, TABLE_WATCHED, false);
	table.grid.limit = (size_t) COLS;
	table.grid.paint = true;
	table.grid.out = open_memstream(&text, &size);
	if (!table.grid.out)
		return;
	rows_put(&screen->rows, screen->first, left < room() ? left : room(),
		 &table);
	if (fclose(table.grid.out) != 0)
		return;
	for (line = strtok_r(text, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest), y++) {
		bool chosen =
		    (size_t) y == LINES_ABOVE + screen->chosen - screen->first;

		paint_line(y, line,
			   y < LINES_ABOVE ? PAINT_TITLE
			   : chosen        ? PAINT_CHOSEN
					   : PAINT_PLAIN);
	}
}

static void put_foot(const struct screen *screen)
{
	int y = LINES - 1;

	if (y == 0)
		return;
	if (screen->mode == MODE_FILTER)
		put(y, PAINT_TITLE, "show what has (Enter, Esc): %s_",
		    screen->view.filter);
	else if (screen->mode == MODE_BREAK)
		put(y, PAINT_TITLE, "%s", screen->question);
	else if (*screen->told)
		put(y, PAINT_TITLE, "%s", screen->told);
	else
		put(y, PAINT_PLAIN,
		    "q quit  b break  s sort  r reverse  / filter  a all  "
		    "space now");
}

static void draw(struct screen *screen)
{
	size_t lines = room() ? room() : 1, count = screen->rows.count;

	if (screen->chosen < screen->first)
		screen->first = screen->chosen;
	if (screen->chosen >= screen->first + lines)
		screen->first = screen->chosen - lines + 1;
	if (screen->first + lines > count)
		screen->first = count > lines ? count - lines : 0;
	erase();
	put_head(screen);
	put_part(screen);
	if (screen->reading)
		put_table(screen);
	put_foot(screen);
	refresh();
}

/* ----------------------------------------------------------------- choose */

static const struct row *chosen_row(const struct screen *screen)
{
	return screen->chosen < screen->rows.count
		   ? &screen->rows.list[screen->chosen]
		   : NULL;
}

static void choose(struct screen *screen, size_t place)
{
	size_t last = screen->rows.count ? screen->rows.count - 1 : 0;

	screen->chosen = place < last ? place : last;
	if (chosen_row(screen))
		screen->target = target_of(chosen_row(screen)->entry);
}

/* The rows are others: the chosen one stays chosen. */
static void renew(struct screen *screen)
{
	if (!screen->reading)
		return;
	if (!rows_make(&screen->rows, screen->reading, &screen->view))
		snprintf(screen->told, sizeof(screen->told), "out of memory");
	for (size_t i = 0; i < screen->rows.count; i++) {
		if (target_is(&screen->target, screen->rows.list[i].entry)) {
			choose(screen, i);
			return;
		}
	}
	choose(screen, screen->chosen);
}

/* -------------------------------------------------------------------- ask */

static void ask(struct screen *screen, const struct target *target)
{
	screen->asking = true;
	screen->asked_ms = pace_now_ms();
	asker_ask(&screen->asker, screen->all, target);
}

static void ask_now(struct screen *screen)
{
	if (!screen->asking)
		ask(screen, NULL);
}

static void take(struct screen *screen)
{
	struct answer answer;

	if (!asker_take(&screen->asker, &answer))
		return;
	screen->asking = false;
	screen->asked_ms = pace_now_ms();
	screen->error = answer.error;
	if (*answer.server)
		memcpy(screen->server, answer.server, sizeof(screen->server));
	if (*answer.told)
		memcpy(screen->told, answer.told, sizeof(screen->told));
	if (!answer.reading) {
		screen->error.code =
		    answer.error.code ? answer.error.code : ROWLOCK_ENOMEM;
		if (!screen->reading)
			screen->code = EXIT_FAILED;
		return;
	}
	screen->error.code = 0;
	screen->answered_ms = screen->asked_ms;
	if (screen->reading)
		reading_fini(screen->reading);
	free(screen->reading);
	screen->reading = answer.reading;
	/* The question names what is to be broken: it stays that. */
	if (screen->mode == MODE_BREAK) {
		struct target target = screen->target;

		renew(screen);
		screen->target = target;
	} else
		renew(screen);
}

/* ------------------------------------------------------------------- keys */

static void ask_whether_to_break(struct screen *screen)
{
	const struct row *row = chosen_row(screen);
	char holder[400];

	if (!row)
		return;
	if (row->entry->state == ROWLOCK_STATE_WAITING ||
	    row->entry->state == ROWLOCK_STATE_FREE) {
		snprintf(screen->told, sizeof(screen->told),
			 "'%s' is %s here: only a hold can be broken",
			 row->entry->name, state_word(row->entry->state));
		return;
	}
	screen->target = target_of(row->entry);
	screen->mode = MODE_BREAK;
	entry_holder(row->entry, holder, sizeof(holder));
	snprintf(screen->question, sizeof(screen->question),
		 "break '%.300s' (%s%s) of %.200s? y/N", screen->target.name,
		 strategy_word(row->entry->strategy),
		 row->entry->slot ? ", with all its holds" : "",
		 *holder ? holder : "somebody");
}

static void confirm(struct screen *screen, wint_t key)
{
	screen->mode = MODE_ROWS;
	*screen->told = '\0';
	if (key != 'y' && key != 'Y')
		snprintf(screen->told, sizeof(screen->told),
			 "'%s': nothing was broken", screen->target.name);
	else if (screen->asking)
		snprintf(screen->told, sizeof(screen->told),
			 "'%s': nothing was broken: the server has not "
			 "answered the last question yet",
			 screen->target.name);
	else
		ask(screen, &screen->target);
}

static void edit(struct screen *screen, wint_t key, bool is_key)
{
	char *filter = screen->view.filter, more[MB_LEN_MAX + 1] = "";
	size_t length = strlen(filter);
	mbstate_t state = { 0 };

	if ((!is_key && (key == '\r' || key == '\n')) ||
	    (is_key && key == KEY_ENTER))
		screen->mode = MODE_ROWS;
	else if (!is_key && key == '\033') {
		screen->mode = MODE_ROWS;
		*filter = '\0';
	} else if (key == '\b' || key == 127 ||
		   (is_key && key == KEY_BACKSPACE)) {
		while (length > 0 &&
		       ((unsigned char) filter[--length] & 0xc0) == 0x80)
			;
		filter[length] = '\0';
	} else if (!is_key && key >= ' ' &&
		   wcrtomb(more, (wchar_t) key, &state) != (size_t) -1 &&
		   length + strlen(more) < sizeof(screen->view.filter))
		strcat(filter, more);
	renew(screen);
}

/* Returns false if it is none of these. */
static bool go(struct screen *screen, wint_t key)
{
	size_t at = screen->chosen, page = room() ? room() : 1;

	if (key == KEY_UP || key == 'k')
		choose(screen, at > 0 ? at - 1 : 0);
	else if (key == KEY_DOWN || key == 'j')
		choose(screen, at + 1);
	else if (key == KEY_PPAGE)
		choose(screen, at > page ? at - page : 0);
	else if (key == KEY_NPAGE)
		choose(screen, at + page);
	else if (key == KEY_HOME || key == 'g')
		choose(screen, 0);
	else if (key == KEY_END || key == 'G')
		choose(screen, SIZE_MAX);
	else
		return false;
	return true;
}

static void act(struct screen *screen, wint_t key)
{
	*screen->told = '\0';
	if (go(screen, key))
		return;
	switch (key) {
	case 'q':
		screen->code = EXIT_DONE;
		return;
	case 'b':
		ask_whether_to_break(screen);
		return;
	case 's':
		screen->view.sort = (screen->view.sort + 1) % ROWS_SORTS;
		break;
	case 'r':
		screen->view.reverse = !screen->view.reverse;
		break;
	case '/':
		screen->mode = MODE_FILTER;
		return;
	case 'a':
		screen->all = !screen->all;
		snprintf(screen->told, sizeof(screen->told), "%s",
			 screen->all ? "from the next answer on: all names"
				     : "from the next answer on: what is held, "
				       "waits or is dead");
		ask_now(screen);
		return;
	case ' ':
		ask_now(screen);
		return;
	case '\f':
		clearok(curscr, TRUE);
		return;
	}
	renew(screen);
}

/* Another size of the terminal comes as a key, and answers no question. A
 * letter may have the number of a key. */
static void take_keys(struct screen *screen)
{
	wint_t key;
	int kind;

	while (screen->code < 0 && (kind = get_wch(&key)) != ERR) {
		bool is_key = kind == KEY_CODE_YES;

		if (is_key && key == KEY_RESIZE)
			continue;
		if (screen->mode == MODE_BREAK)
			confirm(screen, key);
		else if (screen->mode == MODE_FILTER)
			edit(screen, key, is_key);
		else if (is_key || key < KEY_MIN)
			act(screen, key);
	}
}

/* ------------------------------------------------------------------- loop */

static void take_signals(struct screen *screen, struct signals *signals)
{
	for (int number; (number = signals_next(signals)) != 0;) {
		if (number == SIGWINCH)
			paint_resize();
		else if (number == SIGTSTP) {
			paint_end();
			signals_suffer(SIGTSTP);
			/* The window may be another size by now. */
			paint_resize();
		} else if (number == SIGCONT)
			paint_resize();
		else if (signals_is_fatal(number))
			screen->code = EXIT_KILLED + number;
	}
}

/* Until the next question, or the next second of an answer that is late. */
static int timeout_of(const struct screen *screen)
{
	uint64_t since = pace_now_ms() - screen->asked_ms;

	if (screen->asking)
		return 1000 - (int) (since % 1000);
	if (since >= screen->interval_ms)
		return 0;
	since = screen->interval_ms - since;
	return since > 1000 ? 1000 : (int) since;
}

static void loop(struct screen *screen, struct signals *signals)
{
	struct pollfd fds[] = {
		{ .fd = STDIN_FILENO, .events = POLLIN },
		{ .fd = signals->fd, .events = POLLIN },
		{ .fd = screen->asker.fd, .events = POLLIN },
	};

	ask(screen, NULL);
	while (screen->code < 0) {
		draw(screen);
		pace_poll(fds, RLK_ARRAY_SIZE(fds), timeout_of(screen));
		take_signals(screen, signals);
		take(screen);
		take_keys(screen);
		if (fds[0].revents & (POLLHUP | POLLERR | POLLNVAL))
			screen->code = EXIT_KILLED + SIGHUP;
		if (timeout_of(screen) == 0)
			ask_now(screen);
	}
}

/* Behind a shell, whose terminal this is, it stops until it is in front. */
static void heed_shell(void)
{
	sigset_t one;

	sigemptyset(&one);
	sigaddset(&one, SIGTTOU);
	pthread_sigmask(SIG_UNBLOCK, &one, NULL);
}

int screen_run(const struct common *common,
	       const struct rowlock_list_options *what, bool all,
	       const struct rows_view *view, uint64_t interval_ms)
{
	struct screen *screen = &the_screen;
	struct signals signals;

	*screen = (struct screen){
		.view = *view,
		.all = all,
		.interval_ms = interval_ms,
		.answered_ms = pace_now_ms(),
		.code = -1,
	};
	if (!signals_start(&signals) ||
	    !asker_start(&screen->asker, common, what))
		return EXIT_FAILED;
	heed_shell();
	if (!paint_begin())
		return EXIT_FAILED;
	/* A grid without memory ends the process. */
	atexit(paint_end);
	loop(screen, &signals);
	paint_end();
	if (screen->code == EXIT_FAILED)
		report(ROWLOCK_LOG_ERROR, "%s", screen->error.message);
	if (!asker_stop(&screen->asker) && screen->code < EXIT_KILLED) {
		report_flush();
		_exit(screen->code);
	}
	return screen->code;
}
